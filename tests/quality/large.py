"""Large sizes on 32 GPUs: schedule and program against the bound."""

from __future__ import annotations

from tests.quality.case import synth
from tests.quality.tables import Table, Target, against

SCHEDULE = 1.03
PROGRAM = {"allgather": 1.08, "reducescatter": 1.12, "allreduce": 1.08}


def table(_: int) -> Table:
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
    for topology in ("a100x32", "a800x32"):
        for op, most in PROGRAM.items():
            for size in ("256MiB", "1GiB"):
                _add(made, (topology, op, size), most)
    return made


def _add(made: Table, case: tuple[str, str, str], most: float) -> None:
    run = synth(*case)
    record = run.record
    made.rows.append(
        [
            *case,
            f"{record['bound_us']:.1f}",
            against(record["schedule_ratio"], SCHEDULE),
            against(record["program_ratio"], most),
            f"{most}",
            f"{record['baselines']['ring_us'] / record['program_time_us']:.2f}",
            f"{run.wall_s:.1f}",
            f"{run.cpu_s:.1f}",
            f"{run.peak_mib:.0f}",
        ]
    )
    made.targets += [
        Target(f"{' '.join(case)}: schedule / bound", record["schedule_ratio"], SCHEDULE),
        Target(f"{' '.join(case)}: program / bound", record["program_ratio"], most),
    ]
