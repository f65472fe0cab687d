"""Closed bounds where alphas and bandwidth act together, for any topology.

Everything is stated for ops that spread data (allgather, broadcast, scatter, alltoall, allreduce); reducescatter,
reduce and gather are the same on the reversed network, since every window below has the same length backwards in time.

Notation of the docstrings: an island of ``g`` of ``N`` ranks, ``m`` bytes a shard, ``B`` the bandwidth of the least cut
into the island, ``nv`` the bandwidth inside it, ``a`` the least alpha into it, ``a1`` the least alpha inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syccl.bounds.gossip import Exchange, Spread
from syccl.bounds.islands import Island, transfer_windows
from syccl.bounds.latency import Line, Windows, joined
from syccl.bounds.network import Longs, Network
from syccl.bounds.partition import Parts, outside
from syccl.units import PS_PER_SECOND

_FAR_LEVELS = 4


def _shifted(windows: Windows, alpha: int, *, times: int = 1) -> Windows:
    return {at + alpha: times * rate for at, rate in windows.items()}


def spread_lines(island: Island, share: Fraction) -> tuple[Line, ...]:
    """Return the bounds on the time in which every rank of an island gets ``share`` of the size from outside.

    ``g share`` pairs of a rank and a byte are served by what crosses the cut: a crossing later than ``T - a - a1``
    serves its receiver alone, an earlier one at most all ``g``: ``g share <= B (T - a)+ + (g - 1) B (T - a - a1)+``.
    Transfers inside the island that leave and come back only use the cut up.
    And a pair is served in the end by a transfer from outside, or by one inside that starts after ``a`` and ends ``a1``
    before the end: ``g share <= B (T - a)+ + nv (T - a - a1)+``; transfers that leave and come back count for the cut.
    """
    g = len(island.ranks)
    if g == 1:
        return (Line("into one rank", share, island.entry),)
    relayed = _shifted(island.entry, island.inner_alpha, times=g - 1)
    inner = {island.entry_alpha + island.inner_alpha: Fraction(island.inner)}
    return (
        Line("into an island and spread there", g * share, joined(island.entry, relayed)),
        Line("from outside to every rank of an island", g * share, joined(island.passage, inner)),
    )


def inbox_line(island: Island, share: Fraction) -> Line:
    """Return the bound on the time in which every rank of an island gets ``share`` of the size from anywhere else.

    ``g share <= B (T - alpha over the cut)+ + nv (T - a1)+``.
    """
    inner = {island.inner_alpha: Fraction(island.inner)}
    return Line("into every rank of an island", len(island.ranks) * share, joined(island.passage, inner))


def scatter_lines(network: Network, root: int, island: Sequence[int]) -> tuple[Line, ...]:
    """Return the bounds on the time in which a root sends a shard to each other rank, given its island.

    Before ``a1`` only the root itself has something to send out of the island, with bandwidth ``own``:
    ``(N - g) m <= own min((T - a)+, a1) + B (T - a - a1)+``. What goes out leaves the root directly or by a transfer
    inside: ``(N - g) m <= own (T - a)+ + nv (T - a - a1)+``; likewise all that leaves the root:
    ``(N - 1) m <= own (T - alpha)+ + nv (T - a1)+``.
    """
    others = outside(island, network.ranks)
    mates = tuple(rank for rank in island if rank != root)
    if not others or not mates:
        return ()
    rate = network.cut(island, others).rate
    own = own_exit(network, root, island)
    direct = transfer_windows(network, own, (root,), outside((root,), network.ranks))
    own_rate = min(rate, sum(network.rates[list(own)].tolist()))
    inner = Fraction(network.cut((root,), mates, without=own).rate)
    a = int(network.alphas_from(island)[network.gpus[list(others)]].min())
    a1 = int(network.alphas_from((root,))[network.gpus[list(mates)]].min())
    far, all_but_root = Fraction(len(others), network.ranks), Fraction(network.ranks - 1, network.ranks)
    return (
        Line("out of the root's island", far, joined({a: Fraction(own_rate)}, {a + a1: Fraction(rate - own_rate)})),
        Line("out of the root to other islands", far, joined(direct, {a + a1: inner})),
        Line("out of the root", all_but_root, joined(direct, {a1: inner})),
    )


def own_exit(network: Network, root: int, island: Sequence[int]) -> tuple[int, ...]:
    """Return the least cut of a root's transfers out of its island that pass none of its mates."""
    mates = {int(network.gpus[rank]) for rank in island if rank != root}
    to_mates = [i for i, head in enumerate(network.heads.tolist()) if head in mates]
    return network.cut((root,), outside(island, network.ranks), without=to_mates).links


def far_pair_lines(island: Island, alphas: Longs) -> tuple[Line, ...]:
    """Return the bounds on the time in which each rank of an island gets a shard from each rank outside.

    A byte of a pair whose least alpha is ``far`` or more crosses the cut in ``[0, T - far]`` if its own rank sends it
    across, else in ``[a1, T - a]``, ``a1`` the least alpha of any transfer. Together these windows last
    ``min(T - a, (T - far)+ + (T - a - a1)+)``.
    """
    ranks, a = island.ranks, island.entry_alpha
    rate = Fraction(island.cut.rate)
    block = alphas[np.ix_(outside(ranks, len(alphas)), ranks)]
    lines = []
    for far in np.unique(block)[-_FAR_LEVELS:].tolist():
        share = Fraction(int((block >= far).sum()), len(alphas))
        windows = joined({far: rate}, {a + least_transfer(alphas): rate})
        lines += [Line("into an island", share, {a: rate}), Line("into an island from far ranks", share, windows)]
    return tuple(lines)


def exchange_of(alphas: Longs, parts: Parts, *, into: int, out: int, inner: int) -> Exchange:
    """Return what gossip.py needs to know of a partition.

    Parameters
    ----------
    alphas
        Least alpha between ranks, picoseconds.
    parts
        Two or more.
    into, out
        Bandwidth of the cuts into, and out of, all parts together, bytes per second.
    inner
        Bandwidth of transfers within parts that stay off the cuts out, bytes per second.
    """
    return Exchange(
        parts=len(parts),
        least_ranks=min(map(len, parts)),
        rate=min(into, out),
        rate_out=out,
        inner_rate=inner,
        alpha=_least_between(alphas, parts) / PS_PER_SECOND,
        least_alpha=least_transfer(alphas) / PS_PER_SECOND,
    )


def _least_between(alphas: Longs, parts: Parts) -> int:
    label = np.empty(len(alphas), dtype=np.int64)
    for i, part in enumerate(parts):
        label[list(part)] = i
    return int(alphas[label[:, None] != label[None, :]].min())


def least_transfer(alphas: Longs) -> int:
    """Return the least alpha between two different ranks, picoseconds."""
    return int(alphas[~np.eye(len(alphas), dtype=np.bool_)].min())


def spread_of(network: Network, alphas: Longs, root: int, islands: Parts) -> Spread | None:
    """Return what gossip.py needs to know of a root among islands; None where there is only one island."""
    home = next(island for island in islands if root in island)
    others = outside(home, network.ranks)
    if not others:
        return None
    return Spread(
        parts=len(islands),
        least_ranks=min(len(island) for island in islands if island is not home),
        own_rate=sum(network.rates[list(own_exit(network, root, home))].tolist()),
        rate=network.cut(home, others).rate,
        alpha=_least_between(alphas, islands) / PS_PER_SECOND,
        least_alpha=least_transfer(alphas) / PS_PER_SECOND,
    )
