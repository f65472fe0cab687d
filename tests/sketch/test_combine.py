"""Whole pieces for trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from syccl.collective import op_named
from syccl.optimize.status import Status
from syccl.sketch.combine import Combination, combine
from syccl.sketch.price import Column, mixed_columns, price
from syccl.sketch.quotient import Quotient
from syccl.symmetry.group import trivial_group
from tests.sketch.quotient_cases import clos, cube_mesh, rails, rails_group


def combined(columns: list[Column], quotient: Quotient, pieces: int) -> Combination:
    loads = np.array([column.loads for column in columns])
    groups = np.array([column.group for column in columns], dtype=np.int32)
    return combine(loads, groups, pieces, quotient.capacities)


def least_by_enumeration(
    loads: NDArray[np.float64], groups: NDArray[np.int32], pieces: int, capacities: NDArray[np.float64]
) -> float:
    counts = np.array(list(itertools.product(range(pieces + 1), repeat=len(groups))))
    fits = np.all([counts[:, groups == g].sum(axis=1) == pieces for g in set(groups.tolist())], axis=0)
    return float((counts[fits] @ loads / capacities).max(axis=1).min() / pieces)


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=4, max_size=5),
    st.integers(1, 4),
    st.booleans(),
)
def test_the_best_combination_of_few_columns_is_found(rows: list[list[int]], pieces: int, tidy: bool) -> None:
    loads, capacities = np.array(rows, dtype=np.float64), np.array([1.0, 2.0, 5.0])
    groups = (np.arange(len(rows)) % 2).astype(np.int32)
    depths = np.arange(len(rows), dtype=np.int32) if tidy else None
    found = combine(loads, groups, pieces, capacities, depths=depths)
    best = least_by_enumeration(loads, groups, pieces, capacities)
    assert found.status is Status.OPTIMAL
    assert found.value <= best * (1 + 1e-3) + 1e-12
    assert found.bound <= best * (1 + 1e-6) + 1e-12
    assert np.bincount(groups, weights=found.multiplicities).tolist() == [pieces, pieces]
    assert (found.multiplicities >= 0).all()


def test_two_pure_sketches_round_badly_on_rails() -> None:
    topology = rails(8)
    quotient = Quotient.of(topology, rails_group(topology, 8))
    found = price(op_named("allgather"), quotient)
    losses = [combined(list(found.columns), quotient, pieces).value / found.lp_value for pieces in (1, 8, 16)]
    assert losses == pytest.approx([1.111, 1.042, 1.042], abs=1e-3)


def test_mixed_trees_round_well_on_rails() -> None:
    topology = rails(8)
    quotient = Quotient.of(topology, rails_group(topology, 8))
    op = op_named("allgather")
    found = price(op, quotient)
    pool = [*found.columns, *mixed_columns(op, quotient, found.prices, count=30)]
    losses = [combined(pool, quotient, pieces).value / found.lp_value for pieces in (1, 2)]
    assert losses == pytest.approx([1.012, 1.002], abs=1e-3)


@pytest.mark.parametrize(("op", "pieces"), [("allgather", 16), ("reducescatter", 16), ("allreduce", 128)])
def test_many_pieces_come_near_the_fractional_optimum_without_symmetry(op: str, pieces: int) -> None:
    topology = cube_mesh()
    quotient = Quotient.of(topology, trivial_group(topology))
    found = price(op_named(op), quotient)
    result = combined(list(found.columns), quotient, pieces)
    assert found.dual_bound <= result.bound * (1 + 1e-6)
    assert result.bound <= result.value * (1 + 1e-9)
    assert result.value <= found.lp_value * 1.03


def test_a_large_pool_is_combined_by_moves_alone() -> None:
    topology = clos()
    quotient = Quotient.of(topology, trivial_group(topology))
    found = price(op_named("allgather"), quotient)
    assert len(found.columns) * quotient.orbits > 25_000
    assert combined(list(found.columns), quotient, 16).value <= found.lp_value * 1.03


def test_pieces_go_to_the_shallower_of_two_equal_columns() -> None:
    loads = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    groups = np.zeros(4, dtype=np.int32)
    depths = np.array([7, 2, 3, 9], dtype=np.int32)
    found = combine(loads, groups, 6, np.ones(2), depths=depths)
    assert found.multiplicities.tolist() == [0, 3, 3, 0]
    assert found.value == pytest.approx(1)


def test_one_column_a_group_leaves_no_choice() -> None:
    found = combine(np.array([[3.0], [1.0]]), np.array([0, 1], dtype=np.int32), 4, np.array([2.0]))
    assert found.multiplicities.tolist() == [4, 4]
    assert found.value == pytest.approx(2)
    assert found.status is Status.OPTIMAL


def test_without_links_all_combinations_take_no_time() -> None:
    found = combine(np.zeros((2, 0)), np.zeros(2, dtype=np.int32), 3, np.zeros(0))
    assert found.multiplicities.sum() == 3
    assert (found.value, found.status) == (0, Status.OPTIMAL)


def test_the_same_input_gives_the_same_combination() -> None:
    topology = cube_mesh()
    quotient = Quotient.of(topology, trivial_group(topology))
    columns = list(price(op_named("allgather"), quotient).columns)
    first, second = (combined(columns, quotient, 4) for _ in range(2))
    assert np.array_equal(first.multiplicities, second.multiplicities)
