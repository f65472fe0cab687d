from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.topology import Topology
from tests.strategies import one_switch, ring, scrambled, symmetric_topologies, topologies
from tests.symmetry.clusters import a100x32, dgx1, grid, rail

FEWEST: dict[str, tuple[Callable[[], Topology], int, int]] = {
    "nvswitch": (lambda: one_switch(8), 7, 2),
    "ring 7": (lambda: ring(7), 2, 4),
    "ring 12": (lambda: ring(12), 2, 7),
    "dgx1": (dgx1, 1, 8),
    "a100x32": (a100x32, 8, 11),
    "rail 8x8": (lambda: rail(8), 7, 10),
    "hypercube 4": (lambda: grid(2, 2, 2, 2), 3, 8),
    "torus 8x8": (lambda: grid(8, 8, wrap=True), 2, 34),
    "mesh 4x3": (lambda: grid(4, 3), 1, 12),
}


def assert_free_where_moved(group: Group, rank: int) -> None:
    before = Counter(group.topology.links)
    moved = {r for r in range(group.topology.ranks) if (group.ranks[:, r] != r).any()}
    assert rank not in moved
    for element, ranks in zip(group.elements[1:], group.ranks[1:], strict=True):
        links = [link._replace(src=int(element[link.src]), dst=int(element[link.dst])) for link in group.topology.links]
        assert Counter(links) == before
        assert all(ranks[r] != r for r in moved)


@pytest.mark.parametrize("name", FEWEST)
@pytest.mark.parametrize("seed", [-1, 0, 1])
def test_a_root_stays_and_the_rest_falls_into_few_orbits(name: str, seed: int) -> None:
    build, order, orbits = FEWEST[name]
    topology, rank = build(), 0
    if seed >= 0:
        topology, ranks = scrambled(topology, seed)
        rank = ranks[0]
    group = find_group(topology, fixed_rank=rank)
    assert_free_where_moved(group, rank)
    assert (group.order, len(group.rank_orbits)) == (order, orbits)


@given(topologies() | symmetric_topologies(), st.data())
def test_any_root_can_be_fixed(topology: Topology, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, topology.ranks - 1))
    assert_free_where_moved(find_group(topology, fixed_rank=rank), rank)


@pytest.mark.parametrize("rank", [-1, 3])
def test_a_rank_that_does_not_exist_is_refused(rank: int) -> None:
    with pytest.raises(InputError, match=rf"rank {rank} of 'ring3' does not exist; ranks are 0\.\.2"):
        find_group(ring(3), fixed_rank=rank)
