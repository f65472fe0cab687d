from __future__ import annotations

import numpy as np
import pytest

from syccl.errors import InfeasibleError
from syccl.sketch.packing import Manner, pack
from syccl.sketch.quotient import Quotient
from syccl.sketch.timely import Goal, timely_paths, timely_trees
from syccl.sketch.ways import Ways
from syccl.symmetry.group import trivial_group
from syccl.topology.catalog import load_topology
from tests.problems import is_spanning
from tests.strategies import RATE, one_switch, ring, torus, two_servers


def ways_of(topology) -> Ways:
    return Ways.of(Quotient.of(topology, trivial_group(topology)))


def test_ways_of_a_switch_keep_one_link_out_and_one_link_in():
    ways = ways_of(one_switch(4))
    assert ways.links.shape == (4, 4, 2)
    assert len(ways.seconds_per_byte) == 2 * 4 + 1
    assert ways.seconds_per_byte[-1] == 0
    assert np.isinf(np.diagonal(ways.latency_s)).all()


def test_near_ways_of_rails_are_the_rails():
    ways = ways_of(load_topology("h800x64"))
    near = ways.near(tuple(tuple(range(8 * s, 8 * s + 8)) for s in range(8)))
    crossing = np.isfinite(near.latency_s[0, 8:])
    assert (np.flatnonzero(crossing) % 8 == 0).all()
    assert crossing.sum() == 7


@pytest.mark.parametrize(("topology", "trees", "rate"), [(ring(6), 2, 2 * RATE), (torus(4, 4), 4, 4 * RATE)])
def test_trees_fill_rings_and_tori(topology, trees, rate):
    """Edmonds: as many disjoint trees as the least cut has links."""
    packing = pack(ways_of(topology), 1, trees, unit_s=1 / rate, manner=Manner(0.01, (3.0, 10.0)))
    assert packing.load == pytest.approx(trees / rate)
    for parent in packing.parents.tolist():
        assert is_spanning(1, {v: u for v, u in enumerate(parent) if u >= 0}, topology.ranks)
    assert packing.height <= topology.ranks - 1


def test_a_rank_that_nothing_leads_to_is_told():
    ways = ways_of(two_servers(2, 1))
    ways.latency_s[:, 1] = np.inf
    with pytest.raises(InfeasibleError, match="rank 0"):
        pack(ways, 0, 1, unit_s=1.0, manner=Manner())


def test_trees_for_a_deadline_span_and_share_links():
    topology = ring(5)
    trees = timely_trees(ways_of(topology), 2, Goal(4, 1e6, 4e6 / RATE))
    assert len(trees) == 4
    for parent in trees.tolist():
        assert is_spanning(2, {v: u for v, u in enumerate(parent) if u >= 0}, 5)


def test_paths_that_arrive_first_go_round_a_ring_both_ways():
    paths = timely_paths(ways_of(ring(6)), 0, [1, 2, 4, 5], 1000.0)
    assert [path.ranks for path in paths] == [(0, 1), (0, 1, 2), (0, 5, 4), (0, 5)]
    assert paths[1].begin_s[0] == pytest.approx(1000.0 / RATE)
