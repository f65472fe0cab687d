"""Halving-doubling on EFLOPS's BiGraph: with its mapping of ranks against plain, and against rings."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.units import format_size
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target

SIZES = (2**16, 2**20, 2**26, 2**30)
DIMS = ((2, 2), (4, 4))
"""Switches on a side, servers on a switch; links between switches as wide as a server."""
NAMES = ("plain", "hdrm", "ring")


def _cases(quick: bool) -> list[Case]:
    return [(dims,) for dims in (DIMS[:1] if quick else DIMS)]


def _rows(case: Case) -> list[Row]:
    (dims,) = case
    return [Row.of("halving", dims=list(dims), sizes=list(SIZES))]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(["BiGraph", "GPUs", "size", "bound, us", *(f"{name} / bound" for name in NAMES), "plain / hdrm"])
    for one in measured:
        label = "x".join(map(str, one.case[0]))
        made.failures += one.failures(label)
        for value in (value for value in one.values if value is not None):
            times = value["times_us"]
            made.targets.append(Target(f"{label}: most flows on a link in a step of hdrm", value["flows"]["hdrm"], 1))
            made.notes.append(f"{label}: plain has up to {value['flows']['plain']} flows on a link in a step")
            for size in map(str, SIZES):
                bound, each = times["bound"][size], [times[name][size] for name in NAMES]
                ratios = [f"{time / bound:.3f}" for time in each]
                made.rows.append(
                    [
                        label,
                        str(value["gpus"]),
                        format_size(int(size)),
                        f"{bound:.1f}",
                        *ratios,
                        f"{each[0] / each[1]:.3f}",
                    ]
                )
    return [made]


PART = Part("eflops", _cases, _rows, _tables)
