"""The lower bound of alltoallv: what its matrix must move over cuts, by pairs, and over all paths at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from syccl.bounds.bandwidth import BandwidthBound, Cut, nothing_to_move
from syccl.bounds.concurrent import matrix_seconds
from syccl.bounds.latency import Line, cut_windows, rank_alphas
from syccl.bounds.lower import Bound
from syccl.bounds.network import Crossing, Longs, Network
from syccl.bounds.partition import outside
from syccl.collective import Matrix
from syccl.errors import InfeasibleError
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from syccl.units import PS_PER_SECOND

_LARGEST_PAIRS = 32
"""So many of the largest entries are looked at by themselves."""


def matrix_bound(topology: Topology, matrix: Matrix, *, islands: Sequence[Sequence[int]]) -> Bound:
    """Return a time that no schedule of an alltoallv can beat.

    Parameters
    ----------
    topology
        The cluster.
    matrix
        Of as many ranks.
    islands
        Sets of ranks that are close to each other; cuts around them and around single ranks are looked at.

    Raises
    ------
    InfeasibleError
        When a rank does not reach another that it has data for.
    """
    network = Network.of(topology)
    table = matrix.table * ~np.eye(matrix.ranks, dtype=np.bool_)
    if not table.any():
        return Bound(0.0, 0.0, 0.0, nothing_to_move(network).cut, "bandwidth")
    alphas = rank_alphas(network, trivial_group(topology))
    bandwidth = nothing_to_move(network)
    lines: list[Line] = []
    for inside, crossing in cuts_of(network, table, islands):
        bandwidth = max(bandwidth, _over(crossing, inside, table), key=lambda found: found.seconds_per_byte)
        lines += _lines(network, table, alphas, (inside, crossing))
    lines += _pair_lines(network, table)
    seconds = {line.why: float(line.seconds(1)) for line in sorted(lines, key=lambda line: line.seconds(1))}
    seconds["concurrent flow of all pairs"] = matrix_seconds(network, table) or 0.0
    combined, why = max((value, why) for why, value in seconds.items())
    latency = float(Fraction(int(alphas[table > 0].max()), PS_PER_SECOND))
    plain = float(bandwidth.seconds_per_byte)
    largest = max((plain, "bandwidth"), (latency, "latency"), (combined, why))
    return Bound(plain, latency, combined, bandwidth.cut, largest[1])


def cuts_of(
    network: Network, table: Longs, islands: Sequence[Sequence[int]]
) -> Iterator[tuple[tuple[int, ...], Crossing]]:
    """Yield the ranks on the sending side and the least cut, for every rank and island, out and in."""
    sets = [(rank,) for rank in range(network.ranks)] + [tuple(sorted(island)) for island in islands if len(island) > 1]
    for ranks in sets:
        others = outside(ranks, network.ranks)
        for inside, beyond in ((ranks, others), (others, ranks)) if others else ():
            if table[np.ix_(inside, beyond)].any():
                crossing = network.cut(inside, beyond)
                if crossing.rate == 0:
                    u, v = np.argwhere(table[np.ix_(inside, beyond)])[0].tolist()
                    msg = f"rank {inside[u]} has data for rank {beyond[v]}, but no path leads there"
                    raise InfeasibleError(msg)
                yield inside, crossing


def _over(crossing: Crossing, inside: tuple[int, ...], table: Longs) -> BandwidthBound:
    """Return the seconds that a cut takes, as the bound of a job of one byte."""
    crossed = int(table[np.ix_(inside, outside(inside, len(table)))].sum())
    return BandwidthBound(Fraction(crossed, crossing.rate), Cut(inside, crossing.links, crossing.rate))


def _lines(network: Network, table: Longs, alphas: Longs, cut: tuple[tuple[int, ...], Crossing]) -> Iterator[Line]:
    """Yield what far senders, and what all of them, have to move over a cut to far receivers, and to all."""
    inside, crossing = cut
    for sources, sinks in busy_ends(alphas, table, inside):
        windows = cut_windows(network, crossing.links, sources=sources, sinks=sinks)
        yield Line("cut with latency", Fraction(int(table[np.ix_(sources, sinks)].sum())), windows)


def busy_ends(
    alphas: Longs, table: Longs, inside: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield senders on one side of a cut and receivers beyond it: all that are busy, and those far from each other.

    Parameters
    ----------
    alphas
        Least alpha from rank to rank, picoseconds.
    """
    beyond = outside(inside, len(table))
    block, near = table[np.ix_(inside, beyond)], alphas[np.ix_(inside, beyond)]
    for axis, ranks in ((1, inside), (0, beyond)):
        distance = near.min(axis=axis)
        for far in np.unique(distance).tolist():
            chosen = np.flatnonzero((distance >= far) & block.any(axis=axis))
            some = tuple(ranks[i] for i in chosen.tolist())
            sources, sinks = (some, beyond) if axis == 1 else (inside, some)
            if table[np.ix_(sources, sinks)].any():
                yield _busy(table, sources, sinks)


def _busy(table: Longs, sources: tuple[int, ...], sinks: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the senders and receivers between which there is something to move."""
    block = table[np.ix_(sources, sinks)]
    return (
        tuple(sources[i] for i in np.flatnonzero(block.any(axis=1)).tolist()),
        tuple(sinks[i] for i in np.flatnonzero(block.any(axis=0)).tolist()),
    )


def _pair_lines(network: Network, table: Longs) -> Iterator[Line]:
    """Yield what the largest entries take by themselves."""
    largest = np.argsort(-table, axis=None, kind="stable")[:_LARGEST_PAIRS]
    for u, v in zip(*(axis.tolist() for axis in np.unravel_index(largest, table.shape)), strict=True):
        if table[u, v]:
            links = network.cut((u,), (v,)).links
            windows = cut_windows(network, links, sources=(u,), sinks=(v,))
            yield Line("pair", Fraction(int(table[u, v])), windows)
