"""The main job: a whole process from the command to the XML on disk."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target, against

MOST_S = 4.0
RUNS = 5


def _cases(quick: bool) -> list[Case]:
    return [(1 if quick else RUNS,)]


def _rows(case: Case) -> list[Row]:
    job = {"topology": "a100x32.yaml", "op": "allreduce", "size": "64MiB", "form": "xml"}
    return [Row.of("command", **job, run=run) for run in range(case[0])]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(["measured", "value", "target"])
    for one in measured:
        made.failures += one.failures("a100x32 allreduce 64MiB")
        if not made.failures:
            _fill(made, one.values)
    return [made]


def _fill(made: Table, runs: Sequence[dict[str, float]]) -> None:
    wall_s = statistics.median(run["wall_s"] for run in runs)
    record = runs[0]
    ring_us = record["baselines"]["ring_us"]
    factor = ring_us / record["program_time_us"]
    made.rows = [
        [f"whole process, s (median of {len(runs)})", against(wall_s, MOST_S), f"under {MOST_S:g}"],
        ["fastest and slowest run, s", " to ".join(f"{f(r['wall_s'] for r in runs):.2f}" for f in (min, max)), ""],
        ["CPU seconds (median)", f"{statistics.median(run['cpu_s'] for run in runs):.2f}", ""],
        ["peak memory, MiB (median)", f"{statistics.median(run['peak_mib'] for run in runs):.0f}", ""],
        ["program time, us", f"{record['program_time_us']:.1f}", ""],
        ["bound, us", f"{record['bound_us']:.1f}", ""],
        ["schedule / bound", f"{record['schedule_ratio']:.3f}", ""],
        ["program / bound", against(record["program_ratio"], 1.08), "1.08"],
        ["algbw, busbw, GB/s", f"{record['algbw_GBps']:.1f}, {record['busbw_GBps']:.1f}", ""],
        ["ring baseline, us", f"{ring_us:.1f}", ""],
        ["faster than the ring by", f"{factor:.2f}", "above 1"],
        ["tree baseline, us", f"{record['baselines']['tree_us']:.1f}", ""],
    ]
    made.targets = [
        Target("whole process, s", wall_s, MOST_S),
        Target("program / bound", record["program_ratio"], 1.08),
        Target("time over the ring's", 1 / factor, 1.0),
    ]


PART = Part("main-job", _cases, _rows, _tables)
