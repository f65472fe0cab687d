"""What the closed bounds need to know of an island: a set of ranks that are close to each other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from syccl.bounds.latency import Windows, joined
from syccl.bounds.network import UNREACHED, Crossing, Longs, Network
from syccl.bounds.partition import Parts, outside, permutes, representatives
from syccl.symmetry.group import Group


class Island(NamedTuple):
    """How data gets into the ranks of an island; alphas in picoseconds, bandwidths in bytes per second."""

    ranks: tuple[int, ...]
    like: int
    """How many islands are like this one."""
    cut: Crossing
    """The least cut into it."""
    entry: Windows
    """Bandwidth of the cut's links by least alpha of a transfer that crosses them from outside to inside."""
    passage: Windows
    """The same by least alpha of any transfer that crosses them."""
    inner: int
    """Bandwidth of transfers inside it that stay off the cut, summed over receivers."""
    entry_alpha: int
    """Least alpha from outside into it."""
    inner_alpha: int
    """Least alpha between two of its ranks; ``UNREACHED`` for a single rank."""


def describe_islands(network: Network, islands: Parts, group: Group, alphas: Longs) -> tuple[Island, ...]:
    """Return one island of each orbit.

    Parameters
    ----------
    network
        Reversed, the result tells how data leaves the islands.
    islands
        At least two parts.
    group
        Symmetries of the network.
    alphas
        Least alpha between ranks in the direction of the network, picoseconds, shape ``(ranks, ranks)``.
    """
    orbit_of = _orbit_of(islands, group)
    return tuple(
        _island(network, islands[i], alphas, orbit_of)._replace(like=count)
        for i, count in representatives(islands, group)
    )


def _island(network: Network, ranks: tuple[int, ...], alphas: Longs, orbit_of: dict[int, int]) -> Island:
    others = outside(ranks, network.ranks)
    cut = network.cut(others, ranks)
    everyone = range(network.ranks)
    inside = alphas[np.ix_(ranks, ranks)] + np.diag([UNREACHED] * len(ranks))
    return Island(
        ranks,
        1,
        cut,
        transfer_windows(network, cut.links, others, ranks),
        transfer_windows(network, cut.links, everyone, everyone),
        _inner(network, ranks, cut.links, orbit_of),
        int(alphas[np.ix_(others, ranks)].min()),
        int(inside.min()),
    )


def transfer_windows(
    network: Network, links: Sequence[int], senders: Sequence[int], receivers: Sequence[int]
) -> Windows:
    """Return the bandwidth of some links by least alpha of one transfer from a sender over the link to a receiver."""
    before, after = network.transfer_alphas_from(senders), network.reversed.transfer_alphas_from(receivers)
    chosen = np.array(links, dtype=np.int64)
    spent = before[network.tails[chosen]] + network.alphas[chosen] + after[network.heads[chosen]]
    rates = network.rates[chosen].tolist()
    return joined(*({alpha: Fraction(rate)} for alpha, rate in zip(spent.tolist(), rates, strict=True)))


def inner_rate(network: Network, parts: Parts, group: Group) -> int:
    """Return the bandwidth of transfers inside parts that stay off the cuts into them, all receivers together."""
    orbit_of, total = _orbit_of(parts, group), 0
    for i, count in representatives(parts, group):
        if len(parts[i]) > 1:
            cut = network.cut(outside(parts[i], network.ranks), parts[i])
            total += count * _inner(network, parts[i], cut.links, orbit_of)
    return total


def _orbit_of(parts: Parts, group: Group) -> dict[int, int]:
    """Return the least rank of each rank's orbit; the rank itself where the group does not permute the parts."""
    if not permutes(parts, group):
        return {rank: rank for part in parts for rank in part}
    return {rank: orbit[0] for orbit in group.rank_orbits for rank in orbit}


def _inner(network: Network, ranks: tuple[int, ...], cut: Sequence[int], orbit_of: dict[int, int]) -> int:
    """Sum over ranks the max-flow from the rest of the island off the cut; equal for ranks of one orbit."""
    if len(ranks) == 1:
        return 0
    rates: dict[int, int] = {}
    for rank in ranks:
        if orbit_of[rank] not in rates:
            rates[orbit_of[rank]] = network.cut(tuple(r for r in ranks if r != rank), (rank,), without=cut).rate
    return sum(rates[orbit_of[rank]] for rank in ranks)
