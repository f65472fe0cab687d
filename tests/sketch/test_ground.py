"""Islands and arcs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.ground import has_ports_alone, is_one_switch
from syccl.sketch.quotient import Quotient
from syccl.symmetry.group import trivial_group
from syccl.topology import Kind, Link, Node, Topology
from tests.problems import ground_of
from tests.schedule.tiny import shared_nic_topology
from tests.strategies import RATE, cables, gpus, mesh, one_switch, ring, symmetric_topologies, topologies, two_servers


def is_switch(topology: Topology, members: tuple[int, ...]) -> bool:
    return is_one_switch(Quotient.of(topology, trivial_group(topology)), members)


def uneven_switch() -> Topology:
    nodes = (*gpus(3), Node("switch", Kind.SWITCH))
    return Topology("uneven", nodes, cables([(0, 3), (1, 3)]) + cables([(2, 3)], RATE // 2))


@pytest.mark.parametrize(
    ("topology", "members", "expected"),
    [
        (one_switch(4), (0, 1, 2, 3), True),
        (one_switch(4), (1, 3), True),
        (one_switch(4), (2,), True),
        (mesh(4), (0, 1, 2, 3), True),
        (two_servers(4), (0, 1, 2, 3), True),
        (shared_nic_topology(), (0, 1), True),
        (shared_nic_topology(), (0, 1, 2, 3), False),
        (ring(4), (0, 1), True),
        (ring(4), (0, 1, 2, 3), False),
        (ring(3, one_way=True), (0, 1), False),
        (uneven_switch(), (0, 1), True),
        (uneven_switch(), (0, 1, 2), False),
    ],
)
def test_a_group_is_one_switch_where_only_ports_are_shared(topology, members, expected) -> None:
    assert is_switch(topology, members) is expected


@pytest.mark.parametrize(
    ("topology", "members", "expected"),
    [
        (uneven_switch(), (0, 1, 2), True),
        (one_switch(4), (0, 1, 2, 3), True),
        (shared_nic_topology(), (0, 1, 2, 3), False),
        (ring(4), (0, 1, 2, 3), False),
        (Topology("uneven mesh", gpus(3), cables([(0, 1), (1, 2)]) + cables([(0, 2)], RATE // 2)), (0, 1, 2), False),
    ],
)
def test_ports_alone_hold_up_a_switch_but_not_cables_of_pairs(topology, members, expected) -> None:
    assert has_ports_alone(Quotient.of(topology, trivial_group(topology)), members) is expected


def test_islands_are_numbered_by_their_place() -> None:
    ground = ground_of(two_servers(2, 3))
    assert ground.islands == ((0, 1), (2, 3, 4))
    assert ground.island_of.tolist() == [0, 0, 1, 1, 1]
    assert ground.is_switch == [True, True]


@given(st.one_of(symmetric_topologies(), topologies(max_gpus=6)))
def test_arcs_inside_and_between_islands_are_the_allowed_ones(topology) -> None:
    ground = ground_of(topology)
    table = np.zeros_like(ground.allowed)
    for tails, heads in (ground.crossing, ground.inside):
        assert not table[tails, heads].any()
        table[tails, heads] = True
    assert np.array_equal(table, ground.allowed)
    tails, heads = ground.inside
    assert (ground.island_of[tails] == ground.island_of[heads]).all()
    assert (ground.allowed <= ground.routed).all()
    assert not ground.routed.diagonal().any()


def test_arcs_without_a_route_are_not_allowed() -> None:
    nodes = (*gpus(3),)
    topology = Topology("line", nodes, (*cables([(0, 1)]), Link(1, 2, RATE, 0)))
    assert ground_of(topology).allowed.astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
