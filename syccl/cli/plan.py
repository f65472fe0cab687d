"""``syccl plan``: many jobs on one fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import Seconds, damage_options, finite, json_option, topo_option
from syccl.cli.deploying import deploy_options, read_deployment
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.topology import Topology
    from syccl.traffic import Job
    from syccl.traffic.pairs import Sends
    from syccl.traffic.policies import Mix

DEFAULT_LEVELS = 8
MOST_LEVELS = 8
DEFAULT_SECONDS = 3600.0
POLICIES = ("ecmp", "intensity", "sincronia", "varys", "cassini", "taccl-star", "crux-pa", "crux-ps-pa", "crux")
ALL = "all"


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
    type=Seconds(min=0, min_open=True),
    callback=finite,
    default=DEFAULT_SECONDS,
    show_default=True,
    metavar="TIME",
    help="Time that is simulated, such as 10min or a number of seconds.",
)
@click.option(
    "--policy",
    type=click.Choice([*POLICIES, ALL]),
    default=POLICIES[0],
    show_default=True,
    help="How paths and levels are chosen. ecmp: hashed paths, levels that jobs state. intensity, sincronia, varys, "
    "cassini, taccl-star: baselines. crux-pa, crux-ps-pa, crux: Crux's priorities alone, with path selection, with "
    "compression to few levels, too. all: a table that compares these.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of hashes, of arrivals that are drawn, and of the orders that Crux tries.",
)
@deploy_options
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
    **deploying: object,
) -> int:
    """Simulate the jobs of the file JOBS on one fabric.

    Each job repeats computing and communicating; links serve priorities strictly, and equal ones fairly. Flows are
    hashed onto equal-cost paths (ECMP), or a policy chooses paths and priorities. Told are each job's iteration time
    beside that it has alone, how long it takes, how busy GPUs and links are.

    For example: syccl plan examples/jobs.yaml --topo a100x32 --seconds 600
    """
    from syccl.cli.common import show
    from syccl.cli.files import read_text
    from syccl.cli.job_sends import job_sends
    from syccl.report.synthesis import to_json
    from syccl.report.traffic import busiest_table, comparison_record, comparison_table, jobs_table, traffic_record
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import degraded
    from syccl.traffic import read_jobs
    from syccl.traffic.outcome import played
    from syccl.traffic.policies import Policy, decide

    usable = _usable(levels, reserved)
    deployment = read_deployment((usable, reserved), seed, deploying)
    if deployment is not None and policy == ALL:
        msg = "--deploy takes one policy, not all"
        raise InputError(msg)
    topology = degraded(find_topology(topo), without=without, halved=halve)
    jobs = read_jobs(read_text(file), source=str(file), topology=topology, seed=seed)
    if policy in {"ecmp", ALL}:
        _check_levels(jobs, usable, file)
    sends = [job_sends(job, topology, file) for job in jobs]
    mix = _mix(jobs, sends, topology, file)
    names = POLICIES if policy == ALL else (policy,)
    decisions = {name: decide(mix, Policy(name, usable, seed)) for name in names}
    outcomes = {name: played(mix, decision, until_s=seconds) for name, decision in decisions.items()}
    if deployment is not None:
        deployment.write(mix, decisions[policy], sends, policy=policy)
    if policy == ALL:
        if as_json:
            click.echo(to_json(comparison_record(outcomes)))
        else:
            show(comparison_table(outcomes))
    elif as_json:
        click.echo(to_json(traffic_record(outcomes[policy])))
    else:
        show(jobs_table(outcomes[policy]))
        click.echo()
        show(busiest_table(outcomes[policy]))
    return 0


def _mix(jobs: tuple[Job, ...], sends: list[Sends], topology: Topology, file: Path) -> Mix:
    """Return the jobs with the flows of their collectives."""
    from syccl.traffic.outcome import job_flows
    from syccl.traffic.pairs import pairs_of
    from syccl.traffic.policies import Mix

    flows = [job_flows(topology, job, pairs_of(each), source=str(file)) for job, each in zip(jobs, sends, strict=True)]
    return Mix(topology, jobs, tuple(flows))


def _check_levels(jobs: tuple[Job, ...], usable: int, file: Path) -> None:
    for job in jobs:
        if job.level is not None and job.level >= usable:
            msg = f"{file}: job {job.name!r}: level: {job.level} is not one of the {usable} levels (0..{usable - 1})"
            raise InputError(msg)


def _usable(levels: int, reserved: int) -> int:
    if levels > MOST_LEVELS:
        msg = f"--levels {levels}: a switch has at most {MOST_LEVELS} levels of priority"
        raise InputError(msg)
    if reserved >= levels:
        msg = f"--reserved {reserved}: of {levels} levels at most {levels - 1} can be reserved"
        raise InputError(msg)
    return levels - reserved
