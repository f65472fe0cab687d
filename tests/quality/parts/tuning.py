"""The fewest programs for a sweep over sizes, and how long it takes to find them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, number
from tests.quality.targets import KIB, MIB

SIZES = tuple(KIB << i for i in range(23))
TOPOLOGIES = ("a100x32", "dgx1-v100", "torus2d-4x4")
OPS = ("allgather", "reducescatter", "allreduce", "alltoall")
MOST = 1.02
_ROUNDING = 1e-9


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("a100x8", "allgather", (MIB, 4 * MIB, 16 * MIB))]
    return [(name, op, SIZES) for name in TOPOLOGIES for op in OPS]


def _rows(case: Case) -> list[Row]:
    topology, op, sizes = case
    return [Row.of("tuned", topology=topology, op=op, sizes=list(sizes))]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "topology",
            "op",
            "sizes",
            "served",
            "programs tried",
            "programs needed",
            f"worst time / best (target {MOST})",
            "worst time / bound",
            "CPU s",
        ]
    )
    for one in measured:
        topology, op, _ = one.case
        made.failures += one.failures(f"{topology} {op}")
        for value in one.values:
            if value is not None:
                over = made.check(f"{topology} {op}: time / best", value["over_best"], MOST + _ROUNDING)
                counts = [str(value[name]) for name in ("sizes", "served", "candidates", "schedules")]
                made.rows.append([topology, op, *counts, over, number(value["over_bound"]), f"{value['cpu_s']:.1f}"])
    return [made]


PART = Part("tuning", _cases, _rows, _tables)
