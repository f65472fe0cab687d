"""Prime factors of networks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from syccl.sketch.factors import prime_factors

Bools = NDArray[np.bool_]


def clique(n: int) -> Bools:
    return ~np.eye(n, dtype=np.bool_)


def cycle(n: int) -> Bools:
    step = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    return (step == 1) | (step == n - 1)


def line(n: int) -> Bools:
    return np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) == 1


def product(*graphs: Bools) -> Bools:
    points = list(itertools.product(*(range(len(graph)) for graph in graphs)))
    joined = np.zeros((len(points), len(points)), dtype=np.bool_)
    for (i, a), (j, b) in itertools.permutations(enumerate(points), 2):
        apart = [d for d in range(len(graphs)) if a[d] != b[d]]
        joined[i, j] = len(apart) == 1 and graphs[apart[0]][a[apart[0]], b[apart[0]]]
    return joined


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (product(clique(4), clique(2)), [2, 4]),
        (product(cycle(4), cycle(4)), [2, 2, 2, 2]),
        (product(cycle(5), line(3)), [3, 5]),
        (product(line(4), line(4)), [4, 4]),
        (product(clique(8), clique(4)), [4, 8]),
        (product(cycle(6), clique(3), line(2)), [2, 3, 6]),
    ],
    ids=["cube mesh", "torus", "ring of lines", "mesh", "rails", "three"],
)
@given(seed=st.integers(0, 1000))
def test_products_are_taken_apart_however_their_vertices_are_numbered(
    graph: Bools, sizes: list[int], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(graph))
    graph = graph[np.ix_(order, order)]
    found = prime_factors(graph)
    assert found is not None
    assert sorted((found.max(axis=0) + 1).tolist()) == sizes
    assert len({tuple(point) for point in found.tolist()}) == len(graph)
    apart = (found[:, None, :] != found[None, :, :]).sum(axis=2)
    assert (apart[graph] == 1).all()


@pytest.mark.parametrize(
    "graph",
    [clique(6), cycle(5), line(7), product(line(2), line(2)) & False, np.pad(product(line(2), line(3)), (0, 1))],
    ids=["clique", "ring", "line", "no links", "not connected"],
)
def test_other_graphs_have_no_factors(graph: Bools) -> None:
    assert prime_factors(graph) is None
