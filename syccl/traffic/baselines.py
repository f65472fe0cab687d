"""What Crux is compared with: coflow orders, distance, and communication shifted in time.

Each follows its paper in what decides the order of jobs or the time of their communication; none of them is that
paper's system.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.traffic.flows import Flow
from syccl.traffic.simulate import Load, contending, full_links

_SHIFTS = 24
"""Shifts of a job that are compared, evenly over its iteration."""
_SWEEPS = 2
_SAMPLES = 1024
_SAMPLED_ITERATIONS = 8
"""Iterations of the slowest job of a group in which overlap is counted."""


def bssi_order(loads: Sequence[Load]) -> list[int]:
    """Return jobs, the first to be served first, as Sincronia (SIGCOMM 2018) orders coflows of equal weight.

    Again and again the link with most left to carry is taken, and of the jobs on it the one of least weight for its
    demand goes last; the weights of the others there sink by their share of its demand.
    """
    left, weights = set(range(len(loads))), [1.0] * len(loads)
    total: dict[int, float] = {}
    for load in loads:
        for link, seconds in load.link_s.items():
            total[link] = total.get(link, 0.0) + seconds
    order = []
    while left:
        busiest = min(total, key=lambda link: (-total[link], link))
        users = [job for job in sorted(left) if loads[job].link_s.get(busiest, 0.0) > 0]
        if not users:  # What is left of sums that were rounded.
            total[busiest] = -1.0
            continue
        last = min(users, key=lambda job: (weights[job] / loads[job].link_s[busiest], -job))
        ratio = weights[last] / loads[last].link_s[busiest]
        for job in users:
            weights[job] -= ratio * loads[job].link_s[busiest]
        left.remove(last)
        order.append(last)
        for link, seconds in loads[last].link_s.items():
            total[link] -= seconds
    return order[::-1]


def sebf_order(loads: Sequence[Load]) -> list[int]:
    """Return jobs by their time of communication alone, the shortest first, as Varys (SIGCOMM 2014) orders coflows."""
    return sorted(range(len(loads)), key=lambda job: (loads[job].alone_s, job))


def balanced_levels(order: Sequence[int], levels: int) -> list[int]:
    """Return a level of each job: as many jobs on every level, give or take one, in the order."""
    found = [0] * len(order)
    for at, job in enumerate(order):
        found[job] = at * min(levels, len(order)) // len(order)
    return found


def distance_levels(flows: Sequence[Sequence[Flow]], levels: int) -> list[int]:
    """Return a level of each job: the farther its flows go, in links, the higher; equally far jobs share one."""
    far = [max(len(route.links) for flow in mine for route in flow.candidates) for mine in flows]
    ranked = sorted(set(far), reverse=True)
    return [min(ranked.index(each), levels - 1) for each in far]


def shifts_s(loads: Sequence[Load]) -> list[float]:
    """Return for how many seconds each job waits at its start, so that jobs communicate at different times.

    As in CASSINI (NSDI 2024) the communication of an iteration is an arc of a circle that is turned: in turns, those
    that communicate longest first, a job takes the shift of least demand beyond what full links carry. Iterations are
    taken to be as long as alone; what drifts apart later is not shifted again.
    """
    found = [0.0] * len(loads)
    shares = list(full_links(loads).values())
    for jobs in contending(loads):
        if len(jobs) > 1:
            rows = sorted({tuple(of.get(job, 0.0) for job in jobs) for of in shares if of.keys() <= set(jobs)})
            mine = [loads[job] for job in jobs]
            for job, shift in zip(jobs, _turned(mine, np.array(rows)), strict=True):
                found[job] = shift
    return found


def _turned(loads: Sequence[Load], shares: NDArray[np.float64]) -> list[float]:
    """Return the shifts of jobs that contend; ``shares`` of each link (row) that each takes."""
    longest = max(load.iteration_alone_s for load in loads)
    times = np.linspace(0.0, _SAMPLED_ITERATIONS * longest, _SAMPLES, endpoint=False)
    shifts = [0.0] * len(loads)
    sends = [_sends(load, times, 0.0) for load in loads]
    for _ in range(_SWEEPS):
        for job in sorted(range(len(loads)), key=lambda job: (-loads[job].alone_s, job)):
            rows = shares[shares[:, job] > 0]
            other = sum(np.outer(rows[:, at], sends[at]) for at in range(len(loads)) if at != job)
            options = [at / _SHIFTS * loads[job].iteration_alone_s for at in range(_SHIFTS)]
            tried = [_sends(loads[job], times, shift) for shift in options]
            excess = [np.maximum(0.0, other + np.outer(rows[:, job], each) - 1.0).sum() for each in tried]
            best = min(range(_SHIFTS), key=lambda at: (round(float(excess[at]), 9), at))
            shifts[job], sends[job] = options[best], tried[best]
    return shifts


def _sends(load: Load, times: NDArray[np.float64], shift_s: float) -> NDArray[np.float64]:
    """Return 1 where a job communicates at a time, else 0."""
    begin = (1 - load.overlap) * load.compute_s
    phase = (times - shift_s - begin) % load.iteration_alone_s
    return (phase < load.alone_s).astype(np.float64)
