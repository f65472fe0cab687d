"""Sub-demands: inside one group, who passes which piece to whom, and when.

A sub-demand is solved once for all others that are the same up to names (its canonical key), by the constraint program
over optional intervals: no grid of epochs, so nothing is lost by rounding times (TE-CCL loses up to a fifth to it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syccl.optimize.choice import Choice, Way, choose
from syccl.optimize.status import Status
from syccl.symmetry.canonical import Digraph, Key, Relabelling, canonical

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
    """Pieces that some members hold and all members of a group must get.

    Parameters
    ----------
    members
        Number of members of the group.
    arcs
        All direct ways between members.
    holders
        For each piece the members that hold it and since when, in seconds: its release times from the stage before.
    """

    members: int
    arcs: tuple[Arc, ...]
    holders: tuple[dict[int, float], ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """For each piece the parent of every member that did not hold it; times in seconds.

    ``bound_s`` is what the solver proved no choice of trees can beat.
    """

    status: Status
    parents: tuple[dict[int, int], ...]
    makespan_s: float
    bound_s: float


def size_of(demand: SubDemand) -> int:
    """Return the number of optional intervals that the constraint program will have."""
    return len(demand.holders) * len(demand.arcs)


def key_of(demand: SubDemand) -> tuple[Key, Relabelling]:
    """Return a key that isomorphic sub-demands share, and the canonical number of every member and piece.

    Vertices are members, pieces, arcs and resources, in that order; times are the labels.
    """
    n, pieces = demand.members, len(demand.holders)
    resources = sorted({resource for arc in demand.arcs for resource, _ in arc.uses})
    first_arc = n + pieces
    at = {resource: first_arc + len(demand.arcs) + i for i, resource in enumerate(resources)}
    colours: list[tuple[int, ...]] = [*[(0,)] * n, *[(1,)] * pieces]
    labels: dict[tuple[int, int], tuple[int, ...]] = {}
    for piece, held in enumerate(demand.holders):
        labels.update({(n + piece, member): (_femtoseconds(since),) for member, since in held.items()})
    for i, arc in enumerate(demand.arcs):
        colours.append((2, _femtoseconds(arc.latency_s)))
        labels[arc.src, first_arc + i] = (0,)
        labels[first_arc + i, arc.dst] = (0,)
        labels.update({(first_arc + i, at[resource]): (_femtoseconds(seconds),) for resource, seconds in arc.uses})
    colours += [(3,)] * len(resources)
    return canonical(Digraph(tuple(colours), labels))


def _femtoseconds(seconds: float) -> int:
    return round(seconds * 1e15)


def solve(
    demand: SubDemand, hint: Sequence[Mapping[int, tuple[int, float]]], *, horizon_s: float, effort: float
) -> Solution:
    """Return the trees of least makespan that the solver finds within its effort.

    Parameters
    ----------
    hint
        For each piece and member to serve a parent and a start in seconds: a known answer.
    horizon_s
        Makespan of the hint.
    effort
        Deterministic time units.
    """
    tick = horizon_s / _TICKS
    number = {
        (piece, member): i
        for i, (piece, member) in enumerate(
            (p, v) for p, held in enumerate(demand.holders) for v in range(demand.members) if v not in held
        )
    }
    into: list[list[Arc]] = [[] for _ in range(demand.members)]
    for arc in demand.arcs:
        into[arc.dst].append(arc)
    items = [
        [
            _way(arc, number.get((piece, arc.src), -1), demand.holders[piece].get(arc.src, 0.0), tick)
            for arc in into[member]
        ]
        for piece, member in number
    ]
    start = []
    for piece, member in number:
        parent, begin = hint[piece][member]
        way = next(i for i, arc in enumerate(into[member]) if arc.src == parent)
        start.append((way, round(begin / tick)))
    found = choose(items, horizon=round(_TICKS * 1.02) + 2 * demand.members, hint=start, effort=effort)
    return _decoded(demand, found, number, into, tick=tick)


def _way(arc: Arc, after: int, release_s: float, tick: float) -> Way:
    uses = tuple((resource, max(1, round(seconds / tick))) for resource, seconds in arc.uses)
    return Way(after, round(release_s / tick), uses, max(1, round(arc.latency_s / tick)))


def _decoded(
    demand: SubDemand, found: Choice, number: dict[tuple[int, int], int], into: list[list[Arc]], *, tick: float
) -> Solution:
    if not found.status.has_solution:
        return Solution(found.status, (), 0.0, 0.0)
    parents: list[dict[int, int]] = [{} for _ in demand.holders]
    for (piece, member), item in number.items():
        parents[piece][member] = into[member][found.ways[item]].src
    return Solution(found.status, tuple(parents), found.makespan * tick, found.bound * tick)
