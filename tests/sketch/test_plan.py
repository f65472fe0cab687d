"""The connection plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.plan import connection_plan
from syccl.sketch.quotient import Quotient
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.symmetry.group import trivial_group
from tests.problems import ground_of
from tests.sketch.quotient_cases import clos, clos_group, rails, rails_group
from tests.strategies import damaged, symmetric_topologies, topologies, two_servers


def pairs(allowed: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(*map(np.ndarray.tolist, np.nonzero(allowed)), strict=True))


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_rail_fabric_is_planned_along_its_rails(symmetric: bool) -> None:
    topology = rails(3, per_server=4)
    group = rails_group(topology, 3, 4) if symmetric else trivial_group(topology)
    allowed = connection_plan(Quotient.of(topology, group), islands(topology))
    same_rail = {(u, v) for u in range(12) for v in range(12) if u != v and u % 4 == v % 4}
    assert pairs(allowed) == same_rail


def test_symmetric_servers_are_joined_by_perfect_matchings() -> None:
    topology = clos()
    allowed = connection_plan(Quotient.of(topology, clos_group(topology)), islands(topology))
    blocks = allowed.reshape(4, 8, 4, 8)
    for a in range(4):
        for b in range(4):
            expected = np.zeros(8) if a == b else np.ones(8)
            assert np.array_equal(blocks[a, :, b, :].sum(axis=0), expected)
            assert np.array_equal(blocks[a, :, b, :].sum(axis=1), expected)


def test_unlike_servers_share_the_work_by_rate() -> None:
    topology = two_servers(2, 3)
    allowed = connection_plan(Quotient.of(topology, trivial_group(topology)), islands(topology))
    for block in (allowed[:2, 2:], allowed[2:, :2].T):
        assert block.any(axis=0).all()
        assert block.any(axis=1).all()
        assert block.sum() <= 2 + 3 - 1


def test_one_island_needs_no_connections() -> None:
    topology = two_servers(2)
    assert not connection_plan(Quotient.of(topology, trivial_group(topology)), (tuple(range(4)),)).any()


@given(st.one_of(symmetric_topologies(), topologies(max_gpus=6), damaged()))
def test_the_plan_is_closed_under_the_group_and_has_routes_only_between_islands(topology) -> None:
    group = find_group(topology)
    parts, quotient = islands(topology), Quotient.of(topology, group)
    allowed = connection_plan(quotient, parts)
    for ranks in group.ranks:
        assert np.array_equal(allowed[np.ix_(ranks, ranks)], allowed)
    home = ground_of(topology).island_of
    for u, v in pairs(allowed):
        assert home[u] != home[v]
        assert quotient.route(u, v)


@given(st.one_of(symmetric_topologies(), topologies(max_gpus=6), damaged()))
def test_islands_that_routes_join_are_joined_in_the_plan(topology) -> None:
    ground = ground_of(topology)
    allowed, of = ground.allowed, ground.island_of
    for a in range(len(ground.islands)):
        for b in range(len(ground.islands)):
            block = np.ix_(of == a, of == b)
            assert allowed[block].any() == ground.routed[block].any()
