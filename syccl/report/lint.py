"""What ``syccl lint`` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from syccl.collective.datatypes import ELEMENT_BYTES
from syccl.findings import Finding
from syccl.program import Program
from syccl.program.lint import Lint
from syccl.program.selection import Selection, selection
from syccl.program.targets import Target
from syccl.report.tables import Table
from syccl.units import format_size

_SMALLEST, _LARGEST = 10, 32
"""Powers of two that are asked for: 1 KiB to 4 GiB."""
_ENDLESS = 1 << 50


def findings_lines(found: Lint) -> list[str]:
    """Return one line for each finding, with the runtimes that it is about where these are not all that were asked."""
    return [f"{finding}{_about(names, found.targets)}" for finding, names in found.findings]


def _about(names: Sequence[str], targets: Sequence[Target]) -> str:
    return f" ({', '.join(names)})" if len(names) < len(targets) else ""


def verdict_table(found: Lint) -> Table:
    """Return for every runtime whether it loads the file and runs what it says, and how much was found."""
    rows = []
    for target in found.targets:
        mine = [finding.severity for finding, names in found.findings if target.name in names]
        counts = [str(mine.count(severity)) for severity in ("error", "warning", "note")]
        rows.append((target.name, found.verdict(target), *counts))
    return Table(rows, ("runtime", "usable", "errors", "warnings", "notes"), frozenset({2, 3, 4}))


def selection_table(found: Lint) -> Table:
    """Return for which sizes each runtime takes the file, by bytes of an element; equal rows are one."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for target, chosen, width, types in _selections(found):
        sizes = (
            f"{types} ({width}B)",
            f"multiples of {format_size(chosen.unit_bytes)}{_range(chosen)}",
            _powers(chosen),
        )
        rows.setdefault(sizes, []).append(target.name)
    listed = [(", ".join(names), *sizes) for sizes, names in rows.items()]
    return Table(listed, ("runtime", "element type", "selected for", "powers of two from 1KiB to 4GiB"))


def _selections(found: Lint) -> Iterator[tuple[Target, Selection, int, str]]:
    """Yield what each runtime selects; nothing where there is no program, or one without a number of chunks."""
    if found.program is None or found.program.chunks < 1:
        return
    for target in found.targets:
        for width, types in _types_by_width():
            yield target, selection(found.program, types[0], target), width, "/".join(types)


def _types_by_width() -> list[tuple[int, list[str]]]:
    ordered = sorted(ELEMENT_BYTES, key=lambda name: ELEMENT_BYTES[name])
    return [(width, list(names)) for width, names in groupby(ordered, key=lambda name: ELEMENT_BYTES[name])]


def _range(chosen: Selection) -> str:
    low = f" from {format_size(chosen.min_bytes)}" if chosen.min_bytes > 1 else ""
    return low + (f" to {format_size(chosen.max_bytes)}" if 0 < chosen.max_bytes < _ENDLESS else "")


def _powers(chosen: Selection) -> str:
    taken = [1 << power for power in range(_SMALLEST, _LARGEST + 1) if chosen.takes(1 << power)]
    return f"{format_size(taken[0])} to {format_size(taken[-1])}" if taken else "none"


def record(name: str, found: Lint) -> dict[str, object]:
    """Return everything under stable names, for ``--json``; sizes are in bytes."""
    program: Program | None = found.program
    return {
        "file": name,
        "collective": None if program is None else program.collective,
        "ranks": None if program is None else program.size,
        "targets": {target.name: {"usable": found.verdict(target) == "yes"} for target in found.targets},
        "findings": [_finding(finding, names) for finding, names in found.findings],
        "selected": [
            {
                "target": target.name,
                "element_bytes": width,
                "multiple_of_bytes": chosen.unit_bytes,
                "min_bytes": chosen.min_bytes,
                "max_bytes": chosen.max_bytes or None,
                "smallest_power_of_two": chosen.smallest_power_of_two,
            }
            for target, chosen, width, _ in _selections(found)
        ],
    }


def _finding(finding: Finding, names: Sequence[str]) -> dict[str, object]:
    return {**asdict(finding), "targets": list(names)}
