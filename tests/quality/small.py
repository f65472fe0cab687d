"""Small sizes on 32 GPUs: schedules against closed-form plans and against the bound."""

from __future__ import annotations

from syccl.baselines.plans import closed_form_plans
from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.report.figures import US
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from syccl.units import format_size
from tests.quality.case import synth
from tests.quality.tables import Table, Target, against

OVER_BEST = 1.0
OVER_BOUND = {"allgather": 1.10, "reducescatter": 1.10, "allreduce": 1.25}
SIZES = tuple(1024 << i for i in range(7))
ROUNDING = 1e-9
"""Relative error of times that are sums of floats in another order."""


def table(_: int) -> Table:
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
    for name in ("a100x32", "a800x32"):
        for op in OVER_BOUND:
            for size in SIZES:
                _add(made, (name, op), size)
    return made


def closed_forms_us(name: str, op: str, size_bytes: int) -> dict[str, float]:
    """Schedule times of the plans that one can write down, by name."""
    topology = load_topology(name)
    plans = closed_form_plans(
        topology, op_named(op), islands(topology), size_bytes=size_bytes, group=find_group(topology)
    )
    return {plan: schedule_time(made, size_bytes=size_bytes).seconds * US for plan, made in plans.items()}


def _alone_us(name: str, op: str, size_bytes: int) -> float:
    """Schedule time where no program is wanted, so that nothing but schedule time decides."""
    options = Options(size_bytes=size_bytes, want_program=False)
    return synthesize(load_topology(name), op_named(op), options).schedule_time_s * US


def _add(made: Table, case: tuple[str, str], size_bytes: int) -> None:
    size = format_size(size_bytes)
    record = synth(*case, size).record
    ours_us, most = record["schedule_time_us"], OVER_BOUND[case[1]]
    plan, plan_us = min(closed_forms_us(*case, size_bytes).items(), key=lambda item: item[1])
    over_plan = ours_us / plan_us
    made.rows.append(
        [
            *case,
            size,
            f"{record['bound_us']:.2f}",
            f"{ours_us:.2f}",
            f"{plan_us:.2f} ({plan})",
            against(over_plan, OVER_BEST + ROUNDING),
            against(record["schedule_ratio"], most),
            f"{most:.2f}",
            f"{_alone_us(*case, size_bytes) / record['bound_us']:.3f}",
            f"{record['program_ratio']:.3f}",
        ]
    )
    what = f"{' '.join(case)} {size}"
    made.targets += [
        Target(f"{what}: schedule / best closed-form plan ({plan})", over_plan, OVER_BEST + ROUNDING),
        Target(f"{what}: schedule / bound", record["schedule_ratio"], most),
    ]
