"""Crux: each mechanism by itself against the best of all decisions, on many small cases."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.quality.measured.crux import LEVELS
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target

CASES, EACH = 1500, 50
MOST_BELOW = 3.0
"""Percent that a mechanism may be below the best on average."""
MECHANISMS = (
    ("paths", "paths, levels fixed", 97.69, {"hash": "hashed"}),
    (
        "priority",
        "priorities, paths fixed",
        97.24,
        {"intensity": "intensity alone", "bssi": "Sincronia", "sebf": "Varys"},
    ),
    (
        "compression",
        f"compression to {LEVELS} levels, order fixed",
        97.12,
        {"pooled": "Sincronia", "balanced": "Varys"},
    ),
)
"""Key, name and what the paper reports (Crux, SIGCOMM 2024, percent of the best); then other ways and their names."""


def _cases(quick: bool) -> list[Case]:
    return [(first, EACH) for first in range(0, EACH if quick else CASES, EACH)]


def _rows(case: Case) -> list[Row]:
    first, count = case
    return [Row.of("crux_cases", first=first, count=count)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(["mechanism", "cases", "% of the best", "at least", "lowest 5 %", "lowest", "paper", "other ways"])
    found = [each for one in measured for value in one.values if value is not None for each in value]
    for one in measured:
        made.failures += one.failures(f"cases from {one.case[0]}")
    for key, name, paper, others in MECHANISMS if found else ():
        mine = sorted(100 * each[key] for each in found)
        mean = statistics.fmean(mine)
        target = Target(f"{name}: % below the best", 100 - mean, MOST_BELOW)
        made.targets.append(target)
        shown = f"{mean:.2f}" if target.met else f"**{mean:.2f}**"
        made.rows.append(
            [
                name,
                str(len(mine)),
                shown,
                f"{100 - MOST_BELOW:g}",
                f"{mine[len(mine) // 20]:.1f}",
                f"{mine[0]:.1f}",
                f"{paper}",
                ", ".join(
                    f"{other} {statistics.fmean(100 * each[at] for each in found):.2f}" for at, other in others.items()
                ),
            ]
        )
    return [made]


PART = Part("crux", _cases, _rows, _tables)
