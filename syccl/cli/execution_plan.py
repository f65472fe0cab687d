"""What verbs do with execution plans of MSCCL++."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import show
from syccl.cli.outputs import SCHEDULE, checked_output
from syccl.errors import InputError
from syccl.program.mscclpp.json_file import is_plan as is_plan
from syccl.program.mscclpp.json_file import plan_lines as plan_lines
from syccl.program.mscclpp.json_file import read_plan_json as read_plan_json

if TYPE_CHECKING:
    from syccl.program.mscclpp.ir import Plan
    from syccl.report.execution_plan import Planned
    from syccl.schedule import Schedule

_NAMES = frozenset({"mscclpp", "msccl++"})


def is_mscclpp(target: str) -> bool:
    """Return whether ``--target`` asks for an execution plan."""
    return target.lower() in _NAMES


def check_asked(protocol: str, collective: str) -> None:
    """Check that plans of the protocol are made, and for the collective.

    Raises
    ------
    InputError
        When they are not.
    """
    from syccl.lowering.mscclpp import check_collective

    check_collective(collective)
    if protocol.lower() != "simple":
        msg = f"execution plans are made for Simple, not {protocol}: packets are not written"
        raise InputError(msg)


def check_outputs(outputs: Sequence[Path], *, force: bool) -> None:
    """Check that one file is to be written and can be.

    Raises
    ------
    InputError
        When it is not so.
    """
    if len(outputs) != 1:
        msg = "--target mscclpp writes one file; name it with -o FILE.json"
        raise InputError(msg)
    checked_output(outputs[0], suffixes=(SCHEDULE,), force=force)


def described_plan(plan: Plan) -> str:
    """Return in words what a plan is."""
    from syccl.report.tables import counted

    kind = "in place" if plan.in_place else "out of place"
    return f"execution plan, {plan.collective} over {counted(plan.size, 'rank')}, {kind}"


def planned(schedule: Schedule, *, size_bytes: int, output: Path) -> Planned:
    """Return the plan of a schedule, proved right, with what is told of it."""
    from syccl.lowering.mscclpp import plan_of
    from syccl.report.execution_plan import Planned
    from syccl.simulate.schedule_time import schedule_time

    plan = plan_of(schedule, size_bytes=size_bytes)
    return Planned(schedule, plan, size_bytes, schedule_time(schedule, size_bytes=size_bytes).seconds, output)


def show_planned(made: Planned, *, as_json: bool) -> None:
    """Print the account of a plan."""
    from syccl.report import execution_plan as report
    from syccl.report.synthesis import to_json

    if as_json:
        click.echo(to_json(report.record(made)))
    else:
        show(report.table(made))
        click.echo("\n".join(report.next_steps(made)))
