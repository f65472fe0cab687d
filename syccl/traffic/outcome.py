"""What becomes of jobs on a fabric: flows, loads, and the simulation, in one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.traffic.flows import Flow, flows_of
from syccl.traffic.jobs import Job
from syccl.traffic.pairs import Pairs
from syccl.traffic.policies import Decision, Mix
from syccl.traffic.simulate import Load, Progress, contending, simulate

MOST_SIMULATED = 5_000_000
"""Most iterations of jobs that contend; some minutes of work."""


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

    @property
    def slowdowns(self) -> list[float]:
        """Mean iteration over that alone, of each job that did an iteration; 1 or more."""
        rows = zip(self.loads, self.progress, strict=True)
        return [done.mean_iteration_s / load.iteration_alone_s for load, done in rows if done.iterations]

    @property
    def mean_slowdown(self) -> float:
        """Mean of ``slowdowns``; 1 where no job did an iteration."""
        return sum(self.slowdowns) / len(self.slowdowns) if self.slowdowns else 1.0

    @property
    def worst_slowdown(self) -> float:
        """Largest of ``slowdowns``; 1 where no job did an iteration."""
        return max(self.slowdowns, default=1.0)

    @property
    def complete(self) -> int:
        """Number of jobs that are complete."""
        return sum(done.completion_s is not None for done in self.progress)

    @property
    def mean_completion_s(self) -> float | None:
        """Mean seconds from arrival to completion of the jobs that are complete; None where none is."""
        taken = [done.completion_s for done in self.progress if done.completion_s is not None]
        return sum(taken) / len(taken) if taken else None

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


def played(mix: Mix, decision: Decision, *, until_s: float) -> Outcome:
    """Return how jobs fare whose flows take the paths, and that have the levels, that a policy decided.

    Raises
    ------
    InputError
        When jobs that contend do too many iterations in the time.
    """
    loads = [
        replace(load, level=level) for load, level in zip(mix.loads(decision.choice), decision.levels, strict=True)
    ]
    _check_iterations(mix.jobs, loads, until_s)
    shifted = [
        replace(load, arrival_s=load.arrival_s + shift) for load, shift in zip(loads, decision.shift_s, strict=True)
    ]
    progress = [
        _since_arrival(done, min(shift, max(0.0, until_s - load.arrival_s)))
        for done, load, shift in zip(simulate(shifted, until_s), loads, decision.shift_s, strict=True)
    ]
    return Outcome(mix.topology, mix.jobs, tuple(loads), tuple(progress), until_s)


def _check_iterations(jobs: Sequence[Job], loads: Sequence[Load], until_s: float) -> None:
    """Check that the iterations of jobs that contend are not too many to be simulated."""
    counts = {
        job: min(until_s / loads[job].iteration_alone_s, loads[job].iterations or math.inf)
        for group in contending(loads)
        if len(group) > 1
        for job in group
    }
    if sum(counts.values()) > MOST_SIMULATED:
        most = max(counts, key=lambda job: (counts[job], -job))
        what = f"{sum(counts.values()):.3g} iterations of jobs that contend, {counts[most]:.3g} of them"
        msg = f"{what} of job {jobs[most].name!r}: at most {MOST_SIMULATED:.0e} are simulated; give fewer --seconds"
        raise InputError(msg)


def _since_arrival(done: Progress, shift_s: float) -> Progress:
    """Return progress that counts the time for which a job waited at its start."""
    if not shift_s:
        return done
    completion = None if done.completion_s is None else done.completion_s + shift_s
    return replace(done, held_s=done.held_s + shift_s, completion_s=completion)


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
