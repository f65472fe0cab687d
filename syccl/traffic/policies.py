"""Policies: which paths the flows of jobs take, which levels jobs have, and when they begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from syccl.topology import Topology
from syccl.traffic.baselines import balanced_levels, bssi_order, distance_levels, sebf_order, shifts_s
from syccl.traffic.compress import compress, contention, first_levels, pooled_levels
from syccl.traffic.crux import intensities, priorities, select_paths
from syccl.traffic.flows import Flow, ecmp_choice, link_seconds
from syccl.traffic.jobs import Job
from syccl.traffic.simulate import Load


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


@dataclass(frozen=True)
class Mix:
    """Jobs of a fabric with the flows of each."""

    topology: Topology
    jobs: tuple[Job, ...]
    flows: tuple[tuple[Flow, ...], ...]

    def loads(self, choice: Sequence[Sequence[int]]) -> list[Load]:
        """Return what jobs put on links over chosen paths, all on one level."""
        return [
            Load(
                job.compute_s, job.overlap, link_seconds(self.topology, mine, picked), 0, job.arrival_s, job.iterations
            )
            for job, mine, picked in zip(self.jobs, self.flows, choice, strict=True)
        ]

    @property
    def flops(self) -> list[float]:
        """FLOPs of an iteration of each job."""
        return [job.flops for job in self.jobs]


@dataclass(frozen=True)
class Decision:
    """What a policy decides for each job: candidates of its flows, its level, seconds that it waits at its start."""

    choice: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    shift_s: tuple[float, ...]


def chooses_paths(name: str) -> bool:
    """Return whether a policy chooses paths; with all others switches hash flows."""
    return name in _BY_INTENSITY | _BY_ORDER


Levels = Callable[[Mix, list[Load], Policy], list[int]]


def decide(mix: Mix, policy: Policy) -> Decision:
    """Return what a policy decides; all but ``ecmp`` give levels of their own, whatever jobs state."""
    hashed = [ecmp_choice(mine, policy.seed) for mine in mix.flows]
    loads = mix.loads(hashed)
    choice = hashed
    if policy.name in _BY_INTENSITY:
        choice = _select(mix, loads, intensities(loads, mix.flops))
    elif policy.name in _BY_ORDER:
        choice = _select(mix, loads, [0.0] * len(loads))
    levels = _LEVELS[policy.name](mix, mix.loads(choice), policy)
    shift = shifts_s(loads) if policy.name in _SHIFTED else [0.0] * len(loads)
    return Decision(tuple(map(tuple, choice)), tuple(levels), tuple(shift))


def _select(mix: Mix, loads: Sequence[Load], rank: Sequence[float]) -> list[tuple[int, ...]]:
    return select_paths(mix.topology, mix.flows, rank, [load.iteration_alone_s for load in loads])


def _stated(mix: Mix, _loads: list[Load], policy: Policy) -> list[int]:
    return [policy.levels - 1 if job.level is None else job.level for job in mix.jobs]


def _equal(_mix: Mix, loads: list[Load], _policy: Policy) -> list[int]:
    return [0] * len(loads)


def _by_intensity(mix: Mix, loads: list[Load], policy: Policy) -> list[int]:
    return first_levels(intensities(loads, mix.flops), policy.levels)


def _corrected(mix: Mix, loads: list[Load]) -> tuple[list[float], list[float]]:
    intensity = intensities(loads, mix.flops)
    return priorities(loads, intensity, [sum(flow.size_bytes for flow in mine) for mine in mix.flows]), intensity


def _first(mix: Mix, loads: list[Load], policy: Policy) -> list[int]:
    return first_levels(_corrected(mix, loads)[0], policy.levels)


def _compressed(mix: Mix, loads: list[Load], policy: Policy) -> list[int]:
    priority, intensity = _corrected(mix, loads)
    return compress(len(loads), contention(loads, priority, intensity), policy.levels, seed=policy.seed)


def _sincronia(_mix: Mix, loads: list[Load], policy: Policy) -> list[int]:
    return pooled_levels(bssi_order(loads), policy.levels)


def _varys(_mix: Mix, loads: list[Load], policy: Policy) -> list[int]:
    return balanced_levels(sebf_order(loads), policy.levels)


def _distance(mix: Mix, _loads: list[Load], policy: Policy) -> list[int]:
    return distance_levels(mix.flows, policy.levels)


_LEVELS: dict[str, Levels] = {
    "ecmp": _stated,
    "intensity": _by_intensity,
    "sincronia": _sincronia,
    "varys": _varys,
    "cassini": _equal,
    "taccl-star": _distance,
    "crux-pa": _first,
    "crux-ps-pa": _first,
    "crux": _compressed,
}
_BY_INTENSITY = frozenset({"crux-ps-pa", "crux"})
_BY_ORDER = frozenset({"taccl-star"})
_SHIFTED = frozenset({"cassini"})
POLICIES = tuple(_LEVELS)
"""Hashed paths and the levels that jobs state; baselines; Crux: priorities alone, with paths, with compression too."""
