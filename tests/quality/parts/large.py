"""Large sizes on 32 GPUs: schedule and program against the bound."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table

SCHEDULE = 1.03
PROGRAM = {"allgather": 1.08, "reducescatter": 1.12, "allreduce": 1.08}


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("a100x32", "reducescatter", "1GiB")]
    return [(name, op, size) for name in ("a100x32", "a800x32") for op in PROGRAM for size in ("256MiB", "1GiB")]


def _rows(case: Case) -> list[Row]:
    topology, op, size = case
    return [Row.of("command", topology=topology, op=op, size=size, form="xml")]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "topology",
            "op",
            "size",
            "bound, us",
            f"schedule / bound (target {SCHEDULE})",
            "program / bound",
            "target",
            "ring / program",
            "whole process, s",
            "CPU s",
            "peak, MiB",
        ]
    )
    for one in measured:
        what, op, (record,) = " ".join(one.case), one.case[1], one.values
        made.failures += one.failures(what)
        if record is not None:
            made.rows.append(
                [
                    *one.case,
                    f"{record['bound_us']:.1f}",
                    made.check(f"{what}: schedule / bound", record["schedule_ratio"], SCHEDULE),
                    made.check(f"{what}: program / bound", record["program_ratio"], PROGRAM[op]),
                    f"{PROGRAM[op]}",
                    f"{record['baselines']['ring_us'] / record['program_time_us']:.2f}",
                    f"{record['wall_s']:.1f}",
                    f"{record['cpu_s']:.1f}",
                    f"{record['peak_mib']:.0f}",
                ]
            )
    return [made]


PART = Part("large", _cases, _rows, _tables)
