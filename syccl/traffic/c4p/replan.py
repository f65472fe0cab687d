"""A part fails: only what went over it gets new paths, and as little else as the load allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from syccl.topology import Topology
from syccl.topology.damage import kept
from syccl.topology.elements import element_of
from syccl.topology.routes import Route
from syccl.traffic.c4p.connections import Ways, ways_of
from syccl.traffic.c4p.hashing import Hashing, hashed_pieces
from syccl.traffic.c4p.least import cuts, least_load
from syccl.traffic.c4p.plan import PathPlan, Piece
from syccl.traffic.c4p.relieve import Placement


@dataclass(frozen=True)
class Replanned:
    """A plan after a failure.

    Parameters
    ----------
    dead
        Links that failed.
    hit
        Pieces whose path is gone.
    moved
        Pieces that were moved beside these.
    during
        Paths while switches rehash what is hit, before the new plan is in force.
    """

    plan: PathPlan
    ways: tuple[Ways, ...]
    dead: tuple[int, ...]
    hit: int
    moved: int
    during: tuple[Piece, ...]


def replan(plan: PathPlan, without: Sequence[str], hashing: Hashing) -> Replanned:
    """Return the plan without some parts (see ``elements.GRAMMAR``): a path for what is hit, the fewest other moves.

    Raises
    ------
    InputError
        When a text names no part, or a connection has no path left.
    """
    topology = plan.topology
    dead = {link for text in without for link in element_of(topology, text).links}
    ways = _ways_without(plan, dead)
    hit = [at for at, piece in enumerate(plan.pieces) if dead & set(piece.links)]
    pieces = list(plan.pieces)
    alone = [plan.connections[pieces[at].connection]._replace(size_bytes=pieces[at].size_bytes) for at in hit]
    rehashed = hashed_pieces(topology, alone, [ways[pieces[at].connection] for at in hit], hashing)
    during = list(pieces)
    for at, piece in zip(hit, rehashed, strict=True):
        during[at] = replace(pieces[at], links=piece.links)
    sizes = [piece.size_bytes for piece in pieces]
    routes = [[route.links for route in ways[piece.connection].routes] for piece in pieces]
    for at, piece in enumerate(during):
        if piece.links not in routes[at]:
            routes[at].append(piece.links)
    placement = Placement(topology, sizes, routes, [routes[at].index(piece.links) for at, piece in enumerate(during)])
    for at in sorted(hit, key=lambda at: (-sizes[at], at)):
        placement.settle(at)
    found = cuts(topology, [each.size_bytes for each in plan.connections], ways)
    whole, split = least_load(found), least_load(found, split=True)
    goal_s = split.split_s if any(piece.parts > 1 for piece in pieces) else whole.whole_s
    placement.lower(goal_s)
    after = [replace(piece, links=routes[at][placement.choice[at]]) for at, piece in enumerate(pieces)]
    moved = sum(piece.links != old.links for piece, old in zip(after, pieces, strict=True)) - len(hit)
    new = PathPlan(topology, plan.connections, tuple(after), whole, split)
    return Replanned(new, tuple(ways), tuple(sorted(dead)), len(hit), moved, tuple(during))


def _ways_without(plan: PathPlan, dead: set[int]) -> list[Ways]:
    """Return the ways of all connections without some links, by the link ids of the whole fabric."""
    topology = plan.topology
    alive = [link for link in range(len(topology.links)) if link not in dead]
    left: Topology = replace(kept(topology, nodes=set(), links=dead), name=topology.name)
    found: dict[int, Ways] = {}
    all_ways = ways_of(left, plan.connections)
    for way in all_ways:
        if id(way) not in found:
            routes = tuple(
                Route(tuple(alive[link] for link in route.links), route.rate, route.latency_ps) for route in way.routes
            )
            found[id(way)] = Ways(routes, tuple(frozenset(alive[link] for link in layer) for layer in way.layers))
    return [found[id(way)] for way in all_ways]
