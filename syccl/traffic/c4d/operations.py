"""Ranks that never began an operation, or begin late: faults that are not of the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def judge(operations: Operations, ranks: int, *, persist: int) -> Ranks:
    """Return what operations say of ranks; ``persist`` is in how many of them a rank must be late."""
    sequences = np.unique(operations.sequence)
    shape = (ranks, len(sequences))
    start, end, duration = (np.full(shape, np.nan) for _ in range(3))
    at = operations.rank, np.searchsorted(sequences, operations.sequence)
    start[at], end[at], duration[at] = operations.start_us, operations.end_us, operations.duration_us
    launched = ~np.isnan(start) if not np.isnan(start).all() else None
    late = _late(start if launched is not None else -duration, duration, persist)
    if launched is None:
        behind = np.isnan(duration[:, -1])
        return Ranks((), False, _named(behind & ~behind.all()), late)
    absent = ~launched[:, -1]
    stuck = bool(launched[:, -1].all() and np.isnan(end[:, -1]).any())
    return Ranks(_named(absent), stuck, (), late)


def _named(which: np.ndarray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(which).tolist())


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
