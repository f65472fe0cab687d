"""Crux (SIGCOMM 2024): jobs that compute most for each second of communication go first, over paths of their own.

Its three steps are path selection (section 4.1 of the paper), priority assignment (4.2) and, in ``compress``, priority
compression (4.3). What the paper leaves open is said where it is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from syccl.topology import Topology
from syccl.traffic.compress import first_levels
from syccl.traffic.flows import Flow
from syccl.traffic.simulate import Load, contending, simulate

LEAST_FACTOR, LARGEST_FACTOR = 0.1, 10.0
"""Limits of the correction of a priority."""

_ROUNDS = 100
_TRIAL_ROUNDS = 30
"""Iterations of the slowest job in a trial."""
_MOST_ITERATIONS = 20_000
"""Iterations of all jobs of a trial, so that jobs of very unlike iterations do not take for ever."""
_NO_DIFFERENCE = 0.01
"""Share of the time below which two orders are taken to serve a job alike; iterations cut off at the end may differ."""


def intensities(loads: Sequence[Load], flops: Sequence[float]) -> list[float]:
    """Return the GPU intensity of each job: FLOPs of an iteration over its seconds of communication alone."""
    return [each / load.alone_s for load, each in zip(loads, flops, strict=True)]


def select_paths(
    topology: Topology, flows: Sequence[Sequence[Flow]], intensity: Sequence[float], iteration_s: Sequence[float]
) -> list[tuple[int, ...]]:
    """Return the candidate that each flow of each job takes: the least congested when its job's turn comes.

    Jobs take turns by descending intensity, their flows by descending size. A link's congestion is the share of its
    time that what was placed on it needs; paths compare by their most congested link, then the next, and so on.

    Parameters
    ----------
    iteration_s
        Seconds of an iteration of each job, alone.
    """
    busy: dict[int, float] = {}
    chosen: list[tuple[int, ...]] = [()] * len(flows)
    for job in sorted(range(len(flows)), key=lambda job: (-intensity[job], job)):
        mine = flows[job]
        choice = [0] * len(mine)
        for at in sorted(range(len(mine)), key=lambda at: (-mine[at].size_bytes, at)):
            flow = mine[at]
            each_s = flow.size_bytes / iteration_s[job]
            loaded = [
                sorted((busy.get(i, 0.0) + each_s / topology.links[i].rate for i in route.links), reverse=True)
                for route in flow.candidates
            ]
            choice[at] = min(range(len(loaded)), key=lambda option: (loaded[option], option))
            for i in flow.candidates[choice[at]].links:
                busy[i] = busy.get(i, 0.0) + each_s / topology.links[i].rate
        chosen[job] = tuple(choice)
    return chosen


def priorities(loads: Sequence[Load], intensity: Sequence[float], traffic: Sequence[float]) -> list[float]:
    """Return the priority of each job: its intensity, times a factor where a trial shows that to be of use.

    Among jobs that contend, the factor compares each with the reference, the job that sends most, on a link that only
    the two of them use. Where others fill the time in which such a link would idle, the factor misleads. So all jobs
    that contend are simulated for a while by intensity alone and with the factors, and the better priorities stand.

    Parameters
    ----------
    traffic
        Bytes that each job sends in an iteration.
    """
    found = list(intensity)
    for jobs in contending(loads):
        if len(jobs) == 1:
            continue
        reference = max(jobs, key=lambda job: (traffic[job], -job))
        factors = [1.0 if job == reference else correction(loads[reference], loads[job]) for job in jobs]
        mine, plain = [loads[job] for job in jobs], [intensity[job] for job in jobs]
        corrected = [factor * each for factor, each in zip(factors, plain, strict=True)]
        if _trial_flops(mine, plain, corrected) > _trial_flops(mine, plain, plain):
            for job, priority in zip(jobs, corrected, strict=True):
                found[job] = priority
    return found


def _trial_flops(loads: Sequence[Load], intensity: Sequence[float], priority: Sequence[float]) -> float:
    """Return the FLOPs that jobs do together in a trial, each with a level of its own."""
    levels = first_levels(priority, len(loads))
    trial = [
        replace(load, level=level, arrival_s=0.0, iterations=None) for load, level in zip(loads, levels, strict=True)
    ]
    done = simulate(trial, _time_s(loads, _TRIAL_ROUNDS))
    each = [load.alone_s * job / load.compute_s for load, job in zip(loads, intensity, strict=True)]
    return sum(progress.computed_s * rate for progress, rate in zip(done, each, strict=True))


def correction(reference: Load, job: Load) -> float:
    """Return at which ratio of intensities it is all the same which of two jobs goes first on one link.

    Both orders are simulated, and the time that the link carries each job is compared: what the job gains by going
    first over what the reference loses. Where neither changes (the orders differ at the start only) it is 1. Only the
    second half of the simulated time counts, so that starts do not.
    """
    ahead, behind = _carried_s(reference, job, first=0), _carried_s(reference, job, first=1)
    gain, loss = behind[1] - ahead[1], ahead[0] - behind[0]
    least = _NO_DIFFERENCE * _time_s((reference, job), _ROUNDS)
    if gain < least and loss < least:
        return 1.0
    if loss < least:
        return LARGEST_FACTOR
    return min(max(gain / loss, LEAST_FACTOR), LARGEST_FACTOR)


def _time_s(loads: Sequence[Load], rounds: int) -> float:
    """Return the seconds of so many iterations of the slowest job, fewer where others would do too many in them."""
    each = [load.iteration_alone_s for load in loads]
    return min(rounds * max(each), _MOST_ITERATIONS / sum(1 / seconds for seconds in each))


def _carried_s(reference: Load, job: Load, *, first: int) -> tuple[float, float]:
    """Return for how long one link carries each of two jobs in the second half; ``first`` is 0 for the reference."""
    pair = [
        replace(each, link_s={0: each.alone_s}, level=int(at != first), arrival_s=0.0, iterations=None)
        for at, each in enumerate((reference, job))
    ]
    time = _time_s(pair, _ROUNDS)
    halves = [simulate(pair, time), simulate(pair, 2 * time)]
    carried = [(halves[1][at].rounds - halves[0][at].rounds) * pair[at].alone_s for at in range(2)]
    return carried[0], carried[1]
