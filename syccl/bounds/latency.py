"""Latency bounds: the least alpha between ranks, alone and together with what a cut must pass.

All of them hold for transfers that keep every link of their route busy for bytes / bandwidth from one common start,
and arrive the sum of the route's alphas later; also for fluid sharing, and for the same seen backwards in time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from syccl.bounds.network import UNREACHED, Longs, Network
from syccl.symmetry.group import Group
from syccl.units import PS_PER_SECOND

Windows = Mapping[int, Fraction]
"""Bandwidth (bytes per second, added up) by how many picoseconds of the whole time it cannot be used."""


class Line(NamedTuple):
    """One bound: the windows must pass a share of the total size."""

    why: str
    share: Fraction
    windows: Windows

    def seconds(self, size: int) -> Fraction:
        """Return the least time for a total of ``size`` bytes."""
        return least_time(self.share * size, self.windows)


def rank_alphas(network: Network, group: Group) -> Longs:
    """Return the least alpha between ranks over all routes and relays, picoseconds, shape ``(ranks, ranks)``."""
    n = network.ranks
    representatives = [orbit[0] for orbit in group.rank_orbits]
    table = np.empty((n, n), dtype=np.int64)
    rows = network.alphas_from_each(representatives)[:, network.gpus]
    row_of = dict(zip(representatives, rows, strict=True))
    for orbit in group.rank_orbits:
        for rank in orbit:
            table[rank, group.ranks[group.mover[rank]]] = row_of[orbit[0]]
    return table


def latency_bound(alphas: Longs) -> Fraction:
    """Return the largest of some least alphas, in seconds."""
    return Fraction(int(alphas.max(initial=0)), PS_PER_SECOND)


def least_time(payload: Fraction, windows: Windows) -> Fraction:
    """Return the least time in seconds with sum of bandwidth * max(0, time - unusable) >= payload.

    Parameters
    ----------
    payload
        Bytes.
    windows
        Not empty, bandwidths positive.
    """
    if payload <= 0:
        return Fraction(0)
    rate, spent, time = Fraction(0), Fraction(0), Fraction(0)
    for unusable in sorted(windows):
        if rate and time <= unusable:
            break
        rate += windows[unusable]
        spent += windows[unusable] * unusable
        time = (payload * PS_PER_SECOND + spent) / rate
    return time / PS_PER_SECOND


def cut_windows(network: Network, links: Sequence[int], *, sources: Collection[int], sinks: Collection[int]) -> Windows:
    """Return when the links of a cut can carry what goes from some of its sources to some of its sinks."""
    alphas = network.crossing_alphas(links, sources, sinks).tolist()
    return joined(*({alpha: Fraction(int(network.rates[i]))} for i, alpha in zip(links, alphas, strict=True)))


def joined(*many: Windows) -> Windows:
    """Add windows up, leaving out what is never of use."""
    total: dict[int, Fraction] = {}
    for windows in many:
        for alpha, rate in windows.items():
            if rate and alpha < UNREACHED:
                total[alpha] = total.get(alpha, Fraction(0)) + rate
    return total


def farthest(alphas: Longs, ranks: Sequence[int], others: Sequence[int]) -> tuple[int, int]:
    """Return a pair (rank, other) of the largest least alpha, the first of several."""
    block = alphas[np.ix_(ranks, others)]
    i, j = np.unravel_index(int(block.argmax()), block.shape)
    return ranks[int(i)], others[int(j)]
