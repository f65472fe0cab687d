"""Programs of alltoallv: what a matrix says about them that their files do not."""

from __future__ import annotations

from dataclasses import replace

from syccl.collective import ALLTOALLV, Matrix
from syccl.collective.matrix import require_fit
from syccl.errors import InputError
from syccl.findings import Finding
from syccl.program.ir import Program

_MEANT = (ALLTOALLV.name, "custom")


def program_for(program: Program, matrix: Matrix, *, source: str) -> tuple[Program, tuple[Finding, ...]]:
    """Return a program as one that moves a matrix, or what keeps it from being one.

    A file says into how many chunks the largest buffer is cut, so that the matrix says how large they are.

    Raises
    ------
    InputError
        When the program is for another collective or number of ranks.
    """
    if program.collective not in _MEANT:
        msg = f"--matrix is for alltoallv; this is a program for {program.collective}"
        raise InputError(msg)
    require_fit(matrix, program.size, topology="the program", source=source)
    unit, rest = divmod(matrix.size_bytes, max(program.chunks, 1))
    if rest or (unit and (matrix.table % unit).any()):
        message = (
            f"the largest buffer of the matrix has {matrix.size_bytes} bytes; cut into the {program.chunks} chunks of "
            "the program, some entry is no whole number of them"
        )
        return program, (Finding("error", "matrix", "program", message),)
    counts = tuple(tuple(entry // max(unit, 1) for entry in row) for row in matrix.rows)
    found: tuple[Finding, ...] = ()
    if matrix.size_bytes < program.min_bytes:
        message = f"the file is for calls of {program.min_bytes} bytes or more, the matrix has {matrix.size_bytes}"
        found = (Finding("warning", "matrix", "program", message),)
    return replace(program, collective=ALLTOALLV.name, counts=counts), found
