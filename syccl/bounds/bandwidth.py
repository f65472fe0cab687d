"""Exact bandwidth bounds: what must cross a cut over what the cut carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from syccl.bounds.network import Crossing, Mask, Network
from syccl.bounds.partition import (
    PartitionCut,
    Parts,
    densest_partition,
    into_parts,
    outside,
)
from syccl.errors import InfeasibleError
from syccl.optimize.flow import LARGEST_TOTAL, FlowNetwork
from syccl.symmetry.group import Group

EXACT_PARTITION_RANKS = 64
"""Up to here the best of all partitions is searched where the plain ones leave a gap."""


class Cut(NamedTuple):
    """Where the bandwidth bound is active.

    For a partition (``parts`` above 1) it is the cut into one part, and stands for the like around each part.
    """

    ranks: tuple[int, ...]
    """GPUs on the sending side, ascending."""
    links: tuple[int, ...]
    """Ids of the links from the sending side to the other, ascending."""
    rate: int
    """Bandwidth of the links, bytes per second; of all cuts together for a partition."""
    parts: int = 1


class BandwidthBound(NamedTuple):
    """No schedule is faster than ``seconds_per_byte`` times the total size."""

    seconds_per_byte: Fraction
    cut: Cut


def allgather_bound(network: Network, sinks: Iterable[int]) -> BandwidthBound:
    """Return the largest (GPUs inside) / (bandwidth out), a rank, over cuts with a sink outside.

    ForestColl (Zhao et al., arXiv 2402.06787) shows that it can be reached by pipelined trees. With one sink of
    each orbit of ranks it is the bound for allgather (and, on the reversed network, reducescatter); with the root as
    the only sink, for gather (and scatter).

    Raises
    ------
    InfeasibleError
        When some rank reaches a sink by no path.
    """
    ratio, crossing = densest_cut(network, sinks)
    return BandwidthBound(ratio / network.ranks, _cut(network, crossing))


def two_phase_bound(network: Network, sinks: Iterable[int]) -> Fraction:
    """Return the least seconds per byte of a reducescatter and an allgather one after the other.

    It is no bound for allreduce: in-trees and out-trees that are chosen together, with roots where both fit best, may
    need less.
    """
    ranks = list(sinks)
    return sum((allgather_bound(way, ranks).seconds_per_byte for way in (network, network.reversed)), Fraction(0))


def densest_cut(network: Network, sinks: Iterable[int]) -> tuple[Fraction, Crossing]:
    """Return the largest (GPUs inside) / (bandwidth out) in seconds per byte, over cuts with a sink outside.

    A ratio is enough when, with links of that many times their bandwidth, every GPU can send one unit to each sink
    at once; else the min-cut states a larger one (discrete Newton). Every figure that is returned is the exact ratio
    of the cut beside it.
    """
    n, source = network.ranks, network.nodes
    tails = np.concatenate([network.tails, np.full(n, source)])
    heads = np.concatenate([network.heads, network.gpus])
    flows = FlowNetwork(network.nodes + 1, tails, heads, np.zeros(len(tails), np.int64))
    ratio, crossing = Fraction(0), network.leaving(np.ones(network.nodes, dtype=np.bool_))
    for sink in sinks:
        gpu = int(network.gpus[sink])
        side = np.ones(network.nodes, dtype=np.bool_)
        side[gpu] = False
        while True:
            here = _ratio(network, side)
            if here[0] > ratio:
                ratio, crossing = here
                need = _scale(flows, network, ratio * network.unit)
            flow = flows.max_flow(source, gpu)
            side = flow.source_side[: network.nodes]
            if flow.value >= need or _ratio(network, side)[0] <= ratio:
                break
    return ratio, crossing


def _ratio(network: Network, side: Mask) -> tuple[Fraction, Crossing]:
    crossing = network.leaving(side)
    inside = np.flatnonzero(side[network.gpus])
    if crossing.rate == 0 and len(inside):
        ranks = _some(inside.tolist())
        msg = f"ranks {ranks} are joined to the others in one direction at most; every rank must reach every other"
        raise InfeasibleError(msg)
    return Fraction(len(inside), crossing.rate) if len(inside) else Fraction(0), crossing


def _some(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")


def _scale(flows: FlowNetwork, network: Network, ratio: Fraction) -> int:
    """Set one unit a GPU against ``ratio`` units a link, as integers; return the flow that a sink needs."""
    n, m = network.ranks, len(network.tails)
    need = ratio.denominator * n
    # Capacities above the whole need never bind; shifting loses sharpness only, as ratios are taken from the cuts.
    shift = max(0, (2 * need).bit_length() - LARGEST_TOTAL.bit_length())
    links = [min(ratio.numerator * rate, need) >> shift for rate in (network.rates // network.unit).tolist()]
    supply = ratio.denominator >> shift
    flows.set_capacities(np.arange(m + n), np.array(links + [supply] * n, dtype=np.int64))
    return supply * n


def broadcast_bound(network: Network, root: int) -> BandwidthBound:
    """Return the least max-flow from the root to a rank (Edmonds' bound); on the reversed network, reduce's.

    Raises
    ------
    InfeasibleError
        When the root does not reach some rank.
    """
    crossing = min((network.cut((root,), (v,)) for v in outside((root,), network.ranks)), key=lambda c: c.rate)
    return BandwidthBound(1 / _positive(network, crossing), _cut(network, crossing))


def _positive(network: Network, crossing: Crossing) -> Fraction:
    if crossing.rate == 0:
        _ratio(network, crossing.side)
    return Fraction(crossing.rate)


def alltoall_bound(network: Network, sets: Iterable[Sequence[int]]) -> BandwidthBound:
    """Return the largest (ranks inside) (ranks outside) / (bandwidth), a rank, over cuts around the given sets.

    Both directions are tried. The best of all cuts is hard to find; single ranks and islands mostly bind.

    Raises
    ------
    InfeasibleError
        When some set has no link out, or none in.
    """
    best: tuple[Fraction, Crossing] | None = None
    for ranks in sets:
        others = outside(ranks, network.ranks)
        pairs = len(ranks) * len(others)
        for crossing in (network.cut(ranks, others), network.cut(others, ranks)) if pairs else ():
            ratio = pairs / _positive(network, crossing)
            if best is None or ratio > best[0]:
                best = ratio, crossing
    if best is None:
        return nothing_to_move(network)
    return BandwidthBound(best[0] / network.ranks, _cut(network, best[1]))


def nothing_to_move(network: Network) -> BandwidthBound:
    """Return the bound of a job without transfers."""
    return BandwidthBound(Fraction(0), Cut(tuple(range(network.ranks)), (), 0))


def allreduce_bound(network: Network, group: Group, partitions: Sequence[Parts]) -> tuple[BandwidthBound, Parts]:
    """Return the best single-cut or partition bound, without reduction in switches, and the best partition.

    A single cut with GPUs on both sides must pass every byte of the sum in both directions: its narrower direction
    counts. The given partitions are tried first; where they fall short of what reducescatter and allgather one after
    the other reach, single cuts and (up to 64 ranks) all partitions are tried too.

    Raises
    ------
    InfeasibleError
        When some rank does not reach some other.
    """
    sinks = [orbit[0] for orbit in group.rank_orbits]
    ceiling = (densest_cut(network, sinks)[0] + densest_cut(network.reversed, sinks)[0]) / network.ranks
    ways = (network, network.reversed)
    cuts = [(into_parts(way, parts, group), way) for parts in partitions if len(parts) > 1 for way in ways]
    best, way = max(cuts, key=lambda entry: entry[0].ratio)
    if 2 * best.ratio < ceiling and network.ranks <= EXACT_PARTITION_RANKS:
        tried = [(densest_partition(way, into_parts(way, best.parts, group)), way) for way in ways]
        best, way = max(tried, key=lambda entry: entry[0].ratio)
    bound = BandwidthBound(2 * best.ratio, _partition_cut(network, best, forward=way is network))
    if bound.seconds_per_byte < ceiling:
        narrowest = narrowest_cut(network, transitive=len(sinks) == 1)
        if Fraction(1, narrowest.rate) > bound.seconds_per_byte:
            bound = BandwidthBound(Fraction(1, narrowest.rate), _cut(network, narrowest))
    return bound, best.parts


def narrowest_cut(network: Network, *, transitive: bool) -> Crossing:
    """Return the cut of least bandwidth between any two ranks; one direction is enough where ranks are all alike."""
    cuts = [network.cut((0,), (rank,)) for rank in range(1, network.ranks)]
    if not transitive:
        cuts += [network.cut((rank,), (0,)) for rank in range(1, network.ranks)]
    return min(cuts, key=lambda crossing: crossing.rate)


def _partition_cut(network: Network, best: PartitionCut, *, forward: bool) -> Cut:
    side, links = best.into_first.side, best.into_first.links
    inside = side if forward else ~side
    ranks = np.flatnonzero(inside[network.gpus])
    return Cut(tuple(ranks.tolist()), links, best.rate, len(best.parts))


def _cut(network: Network, crossing: Crossing) -> Cut:
    return Cut(tuple(np.flatnonzero(crossing.side[network.gpus]).tolist()), crossing.links, crossing.rate)


def backwards(network: Network, bound: BandwidthBound) -> BandwidthBound:
    """Return a bound found on the reversed network in terms of the network itself."""
    return bound._replace(cut=bound.cut._replace(ranks=outside(bound.cut.ranks, network.ranks)))
