"""Alltoallv: schedules for unequal matrices against the bound, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.units import format_size
from tests.quality.measured.matrices import MATRICES
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, number
from tests.quality.targets import KIB, MIB

TOPOLOGIES = ("a100x16", "torus2d-4x4", "a100x32", "h800x64", "cluster/7+8")
BLOCKS = (64 * KIB, MIB)
SECONDS = {16: 1.0, 64: 5.0}
"""CPU seconds by the most ranks that they are for."""


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("a100x16", "skewed", MIB)]
    return [(name, kind, block) for name in TOPOLOGIES for kind in MATRICES for block in BLOCKS]


def _rows(case: Case) -> list[Row]:
    topology, kind, block_bytes = case
    return [Row.of("alltoallv", topology=topology, matrix=kind, block_bytes=block_bytes)]


def seconds_target(ranks: int) -> float | None:
    """Return the CPU seconds that a synthesis may take."""
    return next((seconds for most, seconds in SECONDS.items() if ranks <= most), None)


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "topology",
            "matrix",
            "entry, about",
            "GPUs",
            "bound, us",
            "schedule / bound",
            "hops",
            "CPU s",
            "target",
            "plan",
        ]
    )
    for one in measured:
        topology, kind, block_bytes = one.case
        what, (value,) = f"{topology} {kind} {format_size(block_bytes)}", one.values
        made.failures += one.failures(what)
        if value is not None:
            most = seconds_target(value["ranks"])
            made.rows.append(
                [
                    *what.split(),
                    str(value["ranks"]),
                    f"{value['bound_us']:.1f}",
                    f"{value['schedule']:.3f}",
                    number(value["depth"], "d"),
                    made.check(f"{what}: CPU s", value["cpu_s"], most),
                    number(most, "g"),
                    value["winner"],
                ]
            )
    return [made]


PART = Part("alltoallv", _cases, _rows, _tables)
