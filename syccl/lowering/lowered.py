"""What lowering makes of a schedule: a program to be, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from syccl.lowering.tasks import Task
from syccl.lowering.wiring import Wiring
from syccl.program.targets import Target
from syccl.schedule import Schedule
from syccl.simulate.machine import DryRun


@dataclass(frozen=True, eq=False)
class Lowered:
    """A schedule with the wiring, tasks and recorded order of its program.

    Parameters
    ----------
    seconds
        Simulated time of the program, chunk loop included.
    target
        The runtime that it is for.
    """

    schedule: Schedule
    wiring: Wiring
    tasks: tuple[Task, ...]
    run: DryRun
    seconds: float
    target: Target


@dataclass(frozen=True)
class Unfit:
    """Why a schedule with one wiring is no program for a runtime: which limit it breaks, or that it deadlocks."""

    limit: str
    is_stuck: bool = False
