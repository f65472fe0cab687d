"""The sizes of a sweep, as nccl-tests runs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from syccl.collective import Op
from syccl.collective.datatypes import element_bytes
from syccl.errors import InputError
from syccl.units import format_size

MOST_SIZES = 500
"""Sizes of the longest sweep."""

_BYTES_PER_RANK = 16
"""nccl-tests keeps the block of every rank a multiple of this."""


@dataclass(frozen=True)
class Sweep:
    """From the first size to the last at most, each the one before times ``factor`` or plus ``step_bytes``.

    Raises
    ------
    InputError
        When the first size is above the last, the factor is not above 1, the step is not positive, or there are more
        than ``MOST_SIZES`` sizes.
    """

    first_bytes: int
    last_bytes: int
    factor: float = 2.0
    step_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check the limits, the step, and the number of sizes."""
        msg = ""
        if not 0 < self.first_bytes <= self.last_bytes:
            msg = (
                f"the sweep from -b {format_size(self.first_bytes)} to -e {format_size(self.last_bytes)} is empty; "
                "give -b a size that is not above that of -e"
            )
        elif self.step_bytes is None and not self.factor > 1:
            msg = f"-f {self.factor:g} gives no larger sizes; write for example -f 2"
        elif self.step_bytes is not None and self.step_bytes < 1:
            msg = f"-i {self.step_bytes} gives no larger sizes; write for example -i 1M"
        elif sum(1 for _ in zip(range(MOST_SIZES + 1), self.steps(), strict=False)) > MOST_SIZES:
            msg = f"the sweep has more than {MOST_SIZES} sizes; take longer steps with -f or -i, or a smaller -e"
        if msg:
            raise InputError(msg)

    def steps(self) -> Iterator[int]:
        """Yield the sizes before they are rounded to what a collective can move."""
        size, factor = self.first_bytes, Fraction(self.factor)
        while size <= self.last_bytes:
            yield size
            size = size + self.step_bytes if self.step_bytes is not None else max(size + 1, int(size * factor))


def size_unit(op: Op, ranks: int, datatype: str) -> int:
    """Return the bytes that nccl-tests rounds sizes down to a multiple of.

    One element; where every rank has a block of the buffer, 16 bytes for each rank.
    """
    return ranks * _BYTES_PER_RANK if _has_blocks(op) else element_bytes(datatype)


def sweep_sizes(sweep: Sweep, op: Op, ranks: int, datatype: str) -> tuple[int, ...]:
    """Return the sizes that nccl-tests would run, ascending; those that round down to nothing are left out.

    Raises
    ------
    InputError
        When none is left.
    """
    unit = size_unit(op, ranks, datatype)
    sizes = tuple(dict.fromkeys(size // unit * unit for size in sweep.steps() if size >= unit))
    if not sizes:
        msg = (
            f"no size up to -e {format_size(sweep.last_bytes)} is left: for {op.name} over {ranks} ranks sizes are "
            f"multiples of {unit} B, as in nccl-tests; give a larger -e"
        )
        raise InputError(msg)
    return sizes


def call_count(op: Op, ranks: int, size_bytes: int, datatype: str) -> int:
    """Return the count that a call of that size has: the elements of one rank's block where there are blocks."""
    elements = size_bytes // element_bytes(datatype)
    return elements // ranks if _has_blocks(op) else elements


def _has_blocks(op: Op) -> bool:
    return bool({"block", "pair"} & {op.source, op.target})
