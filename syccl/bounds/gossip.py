"""AllReduce and broadcast at the knee, where neither alphas nor bandwidth alone explain the time.

Notation: ``p`` parts of at least ``g`` ranks each; a transfer between parts takes at least ``a`` from crossing a cut to
its arrival, any transfer at least ``a1 <= a``; ``R`` is the bandwidth between parts, ``T`` the time,
``e = max(0, T - 2 a)``. A crossing is *early* before ``e`` and *late* from ``e`` to ``T - a``; what a late one delivers
reaches no third part.

Two windows count less. *Raw*: before ``a1`` a sender has only its own contribution. *Final*: what crosses after
``T - a - a1`` serves its receiver alone. Pick one rank of each part as the source that matters and one as the receiver
that matters, at random: a raw or final crossing matters with probability ``1 / g`` at most. The counts below hold for
every pick, so they hold for expected numbers (``early`` enters convexly, Jensen), byte by byte and hence on average.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

_STEPS = 80


class Exchange(NamedTuple):
    """Parts that exchange data; seconds and bytes per second."""

    parts: int
    least_ranks: int
    """Ranks in the smallest part."""
    rate: float
    """Bandwidth between parts: of the cuts into all parts, or out of all parts, whichever is less."""
    rate_out: float
    """Bandwidth of the cuts out of all parts."""
    inner_rate: float
    """Bandwidth of transfers within parts that stay off the cuts out, all ranks together."""
    alpha: float
    least_alpha: float


def allreduce_time(exchange: Exchange, size: float) -> float:
    """Return a time that allreduce of ``size`` bytes, without reduction in switches, cannot beat.

    Two counts of the late crossings of a byte, ``k`` early ones given:

    - ``k`` early ones leave at least ``p - k`` groups of parts that have heard of each other, and a late one carries
      news of one group only: ``p (p - 1 - k)`` late ones. And ``2 (p - 1)`` crossings altogether (see partition.py).
    - A contribution that has not left its part early needs ``p - 1`` late crossings of its own. It leaves early by a
      crossing of its rank, or after a transfer inside the part that arrived before ``e``.
    """
    p, g, _, _, _, a, a1 = exchange
    a1 = min(a, a1)

    def enough(time: float) -> bool:
        early_end, late_end = max(0.0, time - 2 * a), max(0.0, time - a)
        final = max(0.0, time - a - a1)
        early = exchange.rate * _weighted(0.0, early_end, raw=a1, final=final, g=g) / size
        late = exchange.rate * _weighted(early_end, late_end, raw=a1, final=final, g=g)
        left = (exchange.rate_out * early_end + exchange.inner_rate * max(0.0, early_end - a1)) / (g * size)
        return _late_crossings(p, early) * size <= late and (p - 1) * max(0.0, p - left) * size <= late

    return _first(enough)


def _late_crossings(p: int, early: float) -> float:
    return p * (p - 1 - early) if early <= p - 2 else max(0.0, 2 * p - 2 - early)


def _weighted(start: float, end: float, *, raw: float, final: float, g: int) -> float:
    """Integrate 1, divided by g before ``raw`` and divided by g after ``final``."""
    points = [start, *sorted(point for point in (raw, final) if start < point < end), end]
    total = 0.0
    for low, high in pairwise(points):
        middle = (low + high) / 2
        total += max(0.0, high - low) / (g if middle < raw else 1) / (g if middle > final else 1)
    return total


class Spread(NamedTuple):
    """A root that serves other parts; seconds and bytes per second."""

    parts: int
    least_ranks: int
    """Ranks in the smallest part without the root."""
    own_rate: float
    """Bandwidth of transfers from the root itself into other parts."""
    rate: float
    """Bandwidth out of the root's part."""
    alpha: float
    least_alpha: float


def broadcast_time(spread: Spread, size: float) -> float:
    """Return a time that broadcast of ``size`` bytes cannot beat.

    Before ``a1`` only the root has anything to send. A byte whose first crossing out of the root's part is not early
    reaches no third part from there: the root's part sends it to each of the other ``p - 1``.
    """
    p, g, own, rate, a, a1 = spread
    a1 = min(a, a1)

    def sent(end: float, final: float) -> float:
        alone = min(end, a1)
        first = min(own, rate) * _weighted(0.0, alone, raw=0.0, final=final, g=g)
        return first + rate * _weighted(alone, end, raw=0.0, final=final, g=g)

    def enough(time: float) -> bool:
        final = max(0.0, time - a - a1)
        early = min(size, sent(max(0.0, time - 2 * a), final))
        return (p - 1) * (size - early) + early <= sent(max(0.0, time - a), final)

    return _first(enough)


def _first(enough: Callable[[float], bool]) -> float:
    """Return the largest time found not to be enough; ``enough`` stays true once it is."""
    low, high = 0.0, 1e-6
    while not enough(high):
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return low
