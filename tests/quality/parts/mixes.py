"""Crux against baselines: how much busier GPUs are, on mixes like the paper's testbed and on a trace-shaped load."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from syccl.traffic.policies import POLICIES
from tests.quality.measured.mixes import ELSEWHERE, MIXES
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table

TESTBED_CASES, TRACE_CASES = 20, 8
OVERSUBSCRIPTIONS = (1, 2)
OTHERS = tuple(name for name in POLICIES if name != "crux")
PAPER = {
    **dict.fromkeys(MIXES, "+8.3 to +12.9 over ecmp"),
    "gpt 48 + 2 x bert 16 + 2 x resnet 8": "+13.9 over ecmp",
    **dict.fromkeys(ELSEWHERE, "+13 to +23 over sincronia, cassini, taccl*"),
}
"""Gain of GPU utilisation that the paper reports (Crux, SIGCOMM 2024), percent."""


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("gpt 32 + 2 x bert 8", 1, 4), ("2,048 GPUs, compact", 1, 1)]
    sized = [(name, TESTBED_CASES) for name in MIXES] + [(name, TRACE_CASES) for name in ELSEWHERE]
    return [(name, ratio, count) for name, count in sized for ratio in OVERSUBSCRIPTIONS]


def _rows(case: Case) -> list[Row]:
    name, ratio, count = case
    each = 1 if name in ELSEWHERE else count
    return [Row.of("mixes", name=name, oversubscription=ratio, first=at, count=each) for at in range(0, count, each)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(["jobs", "oversubscribed", "cases", "jobs at risk", "GPUs busy, crux", *OTHERS, "paper"])
    for one in measured:
        name, ratio, count = one.case
        made.failures += one.failures(f"{name} {ratio}:1")
        if None in one.values:
            continue
        found = [each for value in one.values for each in value]
        gains = [100 * (statistics.fmean(each["crux"] / each[other] for each in found) - 1) for other in OTHERS]
        made.rows.append(
            [
                name,
                f"{ratio}:1",
                str(count),
                f"{statistics.fmean(each['at_risk'] for each in found):.0%}",
                f"{statistics.fmean(each['crux'] for each in found):.1%}",
                *(f"{gain:+.1f}" for gain in gains),
                PAPER[name],
            ]
        )
    return [made]


PART = Part("mixes", _cases, _rows, _tables)
