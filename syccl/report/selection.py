"""In words: for which sizes a runtime takes a file, and the lines that make it do so."""

from __future__ import annotations

import shlex
from pathlib import Path

from syccl.program.selection import Selection
from syccl.units import format_size


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
