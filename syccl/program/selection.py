"""For which calls a runtime takes a program.

The collective's total number of elements must be a multiple of ``nchunksperloop``, and its bytes must lie between
``minBytes`` and ``maxBytes``; whether the latter is included differs. For every other size the runtime falls back
without a word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from syccl.collective.datatypes import element_bytes
from syccl.program.ir import Program
from syccl.program.targets import EXECUTOR, Target


@dataclass(frozen=True)
class Selection:
    """The sizes for which a runtime takes a program: multiples of a unit, within limits.

    Parameters
    ----------
    unit_bytes
        Bytes of one chunk of one element: ``nchunksperloop`` times the bytes of an element.
    min_bytes, max_bytes
        Limits, both included; ``max_bytes`` 0 is no limit.
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


def selection(program: Program, datatype: str, target: Target = EXECUTOR) -> Selection:
    """Return the sizes for which a runtime takes ``program`` when called with that datatype."""
    last = program.max_bytes if target.includes_end else (program.max_bytes or target.default_max_bytes) - 1
    return Selection(program.chunks * element_bytes(datatype), program.min_bytes, last)


def addressed(program: Program, target: Target, *, first_bytes: int = 0, last_bytes: int | None = None) -> Program:
    """Return the program as a file for one runtime states it: which sizes, both ends included, and which calls.

    Where a file is either for calls in place or for the others, it is for those in place if the program serves them.
    """
    apart = program.in_place and not target.reads_out_of_place
    return replace(
        program,
        out_of_place=program.out_of_place and not apart,
        min_bytes=first_bytes,
        max_bytes=target.stated_end(last_bytes),
    )
