"""``syccl plan``: many jobs on one fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import damage_options, finite, json_option, topo_option
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.topology import Topology
    from syccl.traffic import Collective, Job
    from syccl.traffic.pairs import Pairs

DEFAULT_LEVELS = 8
MOST_LEVELS = 8
DEFAULT_SECONDS = 3600.0


@click.command("plan", short_help="Simulate many jobs on one fabric.")
@click.argument("file", metavar="JOBS", type=click.Path(path_type=Path))
@topo_option
@damage_options
@click.option(
    "--levels",
    type=click.IntRange(min=1),
    default=DEFAULT_LEVELS,
    show_default=True,
    metavar="N",
    help="Levels of priority that switches have, at most 8.",
)
@click.option(
    "--reserved",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="K",
    help="Levels of these that are kept for other traffic.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    default=DEFAULT_SECONDS,
    show_default=True,
    metavar="S",
    help="Time that is simulated.",
)
@click.option(
    "--policy",
    type=click.Choice(["ecmp", "crux-pa", "crux-ps-pa", "crux"]),
    default="ecmp",
    show_default=True,
    help="How paths and levels are chosen: hashed paths and the levels that jobs state; or by Crux: priorities alone, "
    "with path selection, and with compression to few levels, too.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of the hash of paths and of the orders that Crux tries.",
)
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    file: Path,
    topo: str,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    levels: int,
    reserved: int,
    seconds: float,
    policy: str,
    seed: int,
    as_json: bool,
) -> int:
    """Simulate the jobs of the file JOBS on one fabric.

    Each job repeats computing and communicating; links serve priorities strictly, and equal ones fairly. Flows are
    hashed onto equal-cost paths (ECMP), or Crux chooses paths and priorities. Told are each job's iteration time beside
    that it has alone, how long it takes, how busy GPUs and links are.

    For example: syccl plan examples/jobs.yaml --topo a100x32 --seconds 600
    """
    from syccl.cli.common import show
    from syccl.cli.files import read_text
    from syccl.report.synthesis import to_json
    from syccl.report.traffic import busiest_table, jobs_table, traffic_record
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import degraded
    from syccl.traffic import read_jobs
    from syccl.traffic.outcome import Policy, job_flows, played

    usable = _usable(levels, reserved)
    topology = degraded(find_topology(topo), without=without, halved=halve)
    jobs = read_jobs(read_text(file), source=str(file), topology=topology)
    for job in jobs:
        if policy == "ecmp" and job.level is not None and job.level >= usable:
            msg = f"{file}: job {job.name!r}: level: {job.level} is not one of the {usable} levels (0..{usable - 1})"
            raise InputError(msg)
    flows = [job_flows(topology, job, _pairs(job, topology, file), source=str(file)) for job in jobs]
    outcome = played(topology, jobs, flows, until_s=seconds, policy=Policy(policy, usable, seed))
    if as_json:
        click.echo(to_json(traffic_record(outcome)))
    else:
        show(jobs_table(outcome))
        click.echo()
        show(busiest_table(outcome))
    return 0


def _usable(levels: int, reserved: int) -> int:
    if levels > MOST_LEVELS:
        msg = f"--levels {levels}: a switch has at most {MOST_LEVELS} levels of priority"
        raise InputError(msg)
    if reserved >= levels:
        msg = f"--reserved {reserved}: of {levels} levels at most {levels - 1} can be reserved"
        raise InputError(msg)
    return levels - reserved


def _pairs(job: Job, topology: Topology, file: Path) -> Pairs:
    """Return the bytes from rank to rank of all collectives of a job."""
    total: Pairs = {}
    for at, collective in enumerate(job.collectives):
        try:
            found = _collective_pairs(job, collective, topology, file)
        except InputError as error:
            msg = f"{file}: job {job.name!r}: collectives[{at}]: {error}"
            raise InputError(msg) from None
        for pair, size_bytes in found.items():
            total[pair] = total.get(pair, 0.0) + size_bytes
    return total


def _collective_pairs(job: Job, collective: Collective, topology: Topology, file: Path) -> Pairs:
    from syccl.traffic.outcome import servers_of
    from syccl.traffic.pairs import direct_pairs, ring_pairs

    op, size_bytes = collective.op, collective.size_bytes
    if collective.by == "ring":
        return ring_pairs(op, size_bytes, servers_of(topology, job.ranks))
    if collective.by == "direct":
        return direct_pairs(op, size_bytes, len(job.ranks))
    if collective.by == "synth":
        return _synthesized(job, collective, topology)
    return _of_file(job, collective, file.parent / collective.by)


def _synthesized(job: Job, collective: Collective, topology: Topology) -> Pairs:
    from syccl.collective.demand import op_named, require_equal
    from syccl.pipeline import Options, synthesize
    from syccl.topology.damage import subset
    from syccl.topology.parallel import merged
    from syccl.traffic.pairs import plan_pairs

    op = op_named(collective.op)
    require_equal(op)
    if sorted(job.ranks) != list(job.ranks):
        msg = "by: synth takes ranks in ascending order"
        raise InputError(msg)
    options = Options(collective.size_bytes, want_program=False)
    found = synthesize(merged(subset(topology, job.ranks)), op, options)
    return plan_pairs(found.schedule, collective.size_bytes)


def _of_file(job: Job, collective: Collective, path: Path) -> Pairs:
    from syccl.cli.files import read_plan
    from syccl.findings import errors
    from syccl.program import Program
    from syccl.program.verify import verify_program
    from syccl.schedule.verify import verify_schedule
    from syccl.traffic.pairs import plan_pairs

    plan = read_plan(path).plan
    is_program = isinstance(plan, Program)
    name, ranks = (
        (plan.collective, plan.size) if isinstance(plan, Program) else (plan.demand.op.name, plan.demand.ranks)
    )
    if (name, ranks) != (collective.op, len(job.ranks)):
        msg = f"{path} does {name} over {ranks} ranks, not {collective.op} over {len(job.ranks)}"
        raise InputError(msg)
    wrong = errors(verify_program(plan) if isinstance(plan, Program) else verify_schedule(plan))
    if wrong:
        msg = f"{path} is wrong, see syccl {'lint' if is_program else 'verify'}: {wrong[0]}"
        raise InputError(msg)
    return plan_pairs(plan, collective.size_bytes)
