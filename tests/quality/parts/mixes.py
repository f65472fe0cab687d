"""Crux against baselines: how much busier GPUs are, on mixes like the paper's testbed and on a trace-shaped load."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from syccl.traffic.policies import POLICIES
from tests.quality.measured.mixes import ELSEWHERE, MIXES
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import ABSENT, Table, Target

TESTBED_CASES, TRACE_CASES = 20, 8
OVERSUBSCRIPTIONS = (1, 2)
OTHERS = tuple(name for name in POLICIES if name != "crux")
PAPER = {
    **dict.fromkeys(MIXES, "+8.3 to +12.9 over ecmp"),
    "gpt 48 + 2 x bert 16 + 2 x resnet 8": "+13.9 over ecmp",
    **dict.fromkeys(ELSEWHERE, "+13 to +23 over sincronia, cassini, taccl-star"),
}
"""Gain of GPU utilisation that the paper reports (Crux, SIGCOMM 2024), percent."""


MODELS = ("gpt", "bert", "resnet")
PAPER_TIMES = {
    **dict.fromkeys(MIXES, "gpt -11 to -25, bert 0 to +3"),
    "gpt 48 + 2 x bert 16 + 2 x resnet 8": "gpt -18, bert -15, resnet +2",
}
"""Change of completion times that the paper reports, percent."""
HOUR = "an hour"
HOUR_CPU_S = 60.0
TIMED = ("ecmp", "crux")


def _cases(quick: bool) -> list[Case]:
    timed = [(HOUR, policy) for policy in TIMED]
    if quick:
        return [("gpt 32 + 2 x bert 8", 1, 4), ("2,048 GPUs, compact", 1, 1), *timed]
    sized = [(name, TESTBED_CASES) for name in MIXES] + [(name, TRACE_CASES) for name in ELSEWHERE]
    return [(name, ratio, count) for name, count in sized for ratio in OVERSUBSCRIPTIONS] + timed


def _rows(case: Case) -> list[Row]:
    if case[0] == HOUR:
        return [Row.of("hour", policy=case[1], seed=0)]
    name, ratio, count = case
    each = 1 if name in ELSEWHERE else count
    return [Row.of("mixes", name=name, oversubscription=ratio, first=at, count=each) for at in range(0, count, each)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    timed = [one for one in measured if one.case[0] == HOUR]
    mixed = [one for one in measured if one.case[0] != HOUR]
    return [_gains(mixed), _iterations([one for one in mixed if one.case[0] in MIXES]), _seconds(timed)]


def _gains(measured: Sequence[Measured]) -> Table:
    """Return by how many percent GPUs are busier with Crux than with each other policy."""
    made = Table(["jobs", "oversubscribed", "cases", "jobs at risk", "GPUs busy, crux", *OTHERS, "paper"])
    for one in measured:
        name, ratio, count = one.case
        made.failures += one.failures(f"{name} {ratio}:1")
        if None in one.values:
            continue
        found = [each for value in one.values for each in value]
        busy = [each["busy"] for each in found]
        gains = [100 * (statistics.fmean(each["crux"] / each[other] for each in busy) - 1) for other in OTHERS]
        made.rows.append(
            [
                name,
                f"{ratio}:1",
                str(count),
                f"{statistics.fmean(each['at_risk'] for each in found):.0%}",
                f"{statistics.fmean(each['crux'] for each in busy):.1%}",
                *(f"{gain:+.1f}" for gain in gains),
                PAPER[name],
            ]
        )
    return made


def _iterations(measured: Sequence[Measured]) -> Table:
    """Return by how many percent iterations of each model get longer with Crux than with hashing alone."""
    made = Table(["iteration with crux, change from ecmp, %", "oversubscribed", *MODELS, "paper: completion time"])
    for one in measured:
        name, ratio, _ = one.case
        found = [each["iterations"] for value in one.values if value is not None for each in value]
        if found:
            cells = []
            for model in MODELS:
                ratios = [each[model] for each in found if model in each]
                cells.append(f"{100 * (statistics.fmean(ratios) - 1):+.1f}" if ratios else ABSENT)
            made.rows.append([name, f"{ratio}:1", *cells, PAPER_TIMES[name]])
    return made


def _seconds(measured: Sequence[Measured]) -> Table:
    """Return how long an hour of many jobs takes."""
    made = Table(
        ["an hour, policy", "jobs", "GPUs", "most that contend", "iterations", "to decide, CPU s", "to simulate, CPU s"]
    )
    for one in measured:
        policy, (value,) = one.case[1], one.values
        made.failures += one.failures(f"an hour with {policy}")
        if value is not None:
            counts = (f"{value[name]:,}" for name in ("jobs", "gpus", "contending", "iterations"))
            total = value["decide_s"] + value["simulate_s"]
            made.targets.append(Target(f"an hour with {policy}: CPU s", total, HOUR_CPU_S))
            made.rows.append([policy, *counts, f"{value['decide_s']:.1f}", f"{value['simulate_s']:.1f}"])
    return made


PART = Part("mixes", _cases, _rows, _tables)
