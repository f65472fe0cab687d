"""How finely the entries of an alltoallv may be cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

from syccl.collective import Matrix
from syccl.errors import InputError

_UNITS_OF_ENTRY = 64
"""The largest entry is cut into about so many chunks of a file, where its bytes allow."""
_CHUNKS = 4096
"""Most chunks of the largest buffer that a file is given without need."""


@dataclass(frozen=True)
class Grain:
    """Pieces are whole numbers of units, and no longer than a limit; both in bytes."""

    unit_bytes: int
    most_bytes: int


def schedule_grain(matrix: Matrix, element_bytes: int) -> Grain:
    """Return the grain of schedules, which move any number of elements at a time."""
    return Grain(element_bytes, max(matrix.size_bytes, 1))


def program_grain(matrix: Matrix, element_bytes: int, *, chunks: int, count: int) -> Grain:
    """Return the grain of programs, which move whole numbers of equal chunks.

    Parameters
    ----------
    chunks, count
        Chunks that a runtime counts in a buffer, and in a step.

    Raises
    ------
    InputError
        When there is nothing to move, or no chunk goes into all entries without making more of them than a runtime
        counts.
    """
    if not matrix.size_bytes:
        msg = "this alltoallv has no .xml: all entries are 0, and runtimes are not called for 0 bytes"
        raise InputError(msg)
    common = math.gcd(*(entry for row in matrix.rows for entry in row))
    if matrix.size_bytes > common * chunks:
        least = -(-matrix.size_bytes // chunks // element_bytes) * element_bytes
        msg = (
            f"this alltoallv has no .xml: its entries are multiples of {common} bytes and of nothing more, which makes "
            f"{matrix.size_bytes // common} chunks of the largest buffer; runtimes count up to {chunks}. "
            f"Pad entries to multiples of {least} bytes or more, or write the schedule (-o FILE.json)"
        )
        raise InputError(msg)
    unit, largest = max(common, element_bytes), max((entry for row in matrix.rows for entry in row), default=0)
    while (
        unit % (2 * element_bytes) == 0
        and 2 * largest <= _UNITS_OF_ENTRY * unit
        and 2 * matrix.size_bytes <= min(chunks, _CHUNKS) * unit
    ):
        unit //= 2
    return Grain(unit, unit * count)
