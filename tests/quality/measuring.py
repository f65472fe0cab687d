"""Rows become results: each in a fresh process, kept as soon as it is done."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.quality.measured.process import Run, run
from tests.quality.rows import Result, Row
from tests.quality.state import State


@dataclass(frozen=True)
class Limits:
    """Rows at the same time, CPU seconds for each, and seconds after which none begins."""

    jobs: int = 1
    row_s: float = 120.0
    stop_after_s: float | None = None


def measure_all(rows: Sequence[Row], state: State, limits: Limits) -> None:
    """Measure rows and keep their results, until all are done or time is up."""
    began = time.monotonic()

    def one(row: Row) -> tuple[Row, Result] | None:
        if limits.stop_after_s is not None and time.monotonic() - began > limits.stop_after_s:
            return None
        return row, measure(row, limit_s=limits.row_s)

    with ThreadPoolExecutor(limits.jobs) as pool:
        for count, made in enumerate(pool.map(one, rows), 1):
            if made is not None:
                row, result = made
                state.put(row, result)
                said = result.error or "done"
                sys.stderr.write(f"{count}/{len(rows)} {row}: {said} ({result.cpu_s:.1f} CPU s)\n")


def measure(row: Row, *, limit_s: float) -> Result:
    """Measure one row in a process of its own."""
    return as_result(run(["-m", "tests.quality.worker", row.key], limit_s=limit_s))


def as_result(made: Run) -> Result:
    """Return what a worker's process said; one that ended without an answer is an error."""
    took = {"wall_s": made.wall_s, "cpu_s": made.cpu_s, "peak_mib": made.peak_mib}
    try:
        said = json.loads(made.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        error = made.stderr.strip().splitlines()[-1:] or [f"ended with {made.code}"]
        return Result(None, error[0][:500], **took)
    return Result(said.get("value"), str(said.get("error", ""))[:500], **took)
