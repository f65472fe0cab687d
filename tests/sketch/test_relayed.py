"""Trees over relays."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.sketch.quotient import Quotient
from syccl.sketch.relayed import relayed
from syccl.sketch.ways import Ways
from syccl.symmetry.dimensions import islands
from syccl.symmetry.group import trivial_group
from syccl.topology.catalog import load_topology
from tests.problems import is_spanning
from tests.strategies import ring


@pytest.mark.parametrize("root", [0, 13])
def test_every_mate_of_the_root_relays_one_tree_and_the_root_sends_each_piece_once(root: int) -> None:
    topology = load_topology("h800x64")
    ways = Ways.of(Quotient.of(topology, trivial_group(topology)))
    packing = relayed(ways.near(islands(topology)), root, islands(topology))
    assert packing is not None
    assert packing.trees == 7
    # Root, relay, three levels of servers, the ranks inside: and no more.
    assert packing.height == 5
    for parent in packing.parents.tolist():
        assert is_spanning(root, {v: u for v, u in enumerate(parent) if u >= 0}, topology.ranks)
        assert parent.count(root) == 1
    # Every NIC passes each of its trees on at most twice: 2 bytes at 50 GB/s, against 7 at 200 GB/s inside.
    assert packing.load == pytest.approx(2 / 50e9)
    assert np.unique(np.argmax(packing.parents == root, axis=1)).size == 7


def test_islands_of_one_rank_have_no_relays() -> None:
    topology = ring(5)
    assert relayed(Ways.of(Quotient.of(topology, trivial_group(topology))), 0, [(rank,) for rank in range(5)]) is None


def test_of_two_trees_of_a_relay_one_rests_where_the_other_works() -> None:
    topology = load_topology("h800x64")
    ways = Ways.of(Quotient.of(topology, trivial_group(topology)))
    packing = relayed(ways.near(islands(topology)), 0, islands(topology), twice=True)
    assert packing is not None
    assert packing.trees == 14
    for parent in packing.parents.tolist():
        assert is_spanning(0, {v: u for v, u in enumerate(parent) if u >= 0}, topology.ranks)
    # Now the links inside limit: the root sends 14 bytes, and every rank serves seven others in two trees.
    assert packing.load == pytest.approx(14 / 200e9)
