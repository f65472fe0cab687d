"""Linear and integer programs: arrays in, arrays out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.optimize.status import Status

if TYPE_CHECKING:
    from ortools.linear_solver import pywraplp

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# MPSolver's result codes; all others (unbounded, abnormal, malformed) are errors.
_OUTCOMES = {0: Status.OPTIMAL, 1: Status.FEASIBLE, 2: Status.INFEASIBLE, 6: Status.GAVE_UP}

# GLOP ends ABNORMAL now and then on degenerate problems; the other road through the same problem gets there.
_GLOP_ATTEMPTS = ("", "use_dual_simplex: true use_preprocessing: false")


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise ``objective @ x`` with ``row_lower <= A x <= row_upper`` and ``lower <= x <= upper``.

    Parameters
    ----------
    objective, lower, upper
        Cost and bounds of every variable, shape ``(columns,)``; bounds may be infinite.
    row_lower, row_upper
        Bounds of every row, shape ``(rows,)``; may be infinite.
    entry_row, entry_column, entry_value
        The entries of ``A``, each place at most once, in any order.
    """

    objective: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    entry_row: Ints
    entry_column: Ints
    entry_value: Floats


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """How a linear program ended; arrays are empty unless ``status`` has a solution.

    Parameters
    ----------
    objective
        Value reached, NaN without a solution.
    values
        Value of every variable.
    duals
        Change of the objective per unit that both bounds of a row go up: 0 or less at an upper bound.
    """

    status: Status
    objective: float
    values: Floats
    duals: Floats


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """How an integer program ended; ``values`` is empty unless ``status`` has a solution.

    Parameters
    ----------
    objective
        Value reached, NaN without a solution.
    bound
        Proven lower bound of the objective.
    """

    status: Status
    objective: float
    bound: float
    values: Floats


def solve_linear(program: LinearProgram, *, enough: float = -math.inf) -> LinearSolution:
    """Solve a linear program with GLOP, one thread.

    `Status.INFEASIBLE` says that there is no optimum: no solution, or no end to the good ones. A program that GLOP
    fails on twice ends as `Status.ERROR`.

    Parameters
    ----------
    program
        What to minimise.
    enough
        Objective below which a solution is taken as it is, as `Status.FEASIBLE`; its duals say nothing then.

    Raises
    ------
    InternalError
        When the arrays state no linear program.
    """
    status = Status.ERROR
    limit = f" objective_lower_limit: {enough!r}" if math.isfinite(enough) else ""
    for parameters in _GLOP_ATTEMPTS:
        solver = _loaded("GLOP", program)
        solver.SetSolverSpecificParametersAsString(parameters + limit)
        status = _OUTCOMES.get(solver.Solve(), Status.ERROR)
        if status is Status.OPTIMAL or (status is Status.FEASIBLE and limit):
            values, duals, _ = _answer(solver)
            return LinearSolution(status, float(program.objective @ values), values, duals)
        if status is not Status.ERROR:
            break
    return LinearSolution(status, float("nan"), np.zeros(0), np.zeros(0))


def solve_integer(
    program: LinearProgram,
    integer: NDArray[np.bool_],
    *,
    node_limit: int,
    gap: float = 0.0,
    hint: Floats | None = None,
    limit_s: float | None = None,
) -> IntegerSolution:
    """Solve a program some of whose variables are whole numbers, with SCIP, one thread.

    The limit counts nodes, not seconds, so the same program always ends the same way, unless ``limit_s`` is given.

    Parameters
    ----------
    program
        The program without its integrality.
    integer
        Which variables are whole numbers, shape ``(columns,)``.
    node_limit
        Number of branch-and-bound nodes after which the best solution so far is taken, as `Status.FEASIBLE`, or
        `Status.GAVE_UP` is returned.
    gap
        Relative gap that is good enough to stop as `Status.OPTIMAL`.
    hint
        A value for every variable to start from.
    limit_s
        Seconds of the clock after which the search ends as at the limit of nodes.

    Raises
    ------
    InternalError
        When the arrays state no linear program.
    """
    from ortools.linear_solver import pywraplp

    solver = _loaded("SCIP", program, integer)
    solver.SetSolverSpecificParametersAsString(f"limits/nodes = {node_limit}\n")
    if limit_s is not None:
        solver.set_time_limit(max(1, round(limit_s * 1e3)))
    if hint is not None:
        solver.SetHint(solver.variables(), hint.tolist())
    parameters = pywraplp.MPSolverParameters()
    parameters.SetDoubleParam(parameters.RELATIVE_MIP_GAP, gap)
    status = _OUTCOMES.get(solver.Solve(parameters), Status.ERROR)
    if not status.has_solution:
        return IntegerSolution(status, float("nan"), float("-inf"), np.zeros(0))
    values, _, bound = _answer(solver)
    values[integer] = np.round(values[integer])
    return IntegerSolution(status, float(program.objective @ values), bound, values)


def _answer(solver: pywraplp.Solver) -> tuple[Floats, Floats, float]:
    """Read values, duals and the proven bound at once."""
    from ortools.linear_solver import linear_solver_pb2

    response = linear_solver_pb2.MPSolutionResponse()
    solver.FillSolutionResponseProto(response)
    return np.array(response.variable_value), np.array(response.dual_value), float(response.best_objective_bound)


def _loaded(name: str, program: LinearProgram, integer: NDArray[np.bool_] | None = None) -> pywraplp.Solver:
    """Return a solver that holds the program."""
    from ortools.linear_solver import linear_solver_pb2, pywraplp

    model = linear_solver_pb2.MPModelProto()
    whole = np.zeros(len(program.objective), dtype=np.bool_) if integer is None else integer
    variables = (program.objective, program.lower, program.upper, whole)
    for cost, lower, upper, is_integer in zip(*(column.tolist() for column in variables), strict=True):
        model.variable.add(objective_coefficient=cost, lower_bound=lower, upper_bound=upper, is_integer=is_integer)
    order = np.argsort(program.entry_row, kind="stable")
    columns, values = program.entry_column[order].tolist(), program.entry_value[order].tolist()
    ends = np.cumsum(np.bincount(program.entry_row, minlength=len(program.row_lower))).tolist()
    begin = 0
    for lower, upper, end in zip(program.row_lower.tolist(), program.row_upper.tolist(), ends, strict=True):
        row = {"var_index": columns[begin:end], "coefficient": values[begin:end]}
        model.constraint.add(lower_bound=lower, upper_bound=upper, **row)
        begin = end
    solver = pywraplp.Solver.CreateSolver(name)
    complaint = solver.LoadModelFromProto(model)
    if complaint:
        msg = f"malformed linear program: {complaint.splitlines()[0]}"
        raise InternalError(msg)
    return solver
