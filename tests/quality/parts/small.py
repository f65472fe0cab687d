"""Small sizes on 32 GPUs: schedules against closed-form plans and against the bound."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.units import format_size
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table

OVER_BEST = 1.0
OVER_BOUND = {"allgather": 1.10, "reducescatter": 1.10, "allreduce": 1.25}
SIZES = tuple(1024 << i for i in range(7))
ROUNDING = 1e-9
"""Relative error of times that are sums of floats in another order."""


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("a100x32", "allreduce", 4096)]
    return [(name, op, size) for name in ("a100x32", "a800x32") for op in OVER_BOUND for size in SIZES]


def _rows(case: Case) -> list[Row]:
    topology, op, size_bytes = case
    asked = {"topology": topology, "op": op, "size_bytes": size_bytes}
    return [
        Row.of("command", topology=topology, op=op, size=format_size(size_bytes), form="xml"),
        Row.of("synth", **asked, program=False),
        Row.of("closed_forms", topology=topology, op=op, sizes=[size_bytes]),
    ]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "topology",
            "op",
            "size",
            "bound, us",
            "schedule, us",
            "best closed-form plan, us",
            f"schedule / plan (target {OVER_BEST:.2f})",
            "schedule / bound",
            "target",
            "schedule without a program / bound",
            "program / bound",
        ]
    )
    for one in measured:
        topology, op, size_bytes = one.case
        what = f"{topology} {op} {format_size(size_bytes)}"
        made.failures += one.failures(what)
        if None not in one.values:
            record, alone, plans = one.values
            made.rows.append(_cells(made, what.split(), record, (alone["schedule_us"], plans[str(size_bytes)])))
    return [made]


def _cells(made: Table, case: list[str], record: dict[str, float], other: tuple[float, list[float]]) -> list[str]:
    alone_us, (plan, plan_us) = other
    most, what = OVER_BOUND[case[1]], " ".join(case)
    over_plan = record["schedule_time_us"] / plan_us
    return [
        *case,
        f"{record['bound_us']:.2f}",
        f"{record['schedule_time_us']:.2f}",
        f"{plan_us:.2f} ({plan})",
        made.check(f"{what}: schedule / best closed-form plan ({plan})", over_plan, OVER_BEST + ROUNDING),
        made.check(f"{what}: schedule / bound", record["schedule_ratio"], most),
        f"{most:.2f}",
        f"{alone_us / record['bound_us']:.3f}",
        f"{record['program_ratio']:.3f}",
    ]


PART = Part("small", _cases, _rows, _tables)
