"""Many jobs in time: each repeats compute and communication, and all share links by priority, then fairly.

A job communicates as one aggregate: its speed is the share of what it reaches alone, and every link it uses carries it
in proportion. Links serve levels strictly; within a level, jobs that share a full link slow down alike (what many
connections of each job come to), and what one cannot use is left to the others. Latency is not modelled.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_FULL = 1e-9
_MOST_KEPT = 100_000
"""Most sets of jobs whose speeds are kept."""


@dataclass(frozen=True)
class Load:
    """What the simulator needs to know of a job; times in seconds.

    Parameters
    ----------
    link_s
        Seconds that each link needs for one iteration of the job, by link id (see ``link_seconds``).
    level
        Priority, 0 the highest.
    """

    compute_s: float
    overlap: float
    link_s: dict[int, float]
    level: int = 0
    arrival_s: float = 0.0
    iterations: int | None = None

    @cached_property
    def alone_s(self) -> float:
        """Seconds of communication in an iteration without other jobs."""
        return max(self.link_s.values())

    @cached_property
    def iteration_alone_s(self) -> float:
        """Seconds of an iteration without other jobs."""
        return max(self.compute_s, (1 - self.overlap) * self.compute_s + self.alone_s)


@dataclass(frozen=True)
class Progress:
    """How far a job came; times in seconds.

    ``rounds`` is how often it communicated, the last time possibly in part.
    """

    iterations: int
    held_s: float
    computed_s: float
    rounds: float
    mean_iteration_s: float
    longest_iteration_s: float
    completion_s: float | None
    """From arrival to completion; None where it was not complete in the time simulated."""


def simulate(loads: Sequence[Load], until_s: float) -> tuple[Progress, ...]:
    """Return how far jobs come that share links, from 0 to ``until_s`` seconds.

    Jobs that never share a full link are not looked at together, so that time is spent only where jobs contend.
    """
    found: dict[int, Progress] = {}
    for jobs in contending(loads):
        if len(jobs) == 1:
            found[jobs[0]] = _alone(loads[jobs[0]], until_s)
        else:
            found.update(_Component(loads, jobs, until_s).run())
    return tuple(found[job] for job in range(len(loads)))


def full_links(loads: Sequence[Load]) -> dict[int, dict[int, float]]:
    """Return links that jobs can fill together: by link, the share of it that each job takes when it is alone."""
    users: dict[int, dict[int, float]] = {}
    for job, load in enumerate(loads):
        for link, seconds in load.link_s.items():
            users.setdefault(link, {})[job] = seconds / load.alone_s
    return {link: of for link, of in sorted(users.items()) if len(of) > 1 and sum(of.values()) > 1 + _FULL}


def contending(loads: Sequence[Load]) -> list[list[int]]:
    """Return the jobs in groups that share full links, directly or over others; both ascending."""
    root = list(range(len(loads)))

    def find(job: int) -> int:
        while root[job] != job:
            root[job] = root[root[job]]
            job = root[job]
        return job

    for shares in full_links(loads).values():
        first, *others = sorted(find(job) for job in shares)
        for other in others:
            root[find(other)] = find(first)
    groups: dict[int, list[int]] = {}
    for job in range(len(loads)):
        groups.setdefault(find(job), []).append(job)
    return list(groups.values())


def speeds(levels: Sequence[int], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the speed of each communicating job, 1 where it is as fast as alone.

    Parameters
    ----------
    levels
        Priority of each job.
    shares
        The share of each link (row) that each job takes at speed 1.
    """
    ranked = np.array(levels)
    room = np.ones(len(shares))
    found = np.zeros(len(ranked))
    for level in sorted(set(levels)):
        rising = ranked == level
        while rising.any():
            total = shares @ rising
            used = total > 0
            step = min((room[used] / total[used]).min(initial=1.0), (1.0 - found[rising]).min())
            found[rising] += step
            room = np.maximum(0.0, room - step * total)
            full = used & (room <= _FULL)
            rising = rising & (found < 1.0 - _FULL) & ~(shares[full] > 0).any(axis=0)
    return found


def _alone(load: Load, until_s: float) -> Progress:
    """Return how far a job comes whose iterations all take equally long."""
    each = load.iteration_alone_s
    time = max(0.0, until_s - load.arrival_s)
    if load.iterations is not None and load.iterations * each <= time:
        n = load.iterations
        return Progress(n, n * each, n * load.compute_s, n, each, each, n * each)
    n = int(time / each + _FULL)
    rest = time - n * each
    sent = min(1.0, max(0.0, rest - (1 - load.overlap) * load.compute_s) / load.alone_s)
    mean = each if n else 0.0
    return Progress(n, time, n * load.compute_s + min(rest, load.compute_s), n + sent, mean, mean, None)


