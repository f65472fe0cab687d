"""Priorities of many jobs on few levels: section 4.3 of Crux (SIGCOMM 2024).

Two jobs that share a full link are joined by an edge from the one of higher priority to the other, which weighs as much
as the higher one's intensity. On one level both suffer; so levels are chosen to hold the least weight inside, and no
edge leads from a lower level to a higher one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from syccl.traffic.simulate import Load, full_links

ORDERS = 10
"""Topological orders that are tried, as in the paper."""

Edges = Mapping[tuple[int, int], float]
"""Weight of every edge, from the job of higher priority to that of lower."""


def contention(
    loads: Sequence[Load], priority: Sequence[float], intensity: Sequence[float]
) -> dict[tuple[int, int], float]:
    """Return the edges between jobs that share a link that they can fill."""
    edges = {}
    for shares in full_links(loads).values():
        ranked = sorted(shares, key=lambda job: (-priority[job], job))
        for at, higher in enumerate(ranked):
            for lower in ranked[at + 1 :]:
                edges[higher, lower] = intensity[higher]
    return dict(sorted(edges.items()))


def compress(jobs: int, edges: Edges, levels: int, *, seed: int = 0) -> list[int]:
    """Return a level of each job, 0 the highest: the best cut of some random topological orders into blocks.

    For one order the cut is optimal (dynamic programming, jobs squared times levels); ``edges`` must have no circle.
    """
    chance = random.Random(seed)
    tried = [_cut(order, edges, levels) for order in (_order(jobs, edges, chance) for _ in range(ORDERS))]
    return min(tried, key=lambda found: inner_weight(found, edges))


def inner_weight(level_of: Sequence[int], edges: Edges) -> float:
    """Return the weight of the edges inside levels."""
    return sum(weight for (a, b), weight in edges.items() if level_of[a] == level_of[b])


def first_levels(priority: Sequence[float], levels: int) -> list[int]:
    """Return a level of each job without compression: one each for the highest priorities, the last for all others."""
    return pooled_levels(sorted(range(len(priority)), key=lambda job: (-priority[job], job)), levels)


def pooled_levels(order: Sequence[int], levels: int) -> list[int]:
    """Return a level of each job: one each for the first of an order, the last for all others."""
    found = [0] * len(order)
    for at, job in enumerate(order):
        found[job] = min(at, levels - 1)
    return found


def _order(jobs: int, edges: Edges, chance: random.Random) -> list[int]:
    """Return the jobs so that every edge leads onward, ties broken by chance."""
    waits = [0] * jobs
    after: list[list[int]] = [[] for _ in range(jobs)]
    for higher, lower in edges:
        waits[lower] += 1
        after[higher].append(lower)
    ready = [job for job in range(jobs) if not waits[job]]
    order = []
    while ready:
        job = ready.pop(chance.randrange(len(ready)))
        order.append(job)
        for other in after[job]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return order


def _cut(order: Sequence[int], edges: Edges, levels: int) -> list[int]:
    """Return the levels of the best cut of an order into at most so many blocks."""
    n = len(order)
    place = {job: at for at, job in enumerate(order)}
    into: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (higher, lower), weight in edges.items():
        into[place[lower]].append((place[higher], weight))
    inner = [[0.0] * (n + 1) for _ in range(n + 1)]
    for end in range(n):
        gained = [0.0] * (end + 1)
        for start, weight in into[end]:
            gained[start] += weight
        for start in range(end - 1, -1, -1):
            gained[start] += gained[start + 1]
        for start in range(end + 1):
            inner[start][end + 1] = inner[start][end] + gained[start]
    best = [0.0, *[math.inf] * n]
    cuts = []
    for _ in range(levels):
        picked = [
            min(range(end + 1), key=lambda start: (best[start] + inner[start][end], -start)) for end in range(n + 1)
        ]
        best = [best[start] + inner[start][end] for end, start in enumerate(picked)]
        cuts.append(picked)
    found, end = [0] * n, n
    for level in range(levels - 1, -1, -1):
        start = cuts[level][end]
        for at in range(start, end):
            found[order[at]] = level
        end = start
    return found
