"""The plan of paths: even use first, then relief of what is busiest, then connections split where that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.traffic.c4p.connections import Connection, Ways
from syccl.traffic.c4p.least import Cut, cuts, least_load
from syccl.traffic.c4p.parts import split_equal
from syccl.traffic.c4p.relieve import Links, Placement
from syccl.traffic.c4p.spread import spread

_ROUNDED = 1e-9
_NEAR = 1.005
"""Links busier than that times the bound lead to more parts, where connections are of different sizes."""


@dataclass(frozen=True)
class Piece:
    """A connection, or a part of one, on its path."""

    connection: int
    part: int
    parts: int
    size_bytes: float
    links: Links


@dataclass(frozen=True, eq=False)
class Paths:
    """Connections of a fabric, each or each part of it on a path."""

    topology: Topology
    connections: tuple[Connection, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class PathPlan(Paths):
    """Paths for connections, and what no other choice of paths can beat.

    Parameters
    ----------
    least
        The cut that proves how busy the busiest link must be where connections are whole.
    least_split
        The same where they may be split at will.
    """

    least: Cut
    least_split: Cut

    @cached_property
    def busy_s(self) -> dict[int, float]:
        """Seconds that each link needs for an iteration of all jobs, by link id."""
        return busy(self.topology, self.pieces)

    @property
    def busiest_s(self) -> float:
        """Seconds of the busiest link."""
        return max(self.busy_s.values())

    @property
    def bound_s(self) -> float:
        """What the busiest link cannot be below; where connections are split, the bound for splitting at will."""
        split = any(piece.parts > 1 for piece in self.pieces)
        return self.least_split.split_s if split else self.least.whole_s


def busy(topology: Topology, pieces: Sequence[Piece]) -> dict[int, float]:
    """Return the seconds that each link needs for pieces on their paths."""
    found: dict[int, float] = {}
    for piece in pieces:
        for link in piece.links:
            found[link] = found.get(link, 0.0) + piece.size_bytes / topology.links[link].rate
    return dict(sorted(found.items()))


def busiest(topology: Topology, pieces: Sequence[Piece]) -> float:
    """Return the seconds of the busiest link."""
    return max(busy(topology, pieces).values())


def plan_paths(
    topology: Topology, connections: Sequence[Connection], ways: Sequence[Ways], *, most_parts: int = 1
) -> PathPlan:
    """Return paths for connections such that the busiest link is as little busy as possible.

    Parameters
    ----------
    ways
        The routes of each connection (see `ways_of`).
    most_parts
        Parts into which a connection may be split; as few connections as possible are.

    Raises
    ------
    InputError
        When there is no connection.
    """
    if not connections:
        msg = f"no connection leaves a server of {topology.name}, so there is no path to plan"
        raise InputError(msg)
    sizes = [each.size_bytes for each in connections]
    found = cuts(topology, sizes, ways)
    whole = least_load(found)
    split = least_load(found, split=True)

    def planned(parts: dict[int, int], goal_s: float) -> PathPlan:
        pieces = _placed(topology, sizes, ways, (parts, goal_s))
        return PathPlan(topology, tuple(connections), tuple(pieces), whole, split)

    best = planned({}, whole.whole_s)
    if most_parts == 1 or best.busiest_s <= split.split_s * (1 + _ROUNDED):
        return best
    if max(sizes) <= min(sizes) * (1 + _ROUNDED):
        parts = split_equal(topology, sizes[0], found, most_parts)
        best = min(best, planned(parts, split.split_s), key=lambda plan: plan.busiest_s)
    count = 2
    while count <= most_parts and best.busiest_s > split.split_s * _NEAR:
        parts = _parts_on_busy_links(best, count)
        best = min(best, planned(parts, split.split_s), key=lambda plan: plan.busiest_s)
        count *= 2
    return best


def _parts_on_busy_links(plan: PathPlan, count: int) -> dict[int, int]:
    """Return more parts for the connections on links that are busier than they must be."""
    over = {link for link, busy_s in plan.busy_s.items() if busy_s > plan.least_split.split_s * _NEAR}
    parts = {piece.connection: piece.parts for piece in plan.pieces}
    return parts | {piece.connection: count for piece in plan.pieces if over & set(piece.links)}


def _placed(
    topology: Topology, sizes: Sequence[float], ways: Sequence[Ways], wanted: tuple[dict[int, int], float]
) -> list[Piece]:
    """Return every connection, or its parts, on a path: even use, then relief down to a goal at best."""
    parts, goal_s = wanted
    items = [(item, part) for item in range(len(sizes)) for part in range(parts.get(item, 1))]
    each = [sizes[item] / parts.get(item, 1) for item, _ in items]
    routes = [[route.links for route in ways[item].routes] for item, _ in items]
    placement = Placement(topology, each, routes, spread(topology, each, routes))
    placement.lower(goal_s)
    if placement.busiest_s > goal_s * (1 + _ROUNDED):
        other = Placement(topology, each, routes, [0] * len(items))
        for at in sorted(range(len(items)), key=lambda at: (-each[at], at)):
            other.settle(at)
        other.lower(goal_s)
        placement = min(placement, other, key=lambda one: one.busiest_s)
    return [
        Piece(item, part, parts.get(item, 1), size, routes[at][placement.choice[at]])
        for at, ((item, part), size) in enumerate(zip(items, each, strict=True))
    ]
