"""Modulo scheduling: one round of transfers is placed so that it can start again every period.

Every resource is a clock face of one period. Transfers are placed with the longest tail first, each at the first time
that is free on all its faces; where none is, it takes the place of others, which are placed again [1]_. ``c`` rounds
take ``(c - 1) * period`` plus the makespan of one round, so no round has to be scheduled but the first.

References
----------
.. [1] B. R. Rau, "Iterative modulo scheduling: an algorithm for software pipelining loops", MICRO 27 (1994).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass
from random import Random

from syccl.solve.list_schedule import JobShop, tails

_TICKS = 1 << 20
"""Ticks of one period: times are whole numbers, so that intervals that touch do not overlap."""
_ROUNDING = 64
"""Ticks that rounding may add up to over the hops of a tree."""
_TRIES = 16
"""Placements per job, ejected ones included, before the period is given up."""
_LONGER = (1.0, 1.02, 1.05, 1.1, 1.17, 1.25, 1.4, 1.6, 2.0)


@dataclass(frozen=True, slots=True)
class Round:
    """Start of every job of one round, and after what time the next round may start, in seconds."""

    start_s: list[float]
    period_s: float
    makespan_s: float

    def seconds(self, rounds: int) -> float:
        """Return when the last of some rounds is over."""
        return (rounds - 1) * self.period_s + self.makespan_s


def modulo_schedule(shop: JobShop) -> Round | None:
    """Return a round with a period as short as found; None where even twice the load of the busiest link is too short.

    Parameters
    ----------
    shop
        Jobs of one round.
    """
    load: Counter[int] = Counter()
    for uses in shop.uses:
        for resource, seconds in uses:
            load[resource] += seconds  # type: ignore[assignment]
    busiest = max(load.values(), default=0.0)
    if not busiest:
        return Round([0.0] * len(shop.uses), 0.0, max(tails(shop), default=0.0))
    for factor in _LONGER:
        tried = [_Faces(shop, busiest * factor, aligned=aligned).place() for aligned in (False, True)]
        found = [made for made in tried if made is not None]
        if found:
            return min(found, key=lambda made: made.makespan_s)
    return None


class _Faces:
    """Clock faces of all resources, in ticks."""

    def __init__(self, shop: JobShop, period_s: float, *, aligned: bool) -> None:
        self.shop, self.period_s, self.aligned = shop, period_s, aligned
        self.tick = period_s / _TICKS
        self.need = [
            [(resource, max(1, int(seconds / self.tick - 1e-6))) for resource, seconds in uses] for uses in shop.uses
        ]
        self.grid = [max((ticks for _, ticks in need), default=1) for need in self.need]
        self.busy: dict[int, dict[int, tuple[int, int]]] = {resource: {} for need in self.need for resource, _ in need}
        """Job -> phase and length, of every resource."""
        self.phase = [-1] * len(self.need)
        self.draw = Random(0)

    def place(self) -> Round | None:
        """Return the round of this period, or None."""
        if any(self.grid[job] > _TICKS for job in range(len(self.need))):
            return None
        tail = tails(self.shop)
        queue = [(-tail[job], job) for job in range(len(self.need))]
        heapq.heapify(queue)
        earliest = self._earliest()
        budget = (_TRIES if self.aligned else 1) * len(self.need)
        while queue:
            if budget <= 0:
                return None
            budget -= 1
            _, job = heapq.heappop(queue)
            phase, ejected = self._choose(job, earliest[job])
            if ejected and not self.aligned:
                return None
            for other in ejected:
                self._remove(other)
                heapq.heappush(queue, (-tail[other], other))
            self.phase[job] = phase
            for resource, ticks in self.need[job]:
                self.busy[resource][job] = phase, ticks
        return self._round()

    def _earliest(self) -> list[int]:
        """Return the phase at which each job would start if nothing else were there."""
        ready = [0.0] * len(self.need)
        for job, after in enumerate(self.shop.after):
            ready[job] = max((ready[before] + self.shop.duration_s(before) for before in after), default=0.0)
        return [math.ceil(seconds / self.tick) % _TICKS for seconds in ready]

    def _conflicts(self, job: int, phase: int) -> set[int]:
        """Return the jobs that overlap with a job at a phase."""
        found = set()
        for resource, ticks in self.need[job]:
            for other, (at, length) in self.busy[resource].items():
                if (at - phase) % _TICKS < ticks or (phase - at) % _TICKS < length:
                    found.add(other)
        return found

    def _choose(self, job: int, earliest: int) -> tuple[int, set[int]]:
        """Return the first free phase, or one where the job takes the place of few others."""
        best: tuple[float, int, set[int]] | None = None
        for phase in self._phases(job, earliest):
            conflicts = self._conflicts(job, phase)
            if not conflicts:
                return phase, conflicts
            # By chance, so that jobs do not eject each other in a circle.
            cost = len(conflicts) + self.draw.random()
            if best is None or cost < best[0]:
                best = cost, phase, conflicts
        return (0, set()) if best is None else best[1:]

    def _phases(self, job: int, earliest: int) -> list[int]:
        """Return phases worth trying, soonest first: the job's own grid, or next to what is there."""
        if self.aligned:
            step = self.grid[job]
            slots = max(1, _TICKS // step)
            first = -(-earliest // step)
            return [((first + turn) % slots) * step for turn in range(slots)]
        phases = {earliest}
        for resource, ticks in self.need[job]:
            for at, length in self.busy[resource].values():
                phases |= {(at + length) % _TICKS, (at - ticks) % _TICKS}
        return sorted(phases, key=lambda phase: (phase - earliest) % _TICKS)

    def _remove(self, job: int) -> None:
        for resource, _ in self.need[job]:
            del self.busy[resource][job]
        self.phase[job] = -1

    def _round(self) -> Round:
        """Return the first start of each job at its phase, once its inputs are there."""
        start: list[float] = []
        makespan = 0.0
        for job, after in enumerate(self.shop.after):
            ready = max((start[before] + self.shop.duration_s(before) for before in after), default=0.0)
            # A start may be early by the rounding of the hops before it, not late by a whole period.
            turns = math.ceil(max(0.0, ready / self.period_s - (self.phase[job] + _ROUNDING) / _TICKS))
            start.append(max(ready, (turns + self.phase[job] / _TICKS) * self.period_s))
            makespan = max(makespan, start[job] + self.shop.duration_s(job))
        return Round(start, self.period_s, makespan)
