"""For which sizes a runtime takes a program.

The rule is that of msccl-executor-nccl and RCCL: the collective's total number of elements must be a multiple of
``nchunksperloop``, and its bytes must lie between ``minBytes`` and ``maxBytes``, both included (``maxBytes`` 0: no
upper limit). For every other size the runtime falls back without a word.
"""

from __future__ import annotations

from dataclasses import dataclass

from syccl.collective.datatypes import element_bytes
from syccl.program.ir import Program


@dataclass(frozen=True)
class Selection:
    """The sizes for which a runtime takes a program: multiples of a unit, within limits.

    Parameters
    ----------
    unit_bytes
        Bytes of one chunk of one element: ``nchunksperloop`` times the bytes of an element.
    min_bytes, max_bytes
        The file's own limits, both included; ``max_bytes`` 0 is no limit.
    """

    unit_bytes: int
    min_bytes: int
    max_bytes: int

    def takes(self, size_bytes: int) -> bool:
        """Return whether the file is used for that total size."""
        low, high = self.min_bytes, self.max_bytes
        return (
            size_bytes > 0
            and size_bytes % self.unit_bytes == 0
            and low <= size_bytes
            and (not high or size_bytes <= high)
        )

    @property
    def smallest_power_of_two(self) -> int | None:
        """The smallest power of two, in bytes, that is taken; None when there is none."""
        size = 1
        while size < max(self.unit_bytes, self.min_bytes):
            size *= 2
        return size if self.takes(size) else None

    def nearest(self, size_bytes: int) -> tuple[int, ...]:
        """Return the multiples of the unit just below and above a size, those of them that are taken."""
        below = size_bytes // self.unit_bytes * self.unit_bytes
        return tuple(size for size in (below, below + self.unit_bytes) if self.takes(size))


def selection(program: Program, datatype: str) -> Selection:
    """Return the sizes for which a runtime takes ``program`` when called with that datatype."""
    return Selection(program.chunks * element_bytes(datatype), program.min_bytes, program.max_bytes)
