"""What becomes of jobs on a fabric: flows, loads, and the simulation, in one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.traffic.compress import compress, contention, first_levels
from syccl.traffic.crux import intensities, priorities, select_paths
from syccl.traffic.flows import Flow, ecmp_choice, flows_of, link_seconds
from syccl.traffic.jobs import Job
from syccl.traffic.pairs import Pairs
from syccl.traffic.simulate import Load, Progress, simulate


@dataclass(frozen=True, eq=False)
class Outcome:
    """Jobs of one fabric, what they put on links, and how far they came in ``until_s`` seconds."""

    topology: Topology
    jobs: tuple[Job, ...]
    loads: tuple[Load, ...]
    progress: tuple[Progress, ...]
    until_s: float

    @property
    def gpu_utilisation(self) -> float:
        """GPU-seconds that were computed over those that jobs held their GPUs, from arrival on; 0 to 1."""
        held = sum(done.held_s * len(job.ranks) for job, done in zip(self.jobs, self.progress, strict=True))
        computed = sum(done.computed_s * len(job.ranks) for job, done in zip(self.jobs, self.progress, strict=True))
        return computed / held if held else 0.0

    @cached_property
    def link_utilisation(self) -> dict[int, float]:
        """Share of the simulated time that each used link is busy, by link id."""
        busy: dict[int, float] = {}
        for load, done in zip(self.loads, self.progress, strict=True):
            for link, seconds in load.link_s.items():
                busy[link] = busy.get(link, 0.0) + seconds * done.rounds / self.until_s
        return dict(sorted(busy.items()))


def servers_of(topology: Topology, ranks: Sequence[int]) -> list[int]:
    """Return a number for the server of each rank; GPUs without a label stand alone."""
    nodes = [topology.nodes[topology.gpus[rank]] for rank in ranks]
    labels = [node.server or f"\0{node.name}" for node in nodes]
    numbers = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    return [numbers[label] for label in labels]


@dataclass(frozen=True)
class Policy:
    """How paths and levels are chosen.

    Parameters
    ----------
    name
        One of ``POLICIES``.
    levels
        Levels of priority that jobs may have.
    seed
        Of the hash of paths, and of the orders that compression tries.
    """

    name: str = "ecmp"
    levels: int = 8
    seed: int = 0


POLICIES = ("ecmp", "crux-pa", "crux-ps-pa", "crux")
"""Hashed paths and the levels that jobs state; Crux: priorities alone, with path selection, with compression too."""


def played(
    topology: Topology,
    jobs: Sequence[Job],
    flows: Sequence[Sequence[Flow]],
    *,
    until_s: float,
    policy: Policy,
) -> Outcome:
    """Return how jobs fare whose flows take the paths, and that have the levels, of a policy.

    With Crux the levels that jobs state do not count: it gives them levels of its own.
    """
    hashed = [ecmp_choice(mine, policy.seed) for mine in flows]
    loads = _loads(topology, jobs, flows, hashed)
    if policy.name == "ecmp":
        lowest = policy.levels - 1
        levels = [lowest if job.level is None else job.level for job in jobs]
    else:
        work = [job.flops for job in jobs]
        if policy.name != "crux-pa":
            alone_s = [load.iteration_alone_s for load in loads]
            choice = select_paths(topology, flows, intensities(loads, work), alone_s)
            loads = _loads(topology, jobs, flows, choice)
        levels = _crux_levels(loads, work, [sum(flow.size_bytes for flow in mine) for mine in flows], policy)
    loads = [replace(load, level=level) for load, level in zip(loads, levels, strict=True)]
    return Outcome(topology, tuple(jobs), tuple(loads), simulate(loads, until_s), until_s)


def job_flows(topology: Topology, job: Job, pairs: Pairs, *, source: str) -> tuple[Flow, ...]:
    """Return the flows of a job.

    Parameters
    ----------
    pairs
        Bytes of an iteration between positions in the job's ranks.
    source
        What to call the jobs file in errors.

    Raises
    ------
    InputError
        When no route joins two ranks of the job that have something to send.
    """
    try:
        return flows_of(topology, job.ranks, pairs)
    except InputError as error:
        msg = f"{source}: job {job.name!r}: ranks: {error}"
        raise InputError(msg) from None


def _loads(
    topology: Topology, jobs: Sequence[Job], flows: Sequence[Sequence[Flow]], choice: Sequence[Sequence[int]]
) -> list[Load]:
    return [
        Load(job.compute_s, job.overlap, link_seconds(topology, mine, picked), 0, job.arrival_s, job.iterations)
        for job, mine, picked in zip(jobs, flows, choice, strict=True)
    ]


def _crux_levels(loads: Sequence[Load], flops: Sequence[float], traffic: Sequence[float], policy: Policy) -> list[int]:
    intensity = intensities(loads, flops)
    priority = priorities(loads, intensity, traffic)
    if policy.name != "crux":
        return first_levels(priority, policy.levels)
    edges = contention(loads, priority, intensity)
    return compress(len(loads), edges, policy.levels, seed=policy.seed)