@dataclass
class _State:
    """Where a job is: when its iteration began, how much of its communication is left, how fast it goes."""

    began_s: float
    iterations: int = 0
    left_s: float = 0.0
    seen_s: float = 0.0
    speed: float = 0.0
    longest_s: float = 0.0
    version: int = 0
    """Counts what made an announced end invalid."""


class _Component:
    """Jobs that contend, event by event: a job begins to communicate, or ends."""

    def __init__(self, loads: Sequence[Load], jobs: list[int], until_s: float) -> None:
        self.loads, self.jobs, self.until_s = loads, jobs, until_s
        self.last_s = until_s * (1 + _FULL)  # Sums of many iterations are rounded.
        inside = set(jobs)
        local = {link: of for link, of in full_links(loads).items() if of.keys() <= inside}
        self.column = {job: at for at, job in enumerate(jobs)}
        rows = sorted({tuple(of.get(job, 0.0) for job in jobs) for of in local.values()})
        self.matrix = np.array(rows)
        self.near: dict[int, set[int]] = {job: set() for job in jobs}
        for of in local.values():
            for job in of:
                self.near[job] |= of.keys()
        self.states = {job: _State(loads[job].arrival_s) for job in jobs}
        self.active: set[int] = set()
        self.events: list[tuple[float, int, int]] = []
        self.kept: dict[frozenset[int], dict[int, float]] = {}

    def run(self) -> dict[int, Progress]:
        """Return how far each job comes."""
        for job in self.jobs:
            self._begin(job, self.loads[job].arrival_s)
        while self.events and self.events[0][0] <= self.last_s:
            now, job, version = heapq.heappop(self.events)
            state = self.states[job]
            if version != state.version:
                continue
            if job in self.active:
                self.active.discard(job)
                self._share(self.near[job] & self.active, now)
                self._end(job, now)
            else:
                state.left_s, state.seen_s = self.loads[job].alone_s, now
                self.active.add(job)
                self._share({job}, now)
        return {job: self._progress(job) for job in self.jobs}

    def _begin(self, job: int, now: float) -> None:
        load, state = self.loads[job], self.states[job]
        state.began_s = now
        state.version += 1
        heapq.heappush(self.events, (now + (1 - load.overlap) * load.compute_s, job, state.version))

    def _end(self, job: int, now: float) -> None:
        load, state = self.loads[job], self.states[job]
        done = max(now, state.began_s + load.compute_s)
        if done > self.last_s:
            state.left_s = 0.0
            state.version += 1
            return
        state.iterations += 1
        state.longest_s = max(state.longest_s, done - state.began_s)
        if state.iterations == load.iterations:
            state.began_s = done
            state.version += 1
        else:
            self._begin(job, done)

    def _share(self, near: set[int], now: float) -> None:
        """Give new speeds to the communicating jobs that are reached from some over shared links."""
        todo, reached = sorted(near), set(near)
        while todo:
            more = (self.near[todo.pop()] & self.active) - reached
            reached |= more
            todo += sorted(more)
        key = frozenset(reached)
        if key not in self.kept:
            if len(self.kept) >= _MOST_KEPT:
                self.kept.clear()
            self.kept[key] = self._speeds(sorted(key))
        for job, speed in self.kept[key].items():
            state = self.states[job]
            state.left_s = max(0.0, state.left_s - (now - state.seen_s) * state.speed)
            state.seen_s = now
            if speed == state.speed and speed and state.left_s < self.loads[job].alone_s:
                continue
            state.speed = speed
            state.version += 1
            if state.left_s <= _FULL * self.loads[job].alone_s:
                heapq.heappush(self.events, (now, job, state.version))  # It ends now, whoever else begins now.
            elif speed:
                heapq.heappush(self.events, (now + state.left_s / speed, job, state.version))

    def _speeds(self, active: list[int]) -> dict[int, float]:
        columns = [self.column[job] for job in active]
        shares = self.matrix[:, columns]
        found = speeds([self.loads[job].level for job in active], shares[shares.sum(axis=1) > 1.0 + _FULL])
        return dict(zip(active, found.tolist(), strict=True))

    def _progress(self, job: int) -> Progress:
        load, state, until = self.loads[job], self.states[job], self.until_s
        n, complete = state.iterations, state.iterations == load.iterations
        end = state.began_s if complete else max(until, load.arrival_s)
        held = end - load.arrival_s
        rest = 0.0 if complete else max(0.0, until - state.began_s)
        sent = 0.0
        if not complete and rest > (1 - load.overlap) * load.compute_s:
            left = state.left_s - (until - state.seen_s) * state.speed if job in self.active else state.left_s
            sent = 1.0 - max(0.0, left) / load.alone_s
        computed = n * load.compute_s + min(rest, load.compute_s)
        mean = (state.began_s - load.arrival_s) / n if n else 0.0
        return Progress(n, held, computed, n + sent, mean, state.longest_s, held if complete else None)
