"""What the collectives of a jobs file send: by a ring, direct, by synthesis, by a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.program import Program
    from syccl.schedule import Schedule
    from syccl.topology import Topology
    from syccl.traffic import Collective, Job
    from syccl.traffic.pairs import Sends


def job_sends(job: Job, topology: Topology, file: Path) -> Sends:
    """Return the bytes that each connection of a job carries in an iteration, over all its collectives.

    Raises
    ------
    InputError
        When a collective cannot be done as the file asks; one line that names file, job and collective.
    """
    total: Sends = {}
    for at, collective in enumerate(job.collectives):
        try:
            found = _collective_sends(job, collective, topology, file)
        except InputError as error:
            msg = f"{file}: job {job.name!r}: collectives[{at}]: {error}"
            raise InputError(msg) from None
        for connection, size_bytes in found.items():
            total[connection] = total.get(connection, 0.0) + size_bytes
    return total


def _collective_sends(job: Job, collective: Collective, topology: Topology, file: Path) -> Sends:
    from syccl.traffic.outcome import servers_of
    from syccl.traffic.pairs import direct_sends, ring_sends

    op, size_bytes = collective.op, collective.size_bytes
    if collective.by == "ring":
        return ring_sends(op, size_bytes, servers_of(topology, job.ranks))
    if collective.by == "direct":
        return direct_sends(op, size_bytes, len(job.ranks))
    if collective.by == "synth":
        return _synthesized(job, collective, topology)
    if collective.by in {"halving", "hdrm"}:
        return _halving(job, collective, topology)
    return _of_file(job, collective, file.parent / collective.by)


def _synthesized(job: Job, collective: Collective, topology: Topology) -> Sends:
    from syccl.collective.demand import op_named, require_equal
    from syccl.pipeline import Options, synthesize
    from syccl.topology.damage import subset
    from syccl.topology.parallel import merged
    from syccl.traffic.pairs import plan_sends

    op = op_named(collective.op)
    require_equal(op)
    if sorted(job.ranks) != list(job.ranks):
        msg = "by: synth takes ranks in ascending order"
        raise InputError(msg)
    options = Options(collective.size_bytes, want_program=False)
    found = synthesize(merged(subset(topology, job.ranks)), op, options)
    return plan_sends(found.schedule, collective.size_bytes)


def _halving(job: Job, collective: Collective, topology: Topology) -> Sends:
    from syccl.baselines.halving import halving_schedule, hdrm_order
    from syccl.symmetry.dimensions import islands
    from syccl.topology.damage import subset
    from syccl.topology.parallel import merged
    from syccl.traffic.pairs import plan_sends

    if collective.op != "allreduce":
        msg = f"halving and doubling does allreduce, not {collective.op}"
        raise InputError(msg)
    mine = merged(subset(topology, job.ranks))
    servers = islands(mine)
    order = hdrm_order(mine, servers) if collective.by == "hdrm" else None
    if collective.by == "hdrm" and order is None:
        msg = "by: hdrm needs a BiGraph of powers of two, with no more servers on a switch than switches on a side"
        raise InputError(msg)
    found = halving_schedule(mine, servers, order=order)
    if found is None or sorted(job.ranks) != list(job.ranks):
        msg = "by: halving takes like servers, as many as a power of two, and ranks in ascending order"
        raise InputError(msg)
    return plan_sends(found, collective.size_bytes)


def _of_file(job: Job, collective: Collective, path: Path) -> Sends:
    from syccl.cli.files import read_plan

    plan = read_plan(path).plan
    name, ranks = done_by(plan)
    if (name, ranks) != (collective.op, len(job.ranks)):
        msg = f"{path} does {name} over {ranks} ranks, not {collective.op} over {len(job.ranks)}"
        raise InputError(msg)
    return file_sends(plan, path, collective.size_bytes)


def done_by(plan: Program | Schedule) -> tuple[str, int]:
    """Return the collective that a program or schedule does, and over how many ranks."""
    from syccl.program import Program

    return (plan.collective, plan.size) if isinstance(plan, Program) else (plan.demand.op.name, plan.demand.ranks)


def file_sends(plan: Program | Schedule, path: Path, size_bytes: int) -> Sends:
    """Return the bytes that each connection of a program or schedule carries.

    Raises
    ------
    InputError
        When it is wrong.
    """
    from syccl.findings import errors
    from syccl.program import Program
    from syccl.program.verify import verify_program
    from syccl.schedule.verify import verify_schedule
    from syccl.traffic.pairs import plan_sends

    wrong = errors(verify_program(plan) if isinstance(plan, Program) else verify_schedule(plan))
    if wrong:
        msg = f"{path} is wrong, see syccl {'lint' if isinstance(plan, Program) else 'verify'}: {wrong[0]}"
        raise InputError(msg)
    return plan_sends(plan, size_bytes)
