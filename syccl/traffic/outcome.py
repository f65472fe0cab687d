"""What becomes of jobs on a fabric: flows, loads, and the simulation, in one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.traffic.flows import ecmp_choice, flows_of, link_seconds
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


def played(
    topology: Topology,
    jobs: Sequence[Job],
    pairs: Sequence[Pairs],
    *,
    until_s: float,
    seed: int,
    lowest: int,
    source: str,
) -> Outcome:
    """Return how jobs fare whose flows are hashed onto equal-cost paths.

    Parameters
    ----------
    pairs
        Bytes of an iteration from rank to rank of each job.
    lowest
        Level of jobs that state none.
    source
        What to call the jobs file in errors.

    Raises
    ------
    InputError
        When no route joins two ranks of a job that have something to send.
    """
    loads = []
    for job, sent in zip(jobs, pairs, strict=True):
        try:
            flows = flows_of(topology, job.ranks, sent)
        except InputError as error:
            msg = f"{source}: job {job.name!r}: ranks: {error}"
            raise InputError(msg) from None
        link_s = link_seconds(topology, flows, ecmp_choice(flows, seed))
        level = lowest if job.level is None else job.level
        loads.append(Load(job.compute_s, job.overlap, link_s, level, job.arrival_s, job.iterations))
    return Outcome(topology, tuple(jobs), tuple(loads), simulate(loads, until_s), until_s)
