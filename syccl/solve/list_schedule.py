"""Job shop over link orbits: when each transfer starts, by priority and never idle without need.

A job occupies each of its resources from one common start (a transfer passes all links of its route at once), and its
result is there after its last resource is released plus its latency.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

_TOGETHER = 1 + 1e-12
"""Events within this factor happen at the same time."""


@dataclass(frozen=True)
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

    @property
    def busiest_s(self) -> float:
        """Seconds that all jobs together occupy the busiest resource."""
        left: dict[int, float] = defaultdict(float)
        for uses in self.uses:
            for resource, seconds in uses:
                left[resource] += seconds
        return max(left.values(), default=0.0)

    @cached_property
    def durations_s(self) -> list[float]:
        """For each job, seconds from start to arrival."""
        longest = [max([seconds for _, seconds in uses], default=0.0) for uses in self.kinds]
        return [longest[kind] + latency for kind, latency in zip(self.kind_of, self.latency_s, strict=True)]

    def duration_s(self, job: int) -> float:
        """Return seconds from start to arrival."""
        return self.durations_s[job]

    @cached_property
    def kinds(self) -> list[tuple[tuple[int, float], ...]]:
        """The different uses of resources, in order of appearance."""
        return list(dict.fromkeys(map(tuple, self.uses)))

    @cached_property
    def kind_of(self) -> list[int]:
        """For each job, the place of its uses among all kinds."""
        place = {uses: kind for kind, uses in enumerate(self.kinds)}
        return [place[tuple(uses)] for uses in self.uses]

    @cached_property
    def followers(self) -> list[list[int]]:
        """For each job, indices of the jobs that wait for it."""
        waiting: list[list[int]] = [[] for _ in self.after]
        for job, after in enumerate(self.after):
            for earlier in after:
                waiting[earlier].append(job)
        return waiting


@dataclass(frozen=True, slots=True)
class Timing:
    """Start of every job and the makespan, in seconds."""

    start_s: list[float]
    makespan_s: float


def tails(shop: JobShop) -> list[float]:
    """Return for each job the longest chain of durations from its start to the end, in seconds."""
    tail = shop.durations_s.copy()
    best = [0.0] * len(tail)
    for job in range(len(tail) - 1, -1, -1):
        tail[job] += best[job]
        for before in shop.after[job]:
            best[before] = max(best[before], tail[job])
    return tail


def list_schedule(
    shop: JobShop, priority: Sequence[float], *, crowded_first: bool = False, within_s: float = math.inf
) -> Timing:
    """Start jobs as early as their inputs and resources allow, of rivals the one of highest priority first.

    Parameters
    ----------
    crowded_first
        Whether, before that, the rival goes first that uses a resource with more left to do.
    within_s
        Makespan that is of interest; where it cannot be kept, the makespan returned is infinite.
    """
    return _Run(shop, priority, crowded_first, within_s).finish()


def in_order(shop: JobShop, sequence: Sequence[int]) -> Timing:
    """Start jobs as early as their inputs and resources allow; every resource serves its jobs in the given sequence.

    Parameters
    ----------
    sequence
        All jobs, each after those that it waits for.
    """
    free: dict[int, float] = {}
    start = [0.0] * len(shop.uses)
    arrival = [0.0] * len(shop.uses)
    for job in sequence:
        uses = shop.uses[job]
        begin = max((free.get(resource, 0.0) for resource, _ in uses), default=0.0)
        for before in shop.after[job]:
            begin = max(begin, arrival[before])
        start[job] = begin
        longest = 0.0
        for resource, seconds in uses:
            free[resource] = begin + seconds
            longest = max(longest, seconds)
        arrival[job] = begin + longest + shop.latency_s[job]
    return Timing(start, max(arrival, default=0.0))


def backwards_after(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return what each job waits for when jobs run backwards in time, numbered from the last one."""
    last = len(after) - 1
    back: list[list[int]] = [[] for _ in after]
    for job, before in enumerate(after):
        for earlier in before:
            back[last - earlier].append(last - job)
    return back


def mirrored_schedule(shop: JobShop, *, crowded_first: bool = False) -> Timing:
    """Return the jobs in the order of a list schedule, longest tails first, that runs backwards in time.

    Reductions are copies backwards in time, so what orders the one well orders the other well.
    """
    back = JobShop(shop.uses[::-1], shop.latency_s[::-1], backwards_after(shop.after))
    timing = list_schedule(back, tails(back), crowded_first=crowded_first)
    end_s = [start + back.duration_s(job) for job, start in enumerate(timing.start_s)]
    last = len(end_s) - 1
    return in_order(shop, sorted(range(len(end_s)), key=lambda job: (-end_s[last - job], job)))


