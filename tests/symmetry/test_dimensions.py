from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Kind, Node, Topology, routes_from
from tests.strategies import (
    RATE,
    cables,
    gpus,
    one_switch,
    ring,
    scrambled,
    symmetric_topologies,
    topologies,
    two_servers,
)
from tests.symmetry.clusters import GB, a100x32, dgx1, grid, rail, servers


def blocks(*sizes: int) -> tuple[tuple[int, ...], ...]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(tuple(range(start, start + size)) for start, size in zip(starts, sizes, strict=True))


def pairs_over_pcie() -> Topology:
    nodes = (*gpus(8), Node("host", Kind.SWITCH))
    bridges = cables([(i, i + 1) for i in range(0, 8, 2)], 50 * GB)
    return Topology("pairs", nodes, bridges + cables([(i, 8) for i in range(8)], 12 * GB))


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (a100x32(), blocks(8, 8, 8, 8)),
        (rail(8), blocks(*[8] * 8)),
        (servers([7, 8], [0, 1]), blocks(7, 8)),
        (pairs_over_pcie(), blocks(2, 2, 2, 2)),
        (grid(4, 4, wrap=True), blocks(16)),
        (grid(4, 4), blocks(16)),
        (dgx1(), blocks(8)),
        (one_switch(8), blocks(8)),
        (ring(1), blocks(1)),
        (Topology("apart", gpus(4), cables([(0, 1), (2, 3)])), blocks(2, 2)),
        (Topology("alone", gpus(3), ()), blocks(3)),
    ],
    ids=["a100x32", "rail", "7+8", "pairs", "torus", "mesh", "dgx1", "switch", "one", "apart", "alone"],
)
def test_known_clusters(topology: Topology, expected: tuple[tuple[int, ...], ...]) -> None:
    assert islands(topology) == expected


def test_links_less_than_twice_as_fast_make_no_island() -> None:
    assert islands(two_servers(4, nics=4, nvlink_rate=15, nic_rate=10)) == blocks(8)
    assert islands(two_servers(4, nics=4, nvlink_rate=20, nic_rate=10)) == blocks(4, 4)


def by_routes(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The definition, word by word, from the default routes."""
    ranks = range(topology.ranks)
    rates = {(i, j): route.rate for i in ranks for j, route in routes_from(topology, i).items()}
    counting: list[tuple[tuple[int, ...], ...]] = []
    for threshold in sorted(set(rates.values()), reverse=True):
        part = list(ranks)
        for (i, j), rate in rates.items():
            if rate >= threshold and part[i] != part[j]:
                old, new = max(part[i], part[j]), min(part[i], part[j])
                part = [new if p == old else p for p in part]
        inside = min(rate for rate in rates.values() if rate >= threshold)
        between = max((rate for (i, j), rate in rates.items() if part[i] != part[j]), default=0)
        if 1 < len(set(part)) < topology.ranks and inside >= 2 * between:
            counting.append(tuple(tuple(r for r in ranks if part[r] == p) for p in sorted(set(part))))
    return min(counting, key=lambda parts: sum(len(part) == 1 for part in parts), default=(tuple(ranks),))


def test_servers_of_unlike_links_and_a_damaged_rank_are_islands() -> None:
    nodes = (*gpus(6), *(Node(f"s{i}", Kind.SWITCH) for i in range(3)))
    fast, slow = cables([(0, 6), (1, 6), (2, 6)], 100 * RATE), cables([(3, 7), (4, 7), (5, 7)], 20 * RATE)
    network = cables([(i, 8) for i in range(6)], RATE)
    assert islands(Topology("unlike", nodes, fast + slow + network)) == blocks(3, 3)
    damaged = fast[:4] + cables([(2, 6)], 50 * RATE)
    assert islands(Topology("damaged", nodes, damaged + slow + network)) == blocks(3, 3)


@given(topologies() | symmetric_topologies())
def test_islands_follow_from_the_default_routes(topology: Topology) -> None:
    assert islands(topology) == by_routes(topology)


@given(topologies() | symmetric_topologies(), st.integers(0, 5))
def test_islands_do_not_depend_on_names_or_order(topology: Topology, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    moved = {frozenset(ranks[r] for r in island) for island in islands(topology)}
    assert {frozenset(island) for island in islands(copy)} == moved


@pytest.mark.parametrize("topology", [a100x32(), rail(4), pairs_over_pcie()], ids=["a100x32", "rail", "pairs"])
def test_symmetries_move_islands_to_islands(topology: Topology) -> None:
    whole = {frozenset(island) for island in islands(topology)}
    for element in find_group(topology).ranks:
        assert {frozenset(int(element[r]) for r in island) for island in whole} == whole


def test_512_gpus_in_64_servers() -> None:
    assert islands(rail(64)) == blocks(*[8] * 64)
