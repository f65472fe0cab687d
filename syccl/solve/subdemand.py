"""Sub-demands: inside one group, who passes which piece to whom, and when.

A sub-demand is solved once for all others that are the same up to names, under the names of its canonical key, so that
the answer is a function of the key alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from syccl.optimize.choice import Way
from syccl.symmetry.canonical import Digraph, Key, Relabelling, canonical

SECOND = 10**15
"""In femtoseconds, the unit of the times of a key."""


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


def demand_of(key: Key) -> SubDemand:
    """Return the sub-demand that a key describes: any sub-demand of that key is the same up to names."""
    colours, edges = key[1]
    kinds = [colour[0] for colour in colours]
    members, pieces, first_arc = kinds.count(0), kinds.count(1), kinds.count(0) + kinds.count(1)
    ends: dict[int, list[int]] = {v: [-1, -1] for v, kind in enumerate(kinds) if kind == 2}
    uses: dict[int, list[tuple[int, float]]] = {arc: [] for arc in ends}
    holders: list[dict[int, float]] = [{} for _ in range(pieces)]
    for tail, head, (label,) in edges:
        if tail < members:
            ends[head][0] = tail
        elif tail < first_arc:
            holders[tail - members][head] = label / SECOND
        elif head < members:
            ends[tail][1] = head
        else:
            uses[tail].append((head, label / SECOND))
    arcs = (Arc(src, dst, tuple(uses[arc]), colours[arc][1] / SECOND) for arc, (src, dst) in ends.items())
    return SubDemand(members, tuple(arcs), tuple(holders))


def _femtoseconds(seconds: float) -> int:
    return round(seconds * SECOND)


def arcs_into(demand: SubDemand) -> list[list[Arc]]:
    """Return the arcs into every member."""
    into: list[list[Arc]] = [[] for _ in range(demand.members)]
    for arc in demand.arcs:
        into[arc.dst].append(arc)
    return into


def items_of(demand: SubDemand, tick: int) -> dict[tuple[int, int], list[Way]]:
    """Return for each piece and member to serve the ways to do it, one an arc into the member.

    Parameters
    ----------
    tick
        Length of a tick in femtoseconds; nothing takes less than one.
    """
    into = arcs_into(demand)
    wanted = [(p, v) for p, held in enumerate(demand.holders) for v in range(demand.members) if v not in held]
    number = {item: i for i, item in enumerate(wanted)}
    uses = {
        arc: (tuple((r, _ticks(s, tick, least=1)) for r, s in arc.uses), _ticks(arc.latency_s, tick, least=1))
        for arc in demand.arcs
    }
    return {
        (piece, member): [
            Way(
                number.get((piece, arc.src), -1),
                _ticks(demand.holders[piece].get(arc.src, 0.0), tick, least=0),
                *uses[arc],
            )
            for arc in into[member]
        ]
        for piece, member in wanted
    }


def _ticks(seconds: float, tick: int, *, least: int) -> int:
    return max(least, (_femtoseconds(seconds) + tick // 2) // tick)
