"""``--matrix``: what alltoallv moves, for several verbs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.collective import Demand, Matrix, Op
    from syccl.findings import Finding
    from syccl.program import Program
    from syccl.proof import Certificate
    from syccl.schedule import Schedule
    from syccl.topology import Topology

UNITS = ("bytes", "elements")

matrix_option = click.option(
    "--matrix",
    "matrix_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What alltoallv moves: CSV, or a list of lists in JSON; row = sender, column = receiver, whole numbers from 0 "
    "on. It gives the size, too: the largest send or receive buffer of any rank, so --size is left out.",
)
unit_option = click.option(
    "--matrix-unit",
    type=click.Choice(UNITS),
    default=UNITS[0],
    show_default=True,
    help="What the entries of the matrix count.",
)


def load_matrix(path: Path, unit: str, datatype: str) -> Matrix:
    """Return the matrix in a file.

    Raises
    ------
    InputError
        When it cannot be read, or is no square matrix of whole numbers from 0 on.
    """
    from syccl.cli.files import read_text
    from syccl.collective.datatypes import element_bytes
    from syccl.collective.matrix import read_matrix

    return read_matrix(read_text(path), source=str(path), unit_bytes=element_bytes(datatype) if unit == UNITS[1] else 1)


def asked_matrix(
    op: Op, path: Path | None, unit: str, *, datatype: str, topology: Topology, whole_elements: bool = True
) -> Matrix | None:
    """Return the matrix of an alltoallv, checked against topology and datatype; None for other collectives.

    Raises
    ------
    InputError
        When a matrix is missing or not wanted, ``--size`` is given beside it, or it does not fit.
    """
    from syccl.collective import ALLTOALLV
    from syccl.collective.datatypes import element_bytes
    from syccl.collective.matrix import require_fit

    if op != ALLTOALLV:
        if path is not None:
            msg = f"--matrix is for alltoallv; {op.name} moves equal parts of --size"
            raise InputError(msg)
        return None
    if path is None:
        msg = "alltoallv needs --matrix FILE: one row for each sender, one entry for each receiver"
        raise InputError(msg)
    refuse_size("the matrix says how much there is to move")
    matrix = load_matrix(path, unit, datatype)
    width = element_bytes(datatype) if whole_elements else 1
    require_fit(matrix, topology.ranks, topology=topology.name, source=str(path), element_bytes=width)
    return matrix


def is_given(*parameters: str) -> bool:
    """Return whether one of these options stands on the command line."""
    source = click.get_current_context().get_parameter_source
    return any(source(name) is ParameterSource.COMMANDLINE for name in parameters)


def refuse_size(why: str) -> None:
    """Raise when ``--size`` stands on the command line.

    Raises
    ------
    InputError
        When it does.
    """
    if is_given("size"):
        msg = f"leave --size out: {why}"
        raise InputError(msg)


def with_matrix(
    plan: Program | Schedule, matrix: Matrix, *, source: str
) -> tuple[Program | Schedule, tuple[Finding, ...]]:
    """Return a program or schedule with what a matrix says about it, and where it moves something else.

    Raises
    ------
    InputError
        When it is for another collective or number of ranks.
    """
    from syccl.program import Program
    from syccl.program.unequal import program_for

    if isinstance(plan, Program):
        return program_for(plan, matrix, source=source)
    return plan, matrix_findings(plan.demand, matrix, source=source)


def own_size(plan: Program | Schedule, size_bytes: int) -> int:
    """Return the size of a schedule whose chunks have sizes of their own; else the size asked for."""
    from syccl.program import Program

    if isinstance(plan, Program) or not plan.demand.is_unequal or is_given("size"):
        return size_bytes
    return plan.demand.own_size_bytes


def matrix_findings(demand: Demand, matrix: Matrix, *, source: str) -> tuple[Finding, ...]:
    """Return where the chunks of a schedule are not what a matrix asks for.

    Raises
    ------
    InputError
        When the schedule is for another collective or number of ranks.
    """
    from syccl.collective.matrix import require_fit

    if not demand.is_unequal:
        msg = f"--matrix is for alltoallv; this is a schedule for {demand.op.name}"
        raise InputError(msg)
    require_fit(matrix, demand.ranks, topology="the schedule", source=source)
    return _differences(demand.matrix.tolist(), matrix, "the schedule moves")


def proof_findings(stated: Certificate, matrix: Matrix, *, source: str) -> tuple[Finding, ...]:
    """Return where the proof of a bound is for another matrix.

    Raises
    ------
    InputError
        When the proof is for another collective or number of ranks.
    """
    from syccl.collective.matrix import require_fit

    if not stated.matrix:
        msg = f"--matrix is for alltoallv; this is a proof for {stated.op.name}"
        raise InputError(msg)
    require_fit(matrix, stated.topology.ranks, topology="the proof", source=source)
    return _differences(stated.matrix, matrix, "the proof is for")


def _differences(rows: Sequence[Sequence[int]], matrix: Matrix, what: str) -> tuple[Finding, ...]:
    from syccl.findings import Finding

    return tuple(
        Finding("error", "matrix", f"{u}->{v}", f"{what} {moved} bytes, the matrix asks for {wanted}")
        for u, (row, wanted_row) in enumerate(zip(rows, matrix.rows, strict=True))
        for v, (moved, wanted) in enumerate(zip(row, wanted_row, strict=True))
        if moved != wanted
    )
