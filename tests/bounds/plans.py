"""Random correct schedules, timed by the plainest model: what bounds are held against.

A transfer waits for what it carries and for all links of its route, keeps link e busy for bytes / bandwidth of e, and
arrives the sum of alphas after the slowest link is done. Nothing here is shared with the bounds.
"""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

from syccl.topology import Topology


class Move(NamedTuple):
    """Bytes over a route of links, once the moves ``after`` (positions in the list) have arrived."""

    route: tuple[int, ...]
    size: float
    after: tuple[int, ...]


def routes(topology: Topology, longest: int = 5) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """All simple routes between ranks that pass no GPU."""
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}

    def walk(start: int, node: int, path: tuple[int, ...], seen: frozenset[int]) -> None:
        for i in topology.out_links[node]:
            end = topology.links[i].dst
            if end in seen:
                continue
            if topology.is_gpu(end):
                found.setdefault((start, topology.rank_of[end]), []).append((*path, i))
            elif len(path) + 1 < longest:
                walk(start, end, (*path, i), seen | {end})

    for rank, gpu in enumerate(topology.gpus):
        walk(rank, gpu, (), frozenset({gpu}))
    return found


def finish(topology: Topology, moves: list[Move]) -> float:
    """Seconds until all moves have arrived; the one that can start first goes first."""
    free = [0.0] * len(topology.links)
    arrival: dict[int, float] = {}
    waiting = list(range(len(moves)))
    while waiting:
        ready = [i for i in waiting if all(j in arrival for j in moves[i].after)]
        starts = {i: max([arrival[j] for j in moves[i].after] + [free[e] for e in moves[i].route]) for i in ready}
        chosen = min(ready, key=lambda i: (starts[i], i))
        links = [topology.links[e] for e in moves[chosen].route]
        for e, link in zip(moves[chosen].route, links, strict=True):
            free[e] = starts[chosen] + moves[chosen].size / link.rate
        alpha = sum(link.latency_ps for link in links) * 1e-12
        arrival[chosen] = starts[chosen] + alpha + moves[chosen].size / min(link.rate for link in links)
        waiting.remove(chosen)
    return max(arrival.values(), default=0.0)


def tree(topology: Topology, root: int, rng: random.Random, *, inward: bool) -> list[tuple[int, int]]:
    """Edges (parent, child) away from the root, or (child, parent) of a tree towards it, in order of depth."""
    ways = routes(topology)
    reached, edges = {root}, []
    while len(reached) < topology.ranks:
        choices = sorted(
            (u, v) for u, v in ways if ((v in reached) != (u in reached) and ((v if inward else u) in reached))
        )
        edge = rng.choice(choices)
        edges.append(edge)
        reached |= set(edge)
    return edges


class Plan:
    """Moves of one random schedule."""

    def __init__(self, topology: Topology, rng: random.Random) -> None:
        self.topology, self.rng, self.ways = topology, rng, routes(topology)
        self.moves: list[Move] = []

    def send(self, src: int, dst: int, size: float, after: tuple[int, ...]) -> int:
        self.moves.append(Move(self.rng.choice(self.ways[src, dst]), size, after))
        return len(self.moves) - 1

    def spread(self, root: int, size: float, after: tuple[int, ...] = ()) -> None:
        has = {root: after}
        for u, v in tree(self.topology, root, self.rng, inward=False):
            has[v] = (self.send(u, v, size, has[u]),)

    def collect(self, root: int, size: float) -> tuple[int, ...]:
        inbox: dict[int, tuple[int, ...]] = {}
        for u, v in reversed(tree(self.topology, root, self.rng, inward=True)):
            inbox[v] = (*inbox.get(v, ()), self.send(u, v, size, inbox.get(u, ())))
        return inbox.get(root, ())

    def deliver(self, root: int, target: int, size: float) -> None:
        if root == target:
            return
        parent = {v: u for u, v in tree(self.topology, root, self.rng, inward=False)}
        path = [target]
        while path[-1] != root:
            path.append(parent[path[-1]])
        after: tuple[int, ...] = ()
        for u, v in itertools.pairwise(reversed(path)):
            after = (self.send(u, v, size, after),)


def random_time(topology: Topology, op: str, size: float, rng: random.Random, *, pieces: int = 1) -> float:
    """Seconds that one random schedule takes; root 0."""
    plan, ranks = Plan(topology, rng), range(topology.ranks)
    whole, shard = size / pieces, size / topology.ranks / pieces
    for _ in range(pieces):
        if op == "broadcast":
            plan.spread(0, whole)
        elif op == "reduce":
            plan.collect(0, whole)
        elif op == "allreduce":
            root = rng.choice(ranks)
            plan.spread(root, whole, plan.collect(root, whole))
        elif op == "allgather":
            for rank in ranks:
                plan.spread(rank, shard)
        elif op == "reducescatter":
            for rank in ranks:
                plan.collect(rank, shard)
        else:
            pairs = {
                "scatter": [(0, rank) for rank in ranks],
                "gather": [(rank, 0) for rank in ranks],
                "alltoall": list(itertools.product(ranks, ranks)),
            }
            for src, dst in pairs[op]:
                plan.deliver(src, dst, shard)
    return finish(topology, plan.moves)
