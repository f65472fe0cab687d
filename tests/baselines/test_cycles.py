from __future__ import annotations

import numpy as np
import pytest

from syccl.baselines.cycles import disjoint_cycles, hamiltonian_path, powers
from tests.strategies import mesh, torus
from tests.symmetry.clusters import dgx1, grid, hypercube


def lanes_of(topology, unit=25 * 10**9):
    lanes = np.zeros((topology.ranks, topology.ranks), dtype=np.int64)
    for link in topology.links:
        lanes[link.src, link.dst] += link.rate // unit
    return lanes


def used(cycles, n):
    count = np.zeros((n, n), dtype=np.int64)
    for cycle in cycles:
        for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            count[a, b] += 1
    return count


@pytest.mark.parametrize(
    ("topology", "cycles"),
    [
        (torus(4, 4), 2),
        (torus(3, 5), 2),
        (mesh(5), 2),
        (mesh(8), 3),
        (hypercube(4), 2),
        (dgx1(), 3),
        (grid(3, 3), 0),
        (grid(1, 4), 0),
    ],
    ids=["torus4x4", "torus3x5", "K5", "K8", "hypercube4", "dgx1", "odd grid", "line"],
)
def test_known_decompositions_are_found_and_share_no_lane(topology, cycles):
    lanes, n = lanes_of(topology), topology.ranks
    found = disjoint_cycles(lanes, np.arange(n, dtype=np.int32), max(cycles, 1), both=True)
    assert len(found) == cycles
    assert all(sorted(cycle) == list(range(n)) for cycle in found)
    assert (used(found + [cycle[::-1] for cycle in found], n) <= lanes).all()


def test_cycles_repeat_under_the_given_permutation():
    turn = np.array([(i // 4 * 4) + (i + 1) % 4 for i in range(16)], dtype=np.int32)
    for cycle in disjoint_cycles(lanes_of(torus(4, 4)), turn, 2, both=True):
        arcs = set(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        assert {(int(turn[a]), int(turn[b])) for a, b in arcs} == arcs


def test_one_way_lanes_give_one_way_cycles():
    lanes = np.zeros((4, 4), dtype=np.int64)
    lanes[[0, 1, 2, 3], [1, 2, 3, 0]] = 1
    assert disjoint_cycles(lanes, np.arange(4, dtype=np.int32), 2, both=False) == [[0, 1, 2, 3]]


def test_a_path_joins_its_ends_through_all_points_and_takes_cheap_steps():
    prices = np.full((4, 4), 5.0)
    prices[0, 2] = prices[2, 1] = prices[1, 3] = 1.0
    assert hamiltonian_path(prices, 0, 3) == [0, 2, 1, 3]


def test_no_path_is_found_where_there_is_none():
    prices = np.full((3, 3), np.inf)
    prices[0, 1] = prices[1, 2] = 1.0
    assert hamiltonian_path(prices, 0, 2) == [0, 1, 2]
    assert hamiltonian_path(prices, 0, 1) is None
    assert hamiltonian_path(prices, 1, 1) is None
    assert hamiltonian_path(prices[:1, :1], 0, 0) == [0]


def test_powers_of_a_permutation_end_at_the_identity():
    assert powers([1, 2, 0, 3]) == [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3]]
