"""Sub-demands: inside one group, who passes which piece to whom, and when.

A sub-demand is solved once for all others that are the same up to names (its canonical key), by the constraint program
over optional intervals: no grid of epochs, so nothing is lost by rounding times (TE-CCL loses up to a fifth to it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.optimize.choice import Choice, Way, choose
from syccl.optimize.status import Status

_TICKS = 20_000
"""Ticks that the known makespan is cut into."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A way from one member to another: resources it occupies (seconds each) and its latency (seconds)."""

    src: int
    dst: int
    uses: tuple[tuple[int, float], ...]
    latency_s: float


@dataclass(frozen=True, slots=True)
class SubDemand:
    """Pieces that start at one member each and must reach all members of a group.

    Parameters
    ----------
    members
        Number of members of the group.
    arcs
        All direct ways between members.
    holders
        For each piece the member that holds it.
    """

    members: int
    arcs: tuple[Arc, ...]
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """For each piece the parent of every member (-1 at its holder); times in seconds.

    ``bound_s`` is what the solver proved no choice of trees can beat.
    """

    status: Status
    parents: tuple[tuple[int, ...], ...]
    makespan_s: float
    bound_s: float


def size_of(demand: SubDemand) -> int:
    """Return the number of optional intervals that the constraint program will have."""
    return len(demand.holders) * len(demand.arcs)


def solve(
    demand: SubDemand, hint: Sequence[Sequence[tuple[int, float]]], *, horizon_s: float, effort: float
) -> Solution:
    """Return the trees of least makespan that the solver finds within its effort.

    Parameters
    ----------
    hint
        For each piece and member a parent and a start in seconds ((-1, 0) at the holder): a known answer.
    horizon_s
        Makespan of the hint.
    effort
        Deterministic time units.
    """
    tick = horizon_s / _TICKS
    number = {
        (piece, member): i
        for i, (piece, member) in enumerate(
            (p, v) for p, holder in enumerate(demand.holders) for v in range(demand.members) if v != holder
        )
    }
    into: list[list[Arc]] = [[] for _ in range(demand.members)]
    for arc in demand.arcs:
        into[arc.dst].append(arc)
    items = [
        [_way(arc, number.get((piece, arc.src), -1), tick) for arc in into[member]] for piece, member in number
    ]
    start = []
    for piece, member in number:
        parent, begin = hint[piece][member]
        way = next(i for i, arc in enumerate(into[member]) if arc.src == parent)
        start.append((way, round(begin / tick)))
    found = choose(items, horizon=round(_TICKS * 1.02) + 2 * demand.members, hint=start, effort=effort)
    return _decoded(demand, found, number, into, tick)


def _way(arc: Arc, after: int, tick: float) -> Way:
    uses = tuple((resource, max(1, round(seconds / tick))) for resource, seconds in arc.uses)
    return Way(after, 0, uses, max(1, round(arc.latency_s / tick)))


def _decoded(
    demand: SubDemand, found: Choice, number: dict[tuple[int, int], int], into: list[list[Arc]], tick: float
) -> Solution:
    if not found.status.has_solution:
        return Solution(found.status, (), 0.0, 0.0)
    parents = [[-1] * demand.members for _ in demand.holders]
    for (piece, member), item in number.items():
        parents[piece][member] = into[member][found.ways[item]].src
    return Solution(found.status, tuple(map(tuple, parents)), found.makespan * tick, found.bound * tick)
