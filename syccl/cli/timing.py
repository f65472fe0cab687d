"""Timing programs and schedules, for the verbs that do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syccl.errors import FindingsError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syccl.findings import Finding
    from syccl.program import Program
    from syccl.report.simulation import Timing
    from syccl.schedule import Schedule
    from syccl.topology import Topology


@dataclass(frozen=True, eq=False)
class PlanTimer:
    """A program or schedule on a topology, ready to be timed at many sizes."""

    plan: Program | Schedule
    topology: Topology
    at: Callable[[int], Timing]
    """Size in bytes to its timing; FindingsError where the program deadlocks."""
    profile: str = ""
    """Name of the cost profile that is charged, empty for none."""

    def times(self, sizes: Iterable[int]) -> list[tuple[int, Timing | None]]:
        """Return the timing at each size, None where the program deadlocks."""
        return [(size, self._try(size)) for size in sizes]

    def _try(self, size: int) -> Timing | None:
        try:
            return self.at(size)
        except FindingsError:
            return None


def wrong_in(plan: Program | Schedule, *, size_bytes: int | None = None) -> tuple[Finding, ...]:
    """Return the errors in a program or schedule; ``size_bytes`` is a call at which a program must end."""
    from syccl.findings import errors
    from syccl.program import Program
    from syccl.program.verify import verify_program
    from syccl.schedule.verify import verify_schedule

    if isinstance(plan, Program):
        return errors(verify_program(plan, size_bytes=size_bytes))
    return errors(verify_schedule(plan))


def plan_timer(
    plan: Program | Schedule, topo: str | None, *, apart: bool = False, profile: str | None = None
) -> PlanTimer:
    """Return the timer of a right program or schedule.

    Parameters
    ----------
    topo
        Name or file of the topology; a schedule knows its own, and it must be the same.
    apart
        Whether twin switches and NICs are taken one by one instead of as one of their summed bandwidth.
    profile
        Name of a cost profile to charge a program instead of the topology's own.

    Raises
    ------
    InputError
        When a program comes without a topology or with one that does not fit, a schedule was made for another, or
        comes with a profile.
    """
    from syccl.program import Program
    from syccl.topology.catalog import find_topology, load_topology

    if profile is not None and not isinstance(plan, Program):
        msg = "--profile is what thread blocks and steps of a program cost; a schedule has none: lower it (syccl lower)"
        raise InputError(msg)

    topology = None if topo is None else (find_topology if apart else load_topology)(topo)
    if topology is not None and profile is not None:
        topology = replace(topology, profile=profile)
    return _of_program(plan, topology) if isinstance(plan, Program) else _of_schedule(plan, topology)


def _of_program(program: Program, topology: Topology | None) -> PlanTimer:
    from syccl.report.simulation import Timing
    from syccl.simulate.program_time import ProgramTimer

    if topology is None:
        msg = "a program does not say which topology it runs on; give one with --topo"
        raise InputError(msg)
    timer = ProgramTimer.of(program, topology)

    def at(size_bytes: int) -> Timing:
        run = timer.at(size_bytes)
        return Timing(
            topology, program.collective, size_bytes, run.seconds, run.bottleneck, run.utilisation, topology.profile
        )

    return PlanTimer(program, topology, at, topology.profile)


def _of_schedule(schedule: Schedule, asked: Topology | None) -> PlanTimer:
    from syccl.report.simulation import Timing
    from syccl.simulate.schedule_time import schedule_time
    from syccl.topology.identity import topology_hash

    topology = schedule.topology
    if asked is not None and topology_hash(asked) != topology_hash(topology):
        msg = f"the schedule was made for {topology.name!r}, and --topo {asked.name!r} differs; leave --topo out"
        raise InputError(msg)

    def at(size_bytes: int) -> Timing:
        run = schedule_time(schedule, size_bytes=size_bytes)
        share = run.link_busy_s / run.seconds if run.seconds > 0 else run.link_busy_s
        return Timing(topology, schedule.demand.op.name, size_bytes, run.seconds, run.bottleneck, share)

    return PlanTimer(schedule, topology, at)
