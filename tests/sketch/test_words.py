"""Words over the dimensions of a grid."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.sketch.grid import Grid
from syccl.sketch.words import hops_of, spelled, spreading_words, summing_words
from tests.problems import contributions

SHAPES = [(5,), (2, 3), (4, 2), (2, 2, 3), (2, 2, 2, 2)]


def grid(shape: tuple[int, ...]) -> Grid:
    return Grid(np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1).astype(np.int64))


def number_of_words(dimensions: int) -> tuple[int, int]:
    return len(summing_words(dimensions)), len(spreading_words(dimensions))


@pytest.mark.parametrize(("dimensions", "counts"), [(1, (2, 1)), (2, (18, 3)), (3, (12, 3)), (4, (20, 4))])
def test_there_are_as_many_words_as_ways_to_order_the_dimensions(dimensions: int, counts: tuple[int, int]) -> None:
    assert number_of_words(dimensions) == counts


@pytest.mark.parametrize("shape", SHAPES)
def test_every_summing_word_adds_every_contribution_once_everywhere(shape: tuple[int, ...]) -> None:
    points = grid(shape)
    n = len(points.coordinates)
    for word in summing_words(len(shape)):
        for root in (0, n - 1):
            assert contributions(hops_of(word, points, root), n) == [[1] * n] * n, spelled(word)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_spreading_word_serves_every_rank_once(shape: tuple[int, ...]) -> None:
    points = grid(shape)
    n = len(points.coordinates)
    for word in spreading_words(len(shape)):
        hops = hops_of(word, points, n - 1)
        assert sorted(hop.dst for hop in hops) == list(range(n - 1)), spelled(word)
        arrived = {n - 1: -1} | {hop.dst: hop.stage for hop in hops}
        assert all(arrived[hop.src] < hop.stage for hop in hops)


def test_recursive_doubling_on_a_cube_is_one_exchange_after_another() -> None:
    points = grid((2, 2, 2, 2))
    word = next(w for w in summing_words(4) if all(step.exchanged for step in w))
    hops = hops_of(word, points, 0)
    assert len(hops) == 4 * 16
    assert all((points.coordinates[hop.src] != points.coordinates[hop.dst]).sum() == 1 for hop in hops)
