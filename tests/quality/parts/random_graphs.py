"""Quality on random graphs, where no symmetry and no known plan helps."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from tests.quality.measured.random_graph import EXPLAINED, Outcome
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target

GRAPHS = 100
OPS = ("allgather", "reducescatter", "allreduce")
SHOWN = 10


def _cases(quick: bool) -> list[Case]:
    return [(seed, op) for seed in range(2 if quick else GRAPHS) for op in OPS]


def _rows(case: Case) -> list[Row]:
    seed, op = case
    return [Row.of("random", seed=seed, op=op)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "op",
            "graphs",
            *_three("schedule / bound"),
            *_three("program / bound"),
            "ring / program: median",
            "graphs on which the ring is faster",
            "CPU s: median",
            "worst",
        ]
    )
    made.failures += [text for one in measured for text in one.failures("seed {} {}".format(*one.case))]
    outcomes = [Outcome(**value) for one in measured for value in one.values if value is not None]
    for op in OPS:
        done = [one for one in outcomes if one.op == op]
        if done:
            made.rows.append([op, str(len(done)), *_ratios(done), *_ring(done), *_seconds(done)])
    made.targets.append(Target("crashes", float(len(made.failures)), 0.0))
    made.notes += _explanations(outcomes)
    return [made]


def _three(what: str) -> list[str]:
    return [f"{what}: median", "90 %", "worst"]


def _ratios(done: list[Outcome]) -> list[str]:
    return [*_spread([one.schedule for one in done]), *_spread([one.program for one in done])]


def _spread(ratios: list[float]) -> list[str]:
    return [f"{value:.3f}" for value in (statistics.median(ratios), _percentile(ratios, 0.9), max(ratios))]


def _ring(done: list[Outcome]) -> list[str]:
    factors = [one.ring / one.program for one in done if one.ring is not None]
    if not factors:
        return ["-", "-"]
    return [f"{statistics.median(factors):.2f}", f"{sum(factor < 1 for factor in factors)} of {len(factors)}"]


def _seconds(done: list[Outcome]) -> list[str]:
    seconds = [one.cpu_s for one in done]
    return [f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]


def _percentile(values: list[float], share: float) -> float:
    """The least value that at least this share of all does not exceed."""
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def _explanations(outcomes: list[Outcome]) -> list[str]:
    by_ratio = sorted(outcomes, key=lambda one: -one.worst)
    above = [one for one in by_ratio if one.worst > EXPLAINED]
    causes = Counter(one.cause for one in above)
    notes = [f"{len(above)} of {len(outcomes)} runs are above {EXPLAINED}"]
    notes[0] += "".join(f"; {count} mostly by {cause}" for cause, count in causes.most_common())
    return notes + [_explanation(one) for one in by_ratio[: max(SHOWN, len(above))]]


def _explanation(one: Outcome) -> str:
    ratios = f"schedule {one.schedule:.3f}, program {one.program:.3f}"
    parts = " x ".join(f"{name} {factor:.3f}" for name, factor in one.factors.items())
    note = f"seed {one.seed} {one.op}, {one.ranks} GPUs: {ratios} = {parts}"
    note += f"; latency bound {one.latency:.3f}, {one.chunks} chunks, {one.plan}"
    if one.any_route is not None:
        note += f"; the best trees over any routes: {one.any_route:.3f}"
    if one.lifted is not None:
        note += f"; with thread blocks as fast as links: program {one.lifted:.3f}"
    return note


PART = Part("random", _cases, _rows, _tables)
