"""The fewest programs over a sweep, by dynamic programming, and the bytes that each is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

TOLERANCE = 1.02
"""A program serves a size when it takes at most this factor of the least time of all programs there."""

Times = Sequence[Sequence[float | None]]
"""``times[c][i]``: seconds of candidate ``c`` at size ``i``; None where it is not selected or never ends."""

_PARTS = 10**9
"""Ratios are summed as integers of this fraction, so that equal sums are equal."""


@dataclass(frozen=True)
class Segment:
    """Sizes ``first`` to ``last`` (indices, both included) and the candidate that serves them.

    Sizes in between that no candidate serves do not count.
    """

    first: int
    last: int
    candidate: int


def best_times(times: Times) -> list[float | None]:
    """Return the least time of all candidates at every size; None where no candidate serves."""
    return [min((time for time in column if time is not None), default=None) for column in zip(*times, strict=True)]


def fewest_segments(times: Times, tolerance: float = TOLERANCE) -> tuple[Segment, ...]:
    """Return the fewest segments that serve every size that some candidate serves.

    A candidate may serve a segment when it is within ``tolerance`` of the best time at each of its sizes. Of equally
    many segments, those of the least sum of time over best time are taken; ties go to earlier borders, then to
    candidates that come first.

    One pass over the sizes: the best way to serve the first sizes with candidate ``c`` at the end either goes on with
    ``c`` or begins a segment after the best way of all. (sizes x candidates) steps.
    """
    best = best_times(times)
    served = [i for i, time in enumerate(best) if time is not None]
    done = _Way(0, 0, ())
    ways: list[_Way | None] = [None] * len(times)
    for i in served:
        begun = done
        for c, row in enumerate(times):
            ratio = _ratio(row[i], best[i], tolerance)
            if ratio is None:
                ways[c] = None
                continue
            fresh = _Way(begun.count + 1, begun.total + ratio, (*begun.segments, Segment(i, i, c)))
            ways[c] = min((way for way in (_longer(ways[c], i, ratio), fresh) if way is not None), key=_Way.rank)
        done = min((way for way in ways if way is not None), key=_Way.rank)
    return done.segments


@dataclass(frozen=True)
class _Way:
    """A way to serve the first sizes: segments, their number, and the sum of their ratios."""

    count: int
    total: int
    segments: tuple[Segment, ...]

    def rank(self) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        return self.count, self.total, tuple((segment.first, segment.candidate) for segment in self.segments)


def _longer(way: _Way | None, size: int, ratio: int) -> _Way | None:
    """Return the way with its last segment up to one more size."""
    if way is None:
        return None
    last = way.segments[-1]
    return _Way(way.count, way.total + ratio, (*way.segments[:-1], Segment(last.first, size, last.candidate)))


def _ratio(time: float | None, best: float | None, tolerance: float) -> int | None:
    """Return time over best time in parts; None where the candidate may not serve."""
    if time is None or best is None or time > tolerance * best:
        return None
    return round(time / best * _PARTS) if best > 0 else _PARTS


@dataclass(frozen=True)
class ByteRange:
    """Bytes that a file is for, both ends included."""

    min_bytes: int
    max_bytes: int


def byte_ranges(
    segments: Sequence[Segment], sizes: Sequence[int], units: Sequence[int], times: Times
) -> tuple[ByteRange, ...]:
    """Return the bytes of every segment: without a gap from the first size to the last, none twice.

    Sizes between two segments go to the program that is selected for more of them, the one of the smaller unit. Where
    the units are equal, the border is where the straight lines through the times of both programs at the sizes on
    either side cross. A program that never ends at the next size gets none of the sizes in between.

    Parameters
    ----------
    units
        Of every candidate: it is selected for multiples of so many bytes.
    """
    if not segments:
        return ()
    ends = [_Border(*pair, sizes, units, times).last_byte() for pair in pairwise(segments)] + [sizes[segments[-1].last]]
    starts = [sizes[segments[0].first], *(end + 1 for end in ends[:-1])]
    return tuple(ByteRange(first, last) for first, last in zip(starts, ends, strict=True))


@dataclass(frozen=True)
class _Border:
    """What lies between two neighbouring segments."""

    before: Segment
    after: Segment
    sizes: Sequence[int]
    units: Sequence[int]
    times: Times

    def last_byte(self) -> int:
        """Return the last byte of the segment before."""
        low, high = self.sizes[self.before.last], self.sizes[self.after.first]
        unit, next_unit = self.units[self.before.candidate], self.units[self.after.candidate]
        never_ends = high % unit == 0 and self.times[self.before.candidate][self.after.first] is None
        if never_ends or next_unit < unit:
            return low
        if unit < next_unit:
            return high - 1
        lost, won = max(-self._saved_at(self.before.last), 0.0), max(self._saved_at(self.after.first), 0.0)
        share = lost / (lost + won) if lost + won > 0 else 1.0
        return min(low + int(share * (high - low)), high - 1)

    def _saved_at(self, size: int) -> float:
        """Return the seconds that the later program saves; 0 where one of the two never ends."""
        before, after = self.times[self.before.candidate][size], self.times[self.after.candidate][size]
        return 0.0 if before is None or after is None else before - after
