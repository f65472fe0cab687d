"""Ranks that never began an operation, or begin late: faults that are not of the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.traffic.c4d.records import Floats, Operations

_LATE = 0.5
"""Share of an operation's own duration by which a rank must be late."""
_DEVIATIONS = 6.0
_TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class Ranks:
    """What operations say of ranks.

    Parameters
    ----------
    absent
        Ranks that did not launch an operation that others did.
    stuck
        Whether all launched the last operation, and some did not complete it.
    unclear
        Ranks that are behind others where it is not known who launched.
    late
        Ranks that begin late, with how late, in microseconds.
    """

    absent: tuple[int, ...]
    stuck: bool
    unclear: tuple[int, ...]
    late: tuple[tuple[int, float], ...]


def judge(operations: Operations, *, persist: int) -> Ranks:
    """Return what operations say of the ranks that are in them; ``persist`` is in how many a rank must be late."""
    ranks, row = np.unique(operations.rank, return_inverse=True)
    sequences, column = np.unique(operations.sequence, return_inverse=True)
    shape = (len(ranks), len(sequences))
    start, end, duration = (np.full(shape, np.nan) for _ in range(3))
    at = row, column
    start[at], end[at], duration[at] = operations.start_us, operations.end_us, operations.duration_us

    def named(which: NDArray[np.bool_]) -> tuple[int, ...]:
        return tuple(ranks[which].tolist())

    launched = ~np.isnan(start)
    late = tuple(
        (int(ranks[which]), lag_us)
        for which, lag_us in _late(start if launched.any() else -duration, duration, persist)
    )
    if not launched.any():
        behind = np.isnan(duration[:, -1])
        return Ranks((), False, named(behind & ~behind.all()), late)
    last = launched[:, -1]
    stuck = bool(last.all() and np.isnan(end[:, -1]).any())
    return Ranks(named(~last & last.any()), stuck, (), late)


def _late(begun: Floats, duration: Floats, persist: int) -> tuple[tuple[int, float], ...]:
    """Return ranks that begin late in most operations: others wait for them, so they take least time themselves."""
    whole = ~np.isnan(duration).any(axis=0)
    if not whole.any():
        return ()
    begun, duration = begun[:, whole], duration[:, whole]
    lag = begun - np.median(begun, axis=0)
    spread = _TO_DEVIATION * np.median(np.abs(lag), axis=0)
    late = (lag > _DEVIATIONS * spread) & (lag > _LATE * duration.min(axis=0))
    count = late.sum(axis=1)
    often = (count * 2 > late.shape[1]) & (count >= min(persist, late.shape[1]))
    return tuple((int(rank), float(np.median(lag[rank]))) for rank in np.flatnonzero(often))
