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
    made = [_confusion(pattern, [one for one in measured if one.case[0] == pattern]) for pattern in PATTERNS]
    made[-1].notes += [
        f"{CLUSTER}, {SLOWNESS:g} times slower, {NOISE:.0%} noise, {WINDOWS} windows; named: kinds of all suspects of "
        "the one fault that was found",
        "right: one fault, whose suspects hold the slow part and are no more than the connections tell apart; wrong: "
        "anything else, another part of the same kind too",
    ]
    return made


def _confusion(pattern: str, measured: Sequence[Measured]) -> Table:
    """A row for each kind of fault, a column for everything that was named."""
    right: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    wrong: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for one in measured:
        for value in (value for value in one.values if value is not None):
            for kind, counts in value.items():
                for name, (good, bad) in counts.items():
                    right[kind][name] += good
                    wrong[kind][name] += bad
    names = list(dict.fromkeys(name for kind in KINDS for name in right[kind]))
    table = Table(["slow part", "cases", "right %", *(f"named: {name}" for name in names)], title=pattern)
    for one in measured:
        table.failures += one.failures(f"{pattern} from {one.case[1]}")
    for kind in KINDS:
        cases = right[kind].total() + wrong[kind].total()
        if cases:
            share = wrong[kind].total() / cases
            what = "false alarms" if kind == "healthy" else "wrong"
            limit = MOST_ALARMS if kind == "healthy" else MOST_WRONG
            table.targets.append(Target(f"{pattern}, {kind}: share {what}", share, limit))
            cells = [_cell(right[kind][name], wrong[kind][name]) for name in names]
            table.rows.append([kind, str(cases), f"{100 - 100 * share:.2f}", *cells])
    return table


def _cell(right: int, wrong: int) -> str:
    return f"{right} + {wrong} wrong" if wrong else str(right)


PART = Part("diagnosis", _cases, _rows, _tables)
