"""Whole pieces for trees: how many pieces take each tree of a pool so that the busiest link is done soonest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.optimize.linear import IntegerSolution, LinearProgram, solve_integer, solve_linear
from syccl.optimize.status import Status

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

_LARGE = 25_000
"""Columns times orbits above which the integer program is left out: its root alone takes seconds there."""


@dataclass(frozen=True, eq=False)
class Combination:
    """How many pieces take each column.

    Parameters
    ----------
    multiplicities
        Number of pieces on each column, summing to the pieces of its group; shape ``(columns,)``.
    value
        Time of the busiest link in seconds per byte, with the data of a group cut into equal pieces.
    bound
        No other combination of these columns takes less time; equals the linear relaxation or is above it.
    status
        Optimal where ``value`` is within the asked gap of ``bound``, else feasible.
    """

    multiplicities: Ints
    value: float
    bound: float
    status: Status


def combine(  # noqa: PLR0913  the program, and three ways to end
    loads: Floats,
    groups: Ints,
    pieces: int,
    capacities: Floats,
    *,
    depths: Ints | None = None,
    gap: float = 1e-3,
    node_limit: int = 50,
    limit_s: float | None = None,
) -> Combination:
    """Choose a column for every piece so that the busiest link is done soonest.

    The linear relaxation is rounded and improved piece by piece; an integer program goes on from there.

    Parameters
    ----------
    loads
        Bytes on each link of every orbit per byte of a group's data that takes a column, shape ``(columns, orbits)``.
    groups
        Group of every column, counted from 0 without holes, shape ``(columns,)``.
    pieces
        Number of equal pieces that the data of each group is cut into.
    capacities
        Bandwidth of one link of every orbit, bytes per second, shape ``(orbits,)``.
    depths
        When given, pieces leave deep and little used columns where that costs no time. Shape ``(columns,)``.
    gap
        Relative distance from the optimum that is good enough.
    node_limit
        Branch-and-bound nodes of the integer program.
    limit_s
        Seconds of the clock for the integer program; None for no such limit.
    """
    program = bottleneck_program(loads, groups, capacities, pieces=pieces)
    unit = 1.0 / float(capacities.max(initial=1.0))
    relaxed = solve_linear(program)
    if relaxed.status is Status.OPTIMAL:
        shares, bound = relaxed.values[:-1], relaxed.objective * unit
    else:
        shares, bound = np.ones(len(groups)), 0.0
    times = loads / (capacities * pieces)
    best = _improved(_rounded(shares, groups, pieces), groups, times)
    value = _busiest(best, times)
    if value > bound * (1.0 + gap) and times.size <= _LARGE:
        branched = _branched(program, np.append(best, value / unit), gap=gap, node_limit=node_limit, limit_s=limit_s)
        bound = max(bound, branched.bound * unit)
        if branched.status.has_solution and branched.objective * unit < value:
            best = branched.values[:-1].astype(np.int32)
            value = _busiest(best, times)
    status = Status.OPTIMAL if value <= bound * (1.0 + gap) else Status.FEASIBLE
    if depths is not None:
        best = _tidied(best, groups, depths, times, limit=value)
    return Combination(best, value, bound, status)


def bottleneck_program(loads: Floats, groups: Ints, capacities: Floats, *, pieces: int = 1) -> LinearProgram:
    """State how to spread ``pieces`` units of every group over its columns with the busiest link done soonest.

    One variable per column, then the time of the busiest link in bytes of a group's data over the fastest link, so
    that all coefficients are of moderate size. One row per group, then one per link orbit.

    Parameters
    ----------
    loads, groups, capacities, pieces
        As in `combine`.
    """
    orbit, column = np.nonzero(loads.T)
    orbits, count = len(capacities), len(groups)
    totals = np.full(int(groups.max()) + 1, float(pieces))
    rates = capacities * (pieces / capacities.max(initial=1.0))
    time_rows, time_column = len(totals) + np.arange(orbits), np.full(orbits, count)
    return LinearProgram(
        objective=np.append(np.zeros(count), 1.0),
        lower=np.zeros(count + 1),
        upper=np.append(np.full(count, float(pieces)), np.inf),
        row_lower=np.append(totals, np.full(orbits, -np.inf)),
        row_upper=np.append(totals, np.zeros(orbits)),
        entry_row=np.concatenate((groups, len(totals) + orbit, time_rows)).astype(np.int32),
        entry_column=np.concatenate((np.arange(count), column, time_column)).astype(np.int32),
        entry_value=np.concatenate((np.ones(count), loads[column, orbit], -rates)),
    )


def _busiest(counts: Ints, times: Floats) -> float:
    """Return the time of the busiest link."""
    return float((counts @ times).max(initial=0.0))


def _rounded(shares: Floats, groups: Ints, pieces: int) -> Ints:
    """Give out the pieces of every group by largest remainder."""
    wanted = np.maximum(shares, 0.0)
    wanted = wanted * (pieces / np.bincount(groups, weights=wanted)[groups])
    counts = np.floor(wanted + 1e-9).astype(np.int32)
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        order = members[np.argsort((counts - wanted)[members], kind="stable")]
        counts[order[: pieces - int(counts[members].sum())]] += 1
    return counts


def _improved(counts: Ints, groups: Ints, times: Floats) -> Ints:
    """Move single pieces off the busiest link to other columns of their group until none helps."""
    counts = counts.copy()
    total = counts @ times
    best = _norm(total[None])[0]
    while total.size:
        busiest = times[:, total.argmax()]
        for source in np.flatnonzero((counts > 0) & (busiest > 0)).tolist():
            targets = np.flatnonzero((groups == groups[source]) & (busiest < busiest[source]))
            norms = _norm(total - times[source] + times[targets])
            if norms.min(initial=np.inf) < best * (1.0 - 1e-9):
                best = norms.min()
                counts[source] -= 1
                counts[targets[norms.argmin()]] += 1
                total = counts @ times
                break
        else:
            break
    return counts


def _norm(times: Floats) -> Floats:
    """Return the 32-norm of every row, a stand-in for the maximum that sees more than one link."""
    top = times.max(axis=1, initial=1e-300)
    power = times / top[:, None]
    for _ in range(5):
        power *= power
    return np.asarray(top * power.sum(axis=1) ** (1.0 / 32.0))


def _branched(
    program: LinearProgram, start: Floats, *, gap: float, node_limit: int, limit_s: float | None
) -> IntegerSolution:
    """Solve for whole pieces, from a combination and its time."""
    whole = np.append(np.ones(len(start) - 1, dtype=np.bool_), False)
    return solve_integer(program, whole, node_limit=node_limit, gap=gap, hint=start, limit_s=limit_s)


def _tidied(counts: Ints, groups: Ints, depths: Ints, times: Floats, *, limit: float) -> Ints:
    """Empty columns one by one, deep and little used ones first, into used or shallower ones within a limit of time."""
    counts = counts.copy()
    for source in np.lexsort((counts, -depths)).tolist():
        same = (groups == groups[source]) & (np.arange(len(counts)) != source)
        targets = np.flatnonzero(same & (depths <= depths[source]) & ((counts > 0) | (depths < depths[source])))
        trial = counts.copy()
        while trial[source] and len(targets):
            trial[source] -= 1
            norms = _norm(trial @ times + times[targets])
            trial[targets[int(norms.argmin())]] += 1
        if not trial[source] and float((trial @ times).max(initial=0.0)) <= limit:
            counts = trial
    return counts
