"""Linear and integer programs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InternalError
from syccl.optimize import linear
from syccl.optimize.linear import LinearProgram, solve_integer, solve_linear
from syccl.optimize.status import Status

INF = float("inf")


def dense(
    objective: list[float],
    matrix: list[list[float]],
    row_bounds: list[tuple[float, float]],
    bounds: tuple[float, float] = (0.0, INF),
) -> LinearProgram:
    a = np.array(matrix, dtype=np.float64).reshape(len(row_bounds), len(objective))
    row, column = np.nonzero(a)
    return LinearProgram(
        objective=np.array(objective, dtype=np.float64),
        lower=np.full(len(objective), bounds[0]),
        upper=np.full(len(objective), bounds[1]),
        row_lower=np.array([low for low, _ in row_bounds], dtype=np.float64),
        row_upper=np.array([high for _, high in row_bounds], dtype=np.float64),
        entry_row=row.astype(np.int32),
        entry_column=column.astype(np.int32),
        entry_value=a[row, column],
    )


def test_optimum_values_and_duals_of_a_known_program() -> None:
    solved = solve_linear(dense([2, 3], [[1, 1], [1, 3]], [(4, INF), (6, INF)]))
    assert solved.status is Status.OPTIMAL
    assert solved.objective == pytest.approx(9)
    assert solved.values == pytest.approx([3, 1])
    assert solved.duals == pytest.approx([1.5, 0.5])


def test_a_dual_at_an_upper_bound_is_not_positive() -> None:
    solved = solve_linear(dense([-5], [[2]], [(-INF, 3)]))
    assert solved.objective == pytest.approx(-7.5)
    assert solved.duals == pytest.approx([-2.5])


@pytest.mark.parametrize(
    ("enough", "status"), [(-INF, Status.OPTIMAL), (-10.0, Status.FEASIBLE), (-1e9, Status.OPTIMAL)]
)
def test_a_solution_that_is_enough_ends_the_search(enough: float, status: Status) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.integers(1, 9, size=(30, 40)).astype(float)
    program = dense([-1.0] * 40, matrix.tolist(), [(-INF, 100.0)] * 30)
    solved = solve_linear(program, enough=enough)
    assert solved.status is status
    assert (matrix @ solved.values <= 100 + 1e-6).all()
    assert solved.objective < (enough if status is Status.FEASIBLE else -10.0)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_duals_price_the_rows_so_that_both_programs_agree(rows: list[list[int]]) -> None:
    matrix = [[*map(float, row), 1.0] for row in rows]
    wanted = [float(1 + i) for i in range(len(rows))]
    solved = solve_linear(dense([4, 5, 6, 20], matrix, [(low, INF) for low in wanted]))
    assert solved.status is Status.OPTIMAL
    assert (solved.duals >= -1e-9).all()
    assert solved.duals @ np.array(wanted) == pytest.approx(solved.objective)
    assert (solved.duals @ np.array(matrix) <= np.array([4, 5, 6, 20]) + 1e-7).all()


def test_a_contradiction_is_infeasible_and_has_no_values() -> None:
    solved = solve_linear(dense([1], [[1]], [(2, 3)], bounds=(0, 1)))
    assert solved.status is Status.INFEASIBLE
    assert not len(solved.values)
    assert np.isnan(solved.objective)


def test_an_integer_contradiction_is_infeasible() -> None:
    program = dense([1], [[2]], [(1, 1)])
    assert solve_integer(program, np.array([True]), node_limit=10).status is Status.INFEASIBLE


def test_a_number_that_is_none_is_reported() -> None:
    with pytest.raises(InternalError, match="malformed linear program"):
        solve_linear(dense([float("nan")], [[1]], [(0, 1)]))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6), st.integers(1, 20))
def test_integer_optimum_equals_enumeration(items: list[tuple[int, int]], room: int) -> None:
    values, weights = (np.array(column, dtype=np.float64) for column in zip(*items, strict=True))
    program = dense(list(-values), [list(weights)], [(-INF, room)], bounds=(0, 2))
    solved = solve_integer(program, np.ones(len(items), dtype=np.bool_), node_limit=1000)
    packings = np.array(list(itertools.product(range(3), repeat=len(items))))
    best = (packings @ values)[packings @ weights <= room].max()
    assert solved.status is Status.OPTIMAL
    assert -solved.objective == pytest.approx(best)
    assert solved.bound <= solved.objective + 1e-6
    assert (solved.values == np.round(solved.values)).all()
    assert solved.values @ weights <= room


def test_a_mixed_program_keeps_the_other_variables_fractional() -> None:
    program = dense([-1, -1], [[2, 1]], [(-INF, 3.5)], bounds=(0, 1))
    solved = solve_integer(program, np.array([True, False]), node_limit=10)
    assert solved.values == pytest.approx([1, 1])
    program = dense([-1, -2], [[2, 4]], [(-INF, 5)], bounds=(0, 1))
    assert solve_integer(program, np.array([True, False]), node_limit=10).objective == pytest.approx(-2.5)


def test_a_hint_changes_no_optimum() -> None:
    program = dense([3, 4, 5], [[1, 2, 3]], [(7, INF)], bounds=(0, 4))
    whole = np.ones(3, dtype=np.bool_)
    plain = solve_integer(program, whole, node_limit=100)
    hinted = solve_integer(program, whole, node_limit=100, hint=np.array([4.0, 4.0, 4.0]))
    assert plain.objective == hinted.objective == pytest.approx(13)


class Fails:
    """A solver that ends as abnormal."""

    def __init__(self, solver: Any) -> None:
        self._solver = solver

    def SetSolverSpecificParametersAsString(self, text: str) -> bool:  # noqa: N802
        return bool(self._solver.SetSolverSpecificParametersAsString(text))

    def Solve(self) -> int:  # noqa: N802
        return 4


@pytest.mark.parametrize(("failures", "status"), [(1, Status.OPTIMAL), (2, Status.ERROR)])
def test_a_solver_that_fails_is_tried_once_more(monkeypatch: pytest.MonkeyPatch, failures: int, status: Status) -> None:
    loaded, calls = linear._loaded, []

    def flaky(*args: Any) -> Any:
        calls.append(args)
        return Fails(loaded(*args)) if len(calls) <= failures else loaded(*args)

    monkeypatch.setattr(linear, "_loaded", flaky)
    solved = solve_linear(dense([1], [[1]], [(2, INF)]))
    assert solved.status is status
    assert len(calls) == 2
    assert solved.values == pytest.approx([2] if status is Status.OPTIMAL else [])
