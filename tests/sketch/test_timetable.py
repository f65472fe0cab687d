"""Trees on a timetable."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.errors import InfeasibleError
from syccl.sketch.quotient import Quotient
from syccl.sketch.roads import Roads
from syccl.sketch.timely import Goal
from syccl.sketch.timetable import timetable
from syccl.sketch.ways import Ways
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.problems import is_spanning
from tests.strategies import one_switch, ring, torus, two_servers


def ways_of(topology: Topology) -> Ways:
    return Ways.of(Quotient.of(topology, trivial_group(topology)))


def longest_s(ways: Ways, root: int, chunk_bytes: float) -> float:
    """The longest of the shortest chains from the root, every transfer in full."""
    length = ways.uses(chunk_bytes) + ways.latency_s
    reached = length[root].copy()
    reached[root] = 0.0
    for _ in range(ways.ranks):
        reached = np.minimum(reached, (reached[:, None] + length).min(axis=0))
    return float(reached.max())


@pytest.mark.parametrize("topology", [ring(5), ring(8), torus(4, 4), one_switch(6), two_servers(4, 2)])
@pytest.mark.parametrize("pieces", [1, 8])
def test_trees_span_and_transfers_start_when_their_input_is_there(topology: Topology, pieces: int) -> None:
    ways, root = ways_of(topology), 2
    deadline_s = 3.0 * longest_s(ways, root, 1e5)
    table = timetable(ways, root, Goal(pieces, 1e5, deadline_s))
    length = ways.uses(1e5) + ways.latency_s
    assert len(table.parents) == pieces
    for parent, start_s in zip(table.parents.tolist(), table.start_s.tolist(), strict=True):
        assert is_spanning(root, {v: u for v, u in enumerate(parent) if u >= 0}, topology.ranks)
        for rank, over in enumerate(parent):
            if over >= 0 and over != root:
                assert start_s[over] + length[parent[over], over] <= start_s[rank] + deadline_s / 32


@pytest.mark.parametrize("topology", [torus(4, 4), ring(9), two_servers(4, 2)])
def test_one_small_piece_is_everywhere_as_soon_as_can_be(topology: Topology) -> None:
    ways = ways_of(topology)
    least_s = longest_s(ways, 0, 8.0)
    table = timetable(ways, 0, Goal(1, 8.0, least_s))
    arrival = np.zeros(topology.ranks)
    length = ways.uses(8.0) + ways.latency_s
    for rank in np.argsort(table.start_s[0], kind="stable").tolist():
        over = table.parents[0, rank]
        if over >= 0:
            arrival[rank] = arrival[over] + length[over, rank]
    assert arrival.max() == pytest.approx(least_s)


def test_links_are_not_asked_for_more_than_they_have_when_there_is_time() -> None:
    ways = ways_of(two_servers(4, 2))
    every = 4 * 1e6 * float(ways.seconds_per_byte.max())
    assert timetable(ways, 0, Goal(8, 1e6, 8 * every)).excess == 0.0
    assert timetable(ways, 0, Goal(8, 1e6, every / 4)).excess > 0.1


def test_a_rank_that_nothing_leads_to_is_told() -> None:
    ways = ways_of(two_servers(2, 1))
    ways.latency_s[:, 1] = np.inf
    with pytest.raises(InfeasibleError, match="rank 0"):
        timetable(ways, 0, Goal(1, 8.0, 1.0))


@pytest.mark.parametrize("topology", [ring(5), torus(4, 4), two_servers(4, 2)])
def test_links_taken_late_are_taken_just_before_the_arrival(topology: Topology) -> None:
    ways = ways_of(topology)
    asked = {"chunk_bytes": 1e3, "deadline_s": 3.0 * longest_s(ways, 0, 1e3)}
    early, late = Roads.of(ways, 0, **asked), Roads.of(ways, 0, **asked, at_end=True)
    assert not early.delay.any()
    busy = ways.seconds_per_byte * 1e3 / late.slot_s
    left = late.span[:, None] - late.delay
    assert (left >= np.minimum(busy[late.links], late.span[:, None]) - 0.1).all()
    assert (left <= np.maximum(1.0, busy[late.links] + 1.0)).all()
    table = timetable(ways, 0, Goal(4, 1e3, asked["deadline_s"]), at_end=True)
    for parent in table.parents.tolist():
        assert is_spanning(0, {v: u for v, u in enumerate(parent) if u >= 0}, topology.ranks)