class _Run:
    """State of one list scheduling run; jobs on the same resources form a kind with one queue."""

    def __init__(self, shop: JobShop, priority: Sequence[float], crowded_first: bool, within_s: float) -> None:
        jobs = len(shop.uses)
        kinds = self.uses = shop.kinds
        self.kind = shop.kind_of
        self.length = [max((seconds for _, seconds in uses), default=0.0) for uses in kinds]
        self.resources = [tuple(resource for resource, _ in uses) for uses in kinds]
        resources = 1 + max((r for own in self.resources for r in own), default=0)
        self.latency, self.crowded_first, self.within_s = shop.latency_s, crowded_first, within_s
        self.latest_s = within_s * _TOGETHER
        self.rank = [(-priority[job], job) for job in range(jobs)]
        self.queue: list[list[tuple[float, int]]] = [[] for _ in kinds]
        self.is_free = [True] * resources
        # For each resource the kinds with a queue, in order of appearance.
        self.waiting: list[dict[int, None]] = [{} for _ in range(resources)]
        self.left = [0.0] * resources
        for kind, count in Counter(self.kind).items():
            for resource, seconds in kinds[kind]:
                self.left[resource] += seconds * count
        self.start = [0.0] * jobs
        self.ready = [0.0] * jobs
        self.missing = [len(after) for after in shop.after]
        self.next = shop.followers
        self.makespan = 0.0
        # (time, job or ~resource): a job becomes ready or a resource free.
        self.events: list[tuple[float, int]] = [(0.0, job) for job in range(jobs) if not self.missing[job]]

    def finish(self) -> Timing:
        events, waiting = self.events, self.waiting
        while events and self.makespan <= self.within_s:
            limit = events[0][0] * _TOGETHER
            touched: dict[int, None] = {}
            now = 0.0
            while events and events[0][0] <= limit:
                now, what = heappop(events)
                if what >= 0:
                    touched[self._enqueue(what)] = None
                else:
                    self.is_free[~what] = True
                    touched.update(waiting[~what])
            self._dispatch(touched, now)
        return Timing(self.start, self.makespan if self.makespan <= self.within_s else math.inf)

    def _enqueue(self, job: int) -> int:
        """Put a ready job into the queue of its kind."""
        kind = self.kind[job]
        queue = self.queue[kind]
        if not queue:
            for resource in self.resources[kind]:
                self.waiting[resource][kind] = None
        heappush(queue, self.rank[job])
        return kind

    def _dispatch(self, touched: Iterable[int], now: float) -> None:
        """Start one job of each kind that may, best first; a job without resources leaves its kind free to go on."""
        is_free, resources = self.is_free, self.resources
        rivals = []
        for kind in touched:
            for resource in resources[kind]:
                if not is_free[resource]:
                    break
            else:
                rivals.append(kind)
        if len(rivals) > 1:
            rivals.sort(key=self._crowded if self.crowded_first else self._first)
        for kind in rivals:
            queue, own = self.queue[kind], resources[kind]
            while queue:
                for resource in own:
                    if not is_free[resource]:
                        break
                else:
                    self._begin(heappop(queue)[1], kind, now)
                    continue
                break

    def _first(self, kind: int) -> tuple[float, int]:
        return self.queue[kind][0]

    def _crowded(self, kind: int) -> tuple[float, tuple[float, int]]:
        left = self.left
        return -max([left[resource] for resource in self.resources[kind]], default=0.0), self.queue[kind][0]

    def _begin(self, job: int, kind: int, now: float) -> None:
        self.start[job] = now
        events, left, is_free = self.events, self.left, self.is_free
        is_last = not self.queue[kind]
        for resource, seconds in self.uses[kind]:
            is_free[resource] = False
            if now + left[resource] > self.latest_s:
                self.makespan = math.inf
            left[resource] -= seconds
            heappush(events, (now + seconds, ~resource))
            if is_last:
                del self.waiting[resource][kind]
        arrival = now + self.length[kind] + self.latency[job]
        if arrival > self.makespan:  # noqa: PLR1730  the loop is hot, and a call is slower
            self.makespan = arrival
        ready, missing = self.ready, self.missing
        for after in self.next[job]:
            if arrival > ready[after]:  # noqa: PLR1730
                ready[after] = arrival
            missing[after] -= 1
            if not missing[after]:
                heappush(events, (ready[after], after))
