"""Schedule time: when every transfer starts and arrives if each link keeps the schedule's order.

A transfer starts when what it carries is there and every link of its route has finished the transfers that come
before it; it then takes ``bytes / bandwidth`` of each link from one common start and arrives after the latencies of
its route and its slowest link. Copies of one transfer start together and share common links evenly. A schedule
compressed by symmetry is timed in the quotient: one row for each orbit of transfers, one clock for each orbit of links.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.schedule.ir import Schedule, Symmetry
from syccl.symmetry.group import link_permutation

Longs = NDArray[np.int64]
Seconds = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScheduleTime:
    """When the transfers of a schedule run.

    Parameters
    ----------
    seconds
        When the last transfer arrives.
    start_s
        Start of each row of the schedule, shape ``(rows,)``; the images of a row start together.
    finish_s
        Arrival of each row, shape ``(rows,)``.
    link_busy_s
        Time that each link of the topology is busy, shape ``(links,)``.
    bottleneck
        The link that is busy longest (of equals the lowest id), or None where nothing is sent.
    """

    seconds: float
    start_s: Seconds
    finish_s: Seconds
    link_busy_s: Seconds
    bottleneck: int | None


@dataclass(frozen=True, eq=False)
class _Places:
    """Numbers for the places where chunks and messages are: one for each orbit of a symmetric schedule.

    ``held`` and ``sent_to`` number the (chunk, rank) that a row reads and writes, ``clock`` the links, and
    ``copies`` says how many messages one pass of a row puts on each link of a clock.
    """

    held: Longs
    sent_to: Longs
    clock: Longs
    copies: Longs


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """What each row waits for: arrivals ``first[row]`` to ``last[row]``; ``own[row]`` is the one that it is part of."""

    own: Longs
    first: Longs
    last: Longs


def schedule_time(schedule: Schedule, *, size_bytes: int) -> ScheduleTime:
    """Return when every transfer starts and arrives for a buffer of ``size_bytes``.

    An explicit schedule and its compressed form give the same times.

    Parameters
    ----------
    schedule
        Explicit or compressed by symmetry; ``order`` decides which row each link serves next.
    size_bytes
        Size of the total buffer as nccl-tests counts it; a chunk is ``size_bytes / chunks``, for alltoallv its part.

    Raises
    ------
    InputError
        When the size is not that of an alltoallv's matrix.
    InternalError
        When a row is ordered no later than a row whose data it carries, or a symmetry does not keep the links.
    """
    places = _explicit_places(schedule) if schedule.symmetry is None else _orbit_places(schedule, schedule.symmetry)
    arrivals = _arrivals(schedule, places)
    unit = np.zeros(len(places.copies))
    sizes = schedule.demand.chunk_bytes(size_bytes)
    # Sizes in terms of the largest: equal chunks count as ones.
    largest = float(sizes.max(initial=0.0))
    unit[places.clock] = largest / schedule.topology.link_rates
    share = (sizes / largest if largest else sizes)[schedule.transfers.chunk]
    start, finish, busy = _run(schedule, places, arrivals, unit_s=unit, share=share)
    link_busy = busy[places.clock]
    return ScheduleTime(
        seconds=float(finish.max(initial=0.0)),
        start_s=start,
        finish_s=finish,
        link_busy_s=link_busy,
        bottleneck=int(link_busy.argmax()) if len(finish) else None,
    )


def _explicit_places(schedule: Schedule) -> _Places:
    rows, links = schedule.transfers, len(schedule.topology.links)
    base = rows.chunk.astype(np.int64) * schedule.topology.ranks
    return _Places(base + rows.src, base + rows.dst, np.arange(links), np.ones(links, dtype=np.int64))


def _orbit_places(schedule: Schedule, symmetry: Symmetry) -> _Places:
    """Name every (chunk, rank) by the least image that it has, and every link by its orbit."""
    rows, ranks = schedule.transfers, symmetry.group.ranks
    used, column = np.unique(rows.chunk, return_inverse=True)
    images = symmetry.chunks[:, used]
    least = images.min(axis=0)
    # Elements that move a chunk to the least of its orbit differ by what fixes that one: take the lowest rank of all.
    rank_name = np.array([ranks[images[:, j] == least[j]].min(axis=0) for j in range(len(used))], dtype=np.int64)
    rank_name = rank_name.reshape(len(used), schedule.topology.ranks)
    base = least.astype(np.int64)[column] * schedule.topology.ranks
    clock, sizes = _link_orbits(symmetry, len(schedule.topology.links))
    held, sent_to = base + rank_name[column, rows.src], base + rank_name[column, rows.dst]
    return _Places(held, sent_to, clock, symmetry.group.order // sizes)


def _link_orbits(symmetry: Symmetry, links: int) -> tuple[Longs, Longs]:
    """Return the orbit number of every link and the size of every orbit, from the generators alone."""
    topology = symmetry.group.topology
    moves = [link_permutation(topology, generator) for generator in symmetry.group.generators]
    least = np.arange(links)
    changed = True
    while changed:
        before = least
        for move in moves:
            if move is None:
                msg = f"a symmetry of {topology.name!r} does not keep its links"
                raise InternalError(msg)
            lower = np.minimum(least, least[move])
            np.minimum.at(lower, move, least)
            least = lower[lower]
        changed = not np.array_equal(before, least)
    _, number, sizes = np.unique(least, return_inverse=True, return_counts=True)
    return number.astype(np.int64), sizes.astype(np.int64)


def _arrivals(schedule: Schedule, places: _Places) -> _Arrivals:
    """Group the rows by the place that they write and their stage; find what each row reads."""
    stage = schedule.transfers.stage.astype(np.int64)
    low, high = stage.min(initial=0), stage.max(initial=0)
    span = high - low + 1
    written, own = np.unique(places.sent_to * span + (stage - low), return_inverse=True)
    first = np.searchsorted(written, places.held * span)
    last = np.searchsorted(written, places.held * span + (stage - low))
    arrivals = _Arrivals(own.reshape(-1), first, last)
    _check_order(schedule, arrivals, place=written // span)
    return arrivals


def _check_order(schedule: Schedule, arrivals: _Arrivals, *, place: Longs) -> None:
    """Raise unless every row comes after the rows whose data it carries; arrivals are sorted by place and stage."""
    order = schedule.transfers.order.astype(np.int64)
    waits = arrivals.last > arrivals.first
    if not waits.any():
        return
    order = order - order.min()
    span = order.max() + 1
    latest = np.zeros(len(place), dtype=np.int64)
    np.maximum.at(latest, arrivals.own, order)
    # Adding a growing offset for each place makes one running maximum serve all places.
    offset = np.cumsum(np.diff(place, prepend=place[:1]) != 0) * span
    running = np.maximum.accumulate(latest + offset) - offset
    wrong = np.flatnonzero(waits & (running[arrivals.last - 1] >= order))
    if len(wrong):
        rows, row = schedule.transfers, int(wrong[0])
        msg = (
            f"transfer {row} (chunk {rows.chunk[row]}, {rows.src[row]}->{rows.dst[row]}) has order {rows.order[row]}, "
            "which is not above that of a transfer that it waits for"
        )
        raise InternalError(msg)


def _batches(order: NDArray[np.int32]) -> Iterator[list[int]]:
    """Yield the rows of each order, ascending."""
    by_order = np.argsort(order, kind="stable")
    cuts = np.flatnonzero(np.diff(order[by_order])) + 1
    rows, bounds = by_order.tolist(), [0, *cuts.tolist(), len(order)]
    for begin, end in itertools.pairwise(bounds):
        yield rows[begin:end]


def _run(
    schedule: Schedule, places: _Places, arrivals: _Arrivals, *, unit_s: Seconds, share: Seconds
) -> tuple[Seconds, Seconds, Seconds]:
    """Serve the rows in order; return start and arrival of each row and the busy time of each clock.

    Parameters
    ----------
    unit_s
        Time that one whole chunk takes on each clock.
    share
        Of a whole chunk in each row.
    """
    clock, copies, unit = places.clock.tolist(), places.copies.tolist(), unit_s.tolist()
    # What one whole chunk takes on each clock of a route.
    paths = [
        [(link, count * copies[link] * unit[link]) for link, count in Counter(clock[link] for link in route).items()]
        for route in schedule.routes
    ]
    route, latency = schedule.transfers.route.tolist(), schedule.route_latencies_s.tolist()
    part = share.tolist()
    own, first, last = arrivals.own.tolist(), arrivals.first.tolist(), arrivals.last.tolist()
    arrived = [0.0] * (max(own, default=-1) + 1)
    free, busy = [0.0] * len(unit), [0.0] * len(unit)
    start, finish = [0.0] * len(route), [0.0] * len(route)
    for rows in _batches(schedule.transfers.order):
        takes = _together([(paths[route[row]], part[row]) for row in rows])
        begin = 0.0
        for link in takes:
            begin = max(begin, free[link])
        for row in rows:
            if last[row] > first[row]:
                begin = max(begin, *arrived[first[row] : last[row]])
        for link, seconds in takes.items():
            free[link] = begin + seconds
            busy[link] += seconds
        for row in rows:
            start[row] = begin
            end = begin + latency[route[row]] + max([takes[link] for link, _ in paths[route[row]]], default=0.0)
            finish[row] = end
            arrived[own[row]] = max(arrived[own[row]], end)
    return np.array(start), np.array(finish), np.array(busy)


def _together(rows: list[tuple[list[tuple[int, float]], float]]) -> dict[int, float]:
    """Return the seconds that rows which start together take on each clock, given their paths and shares of a chunk."""
    if len(rows) == 1 and rows[0][1] == 1.0:
        return dict(rows[0][0])
    takes: dict[int, float] = {}
    for path, part in rows:
        for link, seconds in path:
            takes[link] = takes.get(link, 0.0) + seconds * part
    return takes
