"""Whether faults put into made-up measurements are named, and nothing where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.quality.measured.diagnosis import CLUSTER, KINDS, NOISE, SLOWNESS, WINDOWS
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target

PATTERNS = {"ring": (500, 100, 20), "alltoall": (100, 5, 2)}
"""Cases of each kind of fault, how many a row has, and how many a quick run."""
MOST_WRONG, MOST_ALARMS = 0.02, 0.01


def _cases(quick: bool) -> list[Case]:
    return [
        (pattern, first, few if quick else each)
        for pattern, (count, each, few) in PATTERNS.items()
        for first in range(0, few if quick else count, each)
    ]


def _rows(case: Case) -> list[Row]:
    pattern, first, count = case
    return [Row.of("diagnosed", pattern=pattern, first=first, count=count)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = []
    for pattern in PATTERNS:
        mine = [one for one in measured if one.case[0] == pattern]
        made.append(_confusion(pattern, mine))
    return made


def _confusion(pattern: str, measured: Sequence[Measured]) -> Table:
    """A row for each kind of fault: how often it was named rightly, and what was named instead."""
    total: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for one in measured:
        for value in (value for value in one.values if value is not None):
            for kind, counts in value.items():
                total[kind].update(counts)
    others = sorted({name for counts in total.values() for name in counts} - {"right"})
    table = Table(["slow part", "cases", "right %", *(f"named: {name}" for name in others)], title=pattern)
    for one in measured:
        table.failures += one.failures(f"{pattern} from {one.case[1]}")
    for kind, counts in total.items():
        cases = counts.total()
        if cases:
            wrong = 1 - counts["right"] / cases
            what = "false alarms" if kind == "healthy" else "wrong"
            limit = MOST_ALARMS if kind == "healthy" else MOST_WRONG
            table.targets.append(Target(f"{pattern}, {kind}: share {what}", wrong, limit))
            table.rows.append([kind, str(cases), f"{100 - 100 * wrong:.2f}", *(str(counts[name]) for name in others)])
    table.notes.append(
        f"{pattern} on {CLUSTER}: {SLOWNESS:g} times slower, {NOISE:.0%} noise, {WINDOWS} windows; right: one fault, "
        "whose suspects hold it and are no more than the connections tell apart"
    )
    return table


PART = Part("diagnosis", _cases, _rows, _tables)
