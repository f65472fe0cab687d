"""Job shop over link orbits: when each transfer starts, by priority and never idle without need.

A job occupies each of its resources from one common start (a transfer passes all links of its route at once), and its
result is there after its last resource is released plus its latency.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobShop:
    """Jobs with their resources, latencies and predecessors, as parallel lists.

    Parameters
    ----------
    uses
        For each job the ``(resource, seconds)`` pairs that it occupies from its start.
    latency_s
        For each job, seconds between the end of its occupation and its arrival.
    after
        For each job, indices of the jobs that must have arrived before it starts; always lower indices.
    """

    uses: Sequence[Sequence[tuple[int, float]]]
    latency_s: Sequence[float]
    after: Sequence[Sequence[int]]

    def duration_s(self, job: int) -> float:
        """Return seconds from start to arrival."""
        return max((seconds for _, seconds in self.uses[job]), default=0.0) + self.latency_s[job]


@dataclass(frozen=True, slots=True)
class Timing:
    """Start of every job and the makespan, in seconds."""

    start_s: list[float]
    makespan_s: float


def tails(shop: JobShop) -> list[float]:
    """Return for each job the longest chain of durations from its start to the end, in seconds."""
    tail = [shop.duration_s(job) for job in range(len(shop.uses))]
    best = [0.0] * len(tail)
    for job in range(len(tail) - 1, -1, -1):
        tail[job] += best[job]
        for before in shop.after[job]:
            best[before] = max(best[before], tail[job])
    return tail


def list_schedule(shop: JobShop, priority: Sequence[float]) -> Timing:
    """Start jobs as early as their inputs and resources allow; of rivals the one of highest priority first."""
    return _Run(shop, priority).finish()


class _Run:
    """State of one list scheduling run."""

    def __init__(self, shop: JobShop, priority: Sequence[float]) -> None:
        jobs = len(shop.uses)
        resources = 1 + max((r for uses in shop.uses for r, _ in uses), default=0)
        self.shop = shop
        self.rank = [(-priority[job], job) for job in range(jobs)]
        self.free = [0.0] * resources
        self.waiting: list[list[tuple[float, int]]] = [[] for _ in range(resources)]
        self.start = [0.0] * jobs
        self.ready = [0.0] * jobs
        self.length = [shop.duration_s(job) for job in range(jobs)]
        self.missing = [len(after) for after in shop.after]
        self.next: list[list[int]] = [[] for _ in range(jobs)]
        for job, after in enumerate(shop.after):
            for before in after:
                self.next[before].append(job)
        self.makespan = 0.0
        # (time, job or ~resource): a job becomes ready or a resource free.
        self.events: list[tuple[float, int]] = [(0.0, job) for job in range(jobs) if not self.missing[job]]

    def finish(self) -> Timing:
        events = self.events
        while events:
            now = events[0][0]
            rivals: list[tuple[float, int]] = []
            while events and events[0][0] <= now:
                _, what = heapq.heappop(events)
                if what >= 0:
                    heapq.heappush(rivals, self.rank[what])
                else:
                    self._offer(~what, now, rivals)
            self._dispatch(rivals, now)
        return Timing(self.start, self.makespan)

    def _offer(self, resource: int, now: float, rivals: list[tuple[float, int]]) -> None:
        """Move the best job that waits for a resource among the rivals, when the resource is free."""
        if self.free[resource] <= now and self.waiting[resource]:
            heapq.heappush(rivals, heapq.heappop(self.waiting[resource]))

    def _dispatch(self, rivals: list[tuple[float, int]], now: float) -> None:
        free, waiting, uses = self.free, self.waiting, self.shop.uses
        while rivals:
            rank = heapq.heappop(rivals)
            job = rank[1]
            busiest, until = -1, now
            for resource, _ in uses[job]:
                if free[resource] > until:
                    busiest, until = resource, free[resource]
            if busiest >= 0:
                heapq.heappush(waiting[busiest], rank)
            else:
                self._begin(job, now)
            for resource, _ in uses[job]:
                if resource != busiest:
                    self._offer(resource, now, rivals)

    def _begin(self, job: int, now: float) -> None:
        self.start[job] = now
        for resource, seconds in self.shop.uses[job]:
            until = now + seconds
            self.free[resource] = until
            heapq.heappush(self.events, (until, ~resource))
        arrival = now + self.length[job]
        self.makespan = max(self.makespan, arrival)
        ready, missing = self.ready, self.missing
        for after in self.next[job]:
            ready[after] = max(ready[after], arrival)
            missing[after] -= 1
            if not missing[after]:
                heapq.heappush(self.events, (ready[after], after))
