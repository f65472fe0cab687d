"""Minimum-cost arborescences."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from syccl.errors import InfeasibleError
from syccl.sketch.arborescence import contract, flattened, minimum_arborescence, tree_cost, tree_depths


@st.composite
def cost_matrices(draw: st.DrawFn, max_size: int = 5) -> NDArray[np.float64]:
    n = draw(st.integers(1, max_size))
    cost = st.integers(0, 3) | st.integers(0, 99) | st.just(np.inf)
    return np.array(draw(st.lists(cost, min_size=n * n, max_size=n * n)), dtype=np.float64).reshape(n, n)


def least_by_enumeration(costs: NDArray[np.float64], root: int) -> float:
    n = len(costs)
    best = np.inf
    for choice in itertools.product(range(n), repeat=n):
        if choice[root] == root and spans(choice, root):
            best = min(best, sum(costs[choice[v], v] for v in range(n) if v != root))
    return float(best)


def spans(parents: tuple[int, ...], root: int) -> bool:
    for start in range(len(parents)):
        vertex = start
        for _ in parents:
            vertex = parents[vertex]
        if vertex != root:
            return False
    return True


def as_spanning(parents: NDArray[np.int32], root: int) -> bool:
    assert parents[root] == -1
    looped = parents.copy()
    looped[root] = root
    return spans(tuple(looped.tolist()), root)


@given(cost_matrices())
def test_one_contraction_gives_the_cheapest_tree_of_every_root(costs: NDArray[np.float64]) -> None:
    trees = contract(costs)
    for root in range(len(costs)):
        least = least_by_enumeration(costs, root)
        if np.isfinite(least):
            parents = trees.parents(root)
            assert as_spanning(parents, root)
            assert tree_cost(costs, parents) == pytest.approx(least)
        else:
            with pytest.raises(InfeasibleError, match=f"rank {root}"):
                trees.parents(root)


@pytest.mark.parametrize("seed", range(8))
def test_cost_equals_that_of_networkx_on_complete_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    costs = rng.integers(1, 8 if seed % 2 else 1000, (n, n)).astype(np.float64)
    root = int(rng.integers(n))
    arcs = [(u, v, costs[u, v]) for u in range(n) for v in range(n) if v not in (u, root)]
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(arcs)
    expected = nx.minimum_spanning_arborescence(graph).size(weight="weight")
    assert tree_cost(costs, minimum_arborescence(costs, root)) == pytest.approx(expected)


@given(cost_matrices(max_size=8), st.integers(0, 7))
def test_flattening_keeps_a_tree_that_is_no_dearer_and_no_deeper(costs: NDArray[np.float64], root: int) -> None:
    root %= len(costs)
    costs = np.where(np.isfinite(costs), costs, 100.0)
    before = contract(costs).parents(root)
    after = flattened(costs, before)
    assert as_spanning(after, root)
    assert tree_cost(costs, after) <= tree_cost(costs, before) + 1e-9
    assert (tree_depths(after) <= tree_depths(before)).all()


@pytest.mark.parametrize("root", [0, 3, 6])
def test_equal_costs_give_a_star(root: int) -> None:
    parents = minimum_arborescence(np.ones((7, 7)), root)
    assert tree_depths(parents).max() == 1
    assert (np.delete(parents, root) == root).all()


def test_a_chain_of_free_arcs_is_taken_in_order() -> None:
    costs = np.full((4, 4), 10.0)
    costs[0, 1] = costs[1, 2] = costs[2, 3] = 0.0
    assert minimum_arborescence(costs, 0).tolist() == [-1, 0, 1, 2]
    assert tree_depths(minimum_arborescence(costs, 0)).tolist() == [0, 1, 2, 3]


def test_one_vertex_is_a_tree() -> None:
    assert minimum_arborescence(np.array([[np.inf]]), 0).tolist() == [-1]


def test_the_diagonal_is_not_read() -> None:
    costs = np.array([[-5.0, 2.0], [3.0, np.nan]])
    assert minimum_arborescence(costs, 1).tolist() == [1, -1]
