"""Clusters and sizes of which TE-CCL's authors publish results, with their parameters.

``data/teccl.csv`` holds finish times and solver seconds of ``experiments/output_provided`` of
github.com/microsoft/TE-CCL (Gurobi, on its authors' server). Their sizes are powers of ten.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, number

_FILE = Path(__file__).parent.parent / "data" / "teccl.csv"
CASES = tuple((name, op) for op in ("allgather", "alltoall") for name in ("ndv2x2", "ndv2x4", "dgx2x2"))
SIZES = {1000: "1KB", 64_000: "64KB", 10**6: "1MB", 16 * 10**6: "16MB", 256 * 10**6: "256MB", 10**9: "1GB"}
OPTIMUM = {
    ("ndv2x2", "allgather"): 25.0,
    ("ndv2x4", "allgather"): 50 / 3,
    ("dgx2x2", "allgather"): 4000 / 31,
    ("ndv2x2", "alltoall"): 25 / 8,
    ("ndv2x4", "alltoall"): 25 / 12,
    ("dgx2x2", "alltoall"): 12.5,
}
"""Cuts, GB/s, with all GPUs."""
PARTLY_SERVED = "ndv2x2"
"""Of its published runs one GPU is left out, so they cannot be compared with."""
AT_LEAST_FROM, AT_LEAST, SMALLEST_MOST = 64_000, 1.0005, 1.03
"""Published figures count to three digits."""
OPTIMUM_MOST, OPTIMUM_FROM = 1.02, 256 * 10**6
FASTER_BY = 100


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("dgx2x2", "allgather", 10**9), ("ndv2x4", "allgather", 64_000), ("dgx2x2", "alltoall", 1000)]
    return [(*case, size) for case in CASES for size in SIZES]


def _rows(case: Case) -> list[Row]:
    name, op, size_bytes = case
    asked = {"topology": f"published/{name}", "op": op}
    return [
        Row.of("synth", **asked, size_bytes=size_bytes, program=False),
        Row.of("command", **asked, size=f"{size_bytes}B", form="json"),
    ]


@lru_cache(maxsize=1)
def _published() -> dict[Case, dict[str, tuple[float, float]]]:
    """Return finish time in us and solver seconds by case and variant."""
    found: dict[Case, dict[str, tuple[float, float]]] = {}
    with _FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            case = (row["cluster"], row["op"], int(row["size_bytes"]))
            found.setdefault(case, {})[row["variant"]] = (float(row["finish_us"]), float(row["solver_s"]))
    return found


def best(case: Case) -> tuple[float, float] | None:
    """Return finish time and solver seconds of the published run of the best algbw."""
    return min(_published().get(case, {}).values(), default=None)


def time_target(case: Case, bound_us: float) -> float | None:
    """Return the largest good ratio of our time to the published one, or to the bound where that lies above it.

    Time steps of some published runs leave latencies out, so that they claim what no schedule can reach.
    """
    name, _, size_bytes = case
    other = best(case)
    if other is None or name == PARTLY_SERVED:
        return None
    return (AT_LEAST if size_bytes >= AT_LEAST_FROM else SMALLEST_MOST) * max(1.0, bound_us / other[0])


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "topology",
            "op",
            "size",
            "optimum, GB/s",
            "algbw, GB/s",
            "published",
            "time / published",
            "target",
            "schedule / bound",
            "optimum / algbw",
            "in-process, CPU s",
            "published, s",
            f"{FASTER_BY} x ours / published (target 1)",
            "whole process, s",
        ]
    )
    for one in measured:
        name, op, size_bytes = one.case
        what = f"{name} {op} {SIZES[size_bytes]}"
        made.failures += one.failures(what)
        if one.values[0] is not None:
            made.rows.append([*what.split(), *_cells(made, what, one)])
    return [made]


def _cells(made: Table, what: str, one: Measured) -> list[str]:
    case, (ours, whole) = one.case, one.values
    size_bytes, other = case[2], best(case)
    rate = size_bytes / ours["schedule_us"] / 1e3
    most = time_target(case, ours["bound_us"])
    over = None if other is None or case[0] == PARTLY_SERVED else ours["schedule_us"] / other[0]
    return [
        f"{OPTIMUM[case[:2]]:.2f}",
        f"{rate:.3f}",
        "-" if other is None else f"{size_bytes / other[0] / 1e3:.3f}" + (" (15 GPUs)" if over is None else ""),
        made.check(f"{what}: time / published", over, most),
        number(most, ".4f"),
        f"{ours['schedule']:.3f}",
        _over_optimum(made, what, one, rate),
        f"{ours['cpu_s']:.2f}",
        "-" if other is None else f"{other[1]:g}",
        made.check(f"{what}: {FASTER_BY} x CPU s / published", _slowness(ours, other), 1.0),
        number(None if whole is None else whole["wall_s"], ".2f"),
    ]


def _over_optimum(made: Table, what: str, one: Measured, rate: float) -> str:
    """Return optimum over algbw; a target where the published runs cannot be compared with."""
    name, op, size_bytes = one.case
    is_target = name == PARTLY_SERVED and size_bytes >= OPTIMUM_FROM
    return made.check(f"{what}: optimum / algbw", OPTIMUM[name, op] / rate, OPTIMUM_MOST if is_target else None)


def _slowness(ours: dict[str, Any], other: tuple[float, float] | None) -> float | None:
    return None if other is None else FASTER_BY * ours["cpu_s"] / other[1]


PART = Part("published", _cases, _rows, _tables)
