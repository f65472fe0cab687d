"""List scheduling by pressure: of the jobs that can start, the one whose busiest resource has most left to do.

Where chunks have one source and one target, a schedule is a sequence of matchings of senders and receivers; what
makes it long is a port that is still busy when the others are done. Serving the ports with most left first is the
greedy form of a decomposition into matchings (Birkhoff, Koenig), for resources of any kind and jobs of any length.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.solve.list_schedule import JobShop, Timing, tails


def pressed_schedule(shop: JobShop) -> Timing:
    """Start jobs as early as their inputs and resources allow, those of the most pressed resources first."""
    return _Run(shop).finish() if shop.uses else Timing([], 0.0)


def _resources_ahead(shop: JobShop) -> list[tuple[int, ...]]:
    """Return for each job the resources of the jobs that wait for it, directly or not."""
    ahead: list[set[int]] = [set() for _ in shop.uses]
    for job in range(len(shop.uses) - 1, -1, -1):
        for before in shop.after[job]:
            ahead[before] |= ahead[job] | {resource for resource, _ in shop.uses[job]}
    return [tuple(sorted(resources)) for resources in ahead]


def _padded(rows: Sequence[Sequence[int]], filler: int) -> NDArray[np.int64]:
    """Return rows of equal length, filled up with the number of a resource that is never busy."""
    table = np.full((len(rows), max([1, *map(len, rows)])), filler)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


class _Run:
    """State of one run. Jobs of the same resources form a line; only the head of a line is looked at."""

    def __init__(self, shop: JobShop) -> None:
        self.shop = shop
        tail = tails(shop)
        ahead = _resources_ahead(shop)
        keys: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.line_of = [
            keys.setdefault((tuple(r for r, _ in uses), coming), len(keys))
            for uses, coming in zip(shop.uses, ahead, strict=True)
        ]
        self.resources = [own for own, _ in keys]
        count = 1 + max((r for own in self.resources for r in own), default=-1)
        self.table = _padded(self.resources, count)
        self.pressing = _padded([own + coming for own, coming in keys], count)
        self.left = np.zeros(count + 1)
        for uses in shop.uses:
            for resource, seconds in uses:
                self.left[resource] += seconds
        self.free = np.zeros(count + 1)
        self.tail = tail
        self.queues: list[list[tuple[float, int]]] = [[] for _ in keys]
        self.head = np.full(len(keys), -np.inf)
        self.missing = [len(after) for after in shop.after]
        self.ready = [0.0] * len(shop.uses)
        self.next: dict[int, list[int]] = defaultdict(list)
        for job, after in enumerate(shop.after):
            for before in after:
                self.next[before].append(job)
        self.start = [0.0] * len(shop.uses)
        self.makespan = 0.0
        touching: list[list[int]] = [[] for _ in range(count)]
        for line, own in enumerate(self.resources):
            for resource in own:
                touching[resource].append(line)
        self.touching = [np.array(lines, dtype=np.int64) for lines in touching]
        # (time, job that becomes ready, or ~resource that becomes free).
        self.events = [(0.0, job) for job, count in enumerate(self.missing) if not count]

    def finish(self) -> Timing:
        heapq.heapify(self.events)
        while self.events:
            now = self.events[0][0]
            fresh: list[int] = []
            freed: list[NDArray[np.int64]] = []
            while self.events and self.events[0][0] <= now:
                job = heapq.heappop(self.events)[1]
                if job >= 0:
                    line = self.line_of[job]
                    heapq.heappush(self.queues[line], (-self.tail[job], job))
                    self.head[line] = -self.queues[line][0][0]
                    fresh.append(line)
                else:
                    freed.append(self.touching[~job])
            # All others could not start before, and nothing has changed for them.
            self._dispatch(np.concatenate((np.array(fresh, dtype=np.int64), *freed)), now)
        return Timing(self.start, self.makespan)

    def _dispatch(self, changed: NDArray[np.int64], now: float) -> None:
        """Begin the heads of lines, some of which may be listed twice."""
        waiting = changed[self.head[changed] > -np.inf]
        lines = np.sort(waiting[(self.free[self.table[waiting]] <= now).all(axis=1)])
        if not len(lines):
            return
        pressure = self.left[self.pressing[lines]].max(axis=1) + self.head[lines]
        taken: set[int] = set()
        for line in lines[np.argsort(-pressure, kind="stable")].tolist():
            if taken.isdisjoint(self.resources[line]):
                self._begin(line, now)
                taken.update(self.resources[line])

    def _begin(self, line: int, now: float) -> None:
        queue = self.queues[line]
        job = heapq.heappop(queue)[1]
        self.head[line] = -queue[0][0] if queue else -np.inf
        self.start[job] = now
        for resource, seconds in self.shop.uses[job]:
            self.left[resource] -= seconds
            self.free[resource] = now + seconds
            heapq.heappush(self.events, (now + seconds, ~resource))
        arrival = now + self.shop.duration_s(job)
        self.makespan = max(self.makespan, arrival)
        for after in self.next.get(job, ()):
            self.ready[after] = max(self.ready[after], arrival)
            self.missing[after] -= 1
            if not self.missing[after]:
                heapq.heappush(self.events, (self.ready[after], after))
