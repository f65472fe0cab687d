"""For which sizes a runtime takes a file, and the lines that make it do so.

The rule is that of msccl-executor-nccl: the collective's total number of elements must be a multiple of
``nchunksperloop``, and its bytes must lie between ``minBytes`` and ``maxBytes`` (0: no upper limit). For every other
size the runtime falls back without a word.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from syccl.collective.datatypes import element_bytes
from syccl.program import Program
from syccl.units import format_size


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


def selection_words(chosen: Selection, size_bytes: int) -> list[str]:
    """Return in words which sizes are taken, and the nearest ones when the asked size is not."""
    limit = f" up to {format_size(chosen.max_bytes)}" if chosen.max_bytes else ""
    power = chosen.smallest_power_of_two
    multiples = f"multiples of {format_size(chosen.unit_bytes)}{limit}"
    if power is None:
        lines = [f"selected for {multiples}; no power of two is among them"]
    else:
        lines = [f"selected for {multiples}; of the powers of two, those from {format_size(power)}{limit or ' up'}"]
    unselected = unselected_words(chosen, size_bytes)
    return [*lines, unselected] if unselected else lines


def unselected_words(chosen: Selection, size_bytes: int) -> str:
    """Return that the asked size is not taken and the nearest ones that are; empty when it is taken."""
    if chosen.takes(size_bytes):
        return ""
    near = " and ".join(f"{size} B" for size in chosen.nearest(size_bytes)) or "none"
    return f"NOT selected for {size_bytes} B; nearest sizes that are: {near}"


def usage_words(path: Path) -> list[str]:
    """Return the lines that make msccl-executor-nccl load the file at ``path``."""
    name = shlex.quote(str(path))
    return [
        f"mkdir -p msccl-algorithms && cp {name} msccl-algorithms/",
        'export MSCCL_ALGO_DIR="$PWD/msccl-algorithms"   # holds nothing but such files; one process per GPU',
    ]
