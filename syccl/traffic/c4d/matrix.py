"""The delay matrix: how many times slower each connection is than those that should be as fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.topology import Topology
from syccl.traffic.c4d.records import Floats, Ints, Timings
from syccl.traffic.c4d.routes import Routes

SLOW = 1.5
"""Times the usual delay from which a connection is slow."""
_SLOW_ONCE = 1.25
"""The same for one window: less, since noise of one is more than that of the median of all."""
_DEVIATIONS = 6.0
"""Robust standard deviations that it must be off besides."""
_TO_DEVIATION = 1.4826
"""Standard deviation over median absolute deviation, of normal values."""
_FEWEST = 8
"""Connections that make a class of their own."""
_LOW_SHARE, _LOW_FACTOR = 0.1, 1.25
"""Where most are slow, the fastest tenth says what is usual: at 10 % noise, this factor times it is more than that."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The connections of a matrix.

    Parameters
    ----------
    src, dst, channel, queue_pair
        Of each connection.
    delay
        Median over windows of its time over the usual; NaN where it completed nothing.
    slow
        Whether it is slow in most windows, and in as many as asked for.
    hung
        Whether, in the last window, it has something to send and nothing is acknowledged.
    windows
        Number of windows.
    """

    src: Ints
    dst: Ints
    channel: Ints
    queue_pair: Ints
    delay: Floats
    slow: NDArray[np.bool_]
    hung: NDArray[np.bool_]
    windows: int

    def __len__(self) -> int:
        return len(self.src)


def cells_of(timings: Timings) -> tuple[Cells, Ints]:
    """Return the connections, nothing said of them yet, and that of each row."""
    columns = (timings.src, timings.dst, timings.channel, timings.queue_pair)
    key = np.zeros(len(timings.src), dtype=np.int64)
    for column in columns:
        _, number = np.unique(column, return_inverse=True)
        key = key * (int(number.max()) + 1) + number
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    src, dst, channel, queue_pair = (column[first] for column in columns)
    nothing = np.zeros(len(first), dtype=np.bool_)
    windows = len(np.unique(timings.window))
    return Cells(src, dst, channel, queue_pair, np.full(len(first), np.nan), nothing, nothing, windows), cell


def delay_matrix(
    topology: Topology, timings: Timings, routes: Routes, *, persist: int, healthy: Timings | None
) -> Cells:
    """Return how slow each connection is.

    What is usual is the median of a class, in the same window: connections over as many links of as much bandwidth.
    Where a healthy run is given, it is what the same connection took there.

    Parameters
    ----------
    routes
        Links of each connection, in the order of `cells_of`.
    persist
        Windows in which a connection must be slow; all windows where there are fewer.
    """
    cells, cell = cells_of(timings)
    per_byte = timings.time_us / timings.size_bytes
    _, window = np.unique(timings.window, return_inverse=True)
    if healthy is None:
        rates = routes.rates(topology)
        classes = _classes(routes.length, rates)
        per_byte = per_byte * rates[cell]
    else:
        classes = np.zeros(len(cells), dtype=np.int64)
        per_byte = per_byte / _usual(cells, healthy)[cell]
    delay = per_byte / _references(per_byte, classes[cell] * cells.windows + window)
    table = np.full((len(cells), cells.windows), np.nan)
    table[cell, window] = delay
    seen = (~np.isnan(table)).sum(axis=1)
    middle = np.full(len(cells), np.nan)
    middle[seen > 0] = np.nanmedian(table[seen > 0], axis=1)
    often = (table > _SLOW_ONCE).sum(axis=1)
    slow = (middle > SLOW) & (often * 2 > seen) & (often >= np.minimum(persist, cells.windows))
    slow &= (middle - 1) > _DEVIATIONS * _deviation(middle, classes)
    last = window == cells.windows - 1
    waits = np.where(timings.posted < 0, np.isnan(timings.time_us) & (timings.size_bytes > 0), timings.posted > 0)
    stuck = last & waits & (timings.completed <= 0)
    hung = np.zeros(len(cells), dtype=np.bool_)
    hung[cell[stuck]] = True
    return Cells(cells.src, cells.dst, cells.channel, cells.queue_pair, middle, slow, hung, cells.windows)


def _classes(lengths: Ints, rates: Floats) -> Ints:
    """Return a class for each connection; those of small classes share one, since bandwidths are allowed for."""
    _, found, counts = np.unique(
        np.stack([lengths, rates.astype(np.int64)]), axis=1, return_inverse=True, return_counts=True
    )
    found = found.reshape(-1)
    return np.where(counts[found] < _FEWEST, 0, found + 1)


def _usual(cells: Cells, healthy: Timings) -> Floats:
    """Return the median time per byte of each connection in a healthy run; NaN where it is not in there."""
    known, cell = cells_of(healthy)
    order = np.argsort(cell, kind="stable")
    per_byte = (healthy.time_us / healthy.size_bytes)[order]
    parts = np.split(per_byte, np.cumsum(np.bincount(cell, minlength=len(known)))[:-1])
    keys = zip(known.src.tolist(), known.dst.tolist(), known.channel.tolist(), known.queue_pair.tolist(), strict=True)
    found = dict(zip(keys, (float(np.nanmedian(part)) for part in parts), strict=True))
    wanted = zip(cells.src.tolist(), cells.dst.tolist(), cells.channel.tolist(), cells.queue_pair.tolist(), strict=True)
    return np.array([found.get(key, np.nan) for key in wanted])


def _references(values: Floats, groups: Ints) -> Floats:
    """Return what is usual in the group of each value."""
    found = np.full(len(values), np.nan)
    for members in _grouped(groups):
        mine = values[members]
        mine = mine[~np.isnan(mine)]
        if len(mine):
            found[members] = min(np.median(mine), _LOW_FACTOR * np.quantile(mine, _LOW_SHARE))
    return found


def _deviation(delay: Floats, classes: Ints) -> Floats:
    """Return the robust standard deviation of those that are not slow in the class of each."""
    found = np.zeros(len(delay))
    for members in _grouped(classes):
        mine = delay[members]
        mine = mine[mine <= SLOW]
        if len(mine):
            found[members] = _TO_DEVIATION * np.median(np.abs(mine - np.median(mine)))
    return found


def _grouped(groups: Ints) -> list[Ints]:
    order = np.argsort(groups, kind="stable")
    counts = np.unique(groups, return_counts=True)[1]
    return np.split(order, np.cumsum(counts)[:-1])
