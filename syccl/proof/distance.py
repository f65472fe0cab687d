"""What data pays at least from rank to rank, when it takes the cheapest ways at the cheapest times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syccl.proof.ways import Ways

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

INFINITE = 1 << 61


def arrivals(ways: Ways, grid: Longs) -> Longs:
    """Return the interval that holds the begin of each interval plus each way's alpha, shape ``(ways, intervals)``.

    At the end of the time or after, the number of intervals.
    """
    at = grid[None, :-1] + ways.alpha[:, None]
    return np.asarray(np.searchsorted(grid, at, side="right") - 1, dtype=np.int64)


def cheapest(ways: Ways, arrival: Longs, prices: Longs, place: tuple[Mask, Longs]) -> Longs:
    """Return what data pays at least until it is at each rank in each interval, shape ``(ranks, intervals)``.

    Parameters
    ----------
    arrival
        From :func:`arrivals`.
    prices
        Of every way and interval, shape ``(ways, intervals)``.
    place
        Which ways can be taken when, shape ``(ways, intervals)``; and what it costs to be at each rank from each
        interval on without any way, shape ``(ranks, intervals)``.
    """
    usable, start = place
    least = start.copy()
    for i in range(prices.shape[1]):
        if i:
            least[:, i] = np.minimum(least[:, i], least[:, i - 1])
        taken = np.flatnonzero(usable[:, i] & (arrival[:, i] < prices.shape[1]))
        soon = taken[arrival[taken, i] == i]
        while len(soon):
            before = least[:, i].copy()
            np.minimum.at(least[:, i], ways.head[soon], before[ways.tail[soon]] + prices[soon, i])
            if np.array_equal(least[:, i], before):
                break
        later = taken[arrival[taken, i] > i]
        paid = least[ways.tail[later], i] + prices[later, i]
        np.minimum.at(least, (ways.head[later], arrival[later, i]), paid)
    return np.asarray(least)
