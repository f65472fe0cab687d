"""When: the points of time between which prices are constant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

POINTS = 24
"""Most inner points of a grid."""

_CLOSEST_PS = 10


class Grid(NamedTuple):
    """Points of time from 0 to the horizon, ascending, picoseconds; shape ``(intervals + 1,)``."""

    points: Longs

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.points) - 1

    @property
    def begin(self) -> Longs:
        """Begin of every interval."""
        return self.points[:-1]

    @property
    def end(self) -> Longs:
        """End of every interval."""
        return self.points[1:]

    @property
    def horizon(self) -> int:
        """The last point."""
        return int(self.points[-1])

    def arrival(self, alphas: Longs) -> Longs:
        """Return the interval in which a byte may arrive at best, by alpha and interval of its crossing.

        Shape ``(len(alphas), intervals)``; the number of intervals where it is after the horizon.
        """
        at = self.begin[None, :] + alphas[:, None]
        found = np.searchsorted(self.points, at, side="right") - 1
        return np.where(at >= self.horizon, self.intervals, found)


def grid_of(alphas: Iterable[int], horizon: int, *, points: int = POINTS) -> Grid:
    """Return a grid of sums of alphas from both ends of the time, sums of few alphas first.

    Such a set is closed under adding an alpha, so that optimistic rounding of arrivals loses little.
    """
    chosen = {0, horizon}
    level, steps = {0}, sorted({alpha for alpha in alphas if 0 < alpha < horizon})
    while level and len(chosen) < points + 2:
        fresh = sorted({base + step for base in level for step in steps if base + step < horizon} - chosen)
        for point in fresh:
            for candidate in (point, horizon - point):
                if len(chosen) < points + 2 and min(abs(candidate - other) for other in chosen) >= _CLOSEST_PS:
                    chosen.add(candidate)
        level = set(fresh)
        if not fresh:
            break
    return Grid(np.array(sorted(chosen), dtype=np.int64))
