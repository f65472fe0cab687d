"""All terms of a collective's lower bound on one topology, ready for any size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from syccl.bounds.bandwidth import (
    BandwidthBound,
    allgather_bound,
    allreduce_bound,
    alltoall_bound,
    backwards,
    broadcast_bound,
    nothing_to_move,
)
from syccl.bounds.combined import exchange_of, far_pair_lines, inbox_line, scatter_lines, spread_lines, spread_of
from syccl.bounds.concurrent import concurrent_rate
from syccl.bounds.gossip import Exchange, Spread
from syccl.bounds.islands import Island, describe_islands, inner_rate
from syccl.bounds.latency import Line, cut_windows, farthest, latency_bound, rank_alphas
from syccl.bounds.network import Longs, Network
from syccl.bounds.partition import Parts, into_parts, levels_above, outside, representatives, singletons
from syccl.collective import Op
from syccl.symmetry.group import Group
from syccl.topology import Topology

_FORWARD = {
    "allgather": "allgather",
    "reducescatter": "allgather",
    "broadcast": "broadcast",
    "reduce": "broadcast",
    "scatter": "scatter",
    "gather": "scatter",
    "alltoall": "alltoall",
    "allreduce": "allreduce",
}
"""The op that spreads data and is the same job on the reversed network."""
_BACKWARDS = frozenset({"reducescatter", "reduce", "gather"})
_PAIRED_RANKS = 64
"""So many pairs are looked at, on no larger clusters; cuts around ranks and islands say as much there."""
_TRIED_RANKS = 64
"""So many ranks' own cuts are looked at with latency, those of least bandwidth in; all are without."""
_SINKS = 16
"""So many receivers of a cut are tried one by one, else the farthest alone."""

Inside = tuple[int, ...]


@dataclass(frozen=True)
class Study:
    """What a lower bound consists of."""

    bandwidth: BandwidthBound
    latency: Fraction
    lines: tuple[Line, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    partitions: tuple[Parts, ...] = ()
    """The partition of each exchange."""
    spread: Spread | None = None
    backwards: bool = False
    """Whether all terms are those of the job seen backwards in time."""


@lru_cache(maxsize=64)
def study(topology: Topology, op: Op, group: Group, place: tuple[Parts, int]) -> Study:
    """Return all terms of a bound; ``place`` holds the islands and the root.

    Raises
    ------
    InfeasibleError
        When some rank does not reach another that needs its data.
    """
    network = Network.of(topology)
    if network.ranks == 1:
        return Study(nothing_to_move(network), Fraction(0))
    turned = op.name in _BACKWARDS
    job = _Job(network.reversed if turned else network, group, *place)
    found: Study = getattr(job, _FORWARD[op.name])()
    if turned:
        return replace(found, bandwidth=backwards(network, found.bandwidth), backwards=True)
    return found


@dataclass(frozen=True, eq=False)
class _Job:
    network: Network
    group: Group
    islands: Parts
    root: int

    @cached_property
    def alphas(self) -> Longs:
        return rank_alphas(self.network, self.group)

    @cached_property
    def representatives(self) -> tuple[int, ...]:
        return tuple(orbit[0] for orbit in self.group.rank_orbits)

    @cached_property
    def levels(self) -> tuple[Parts, ...]:
        return levels_above(self.alphas, self.islands)

    def others(self, ranks: Inside) -> Inside:
        return outside(ranks, self.network.ranks)

    def share(self, count: int) -> Fraction:
        return Fraction(count, self.network.ranks)

    def island_facts(self, network: Network, parts: Parts) -> tuple[Island, ...]:
        if len(parts) < 2:
            return ()
        alphas = self.alphas if network is self.network else self.alphas.T
        return describe_islands(network, parts, self.group, alphas)

    @cached_property
    def into_islands(self) -> tuple[Island, ...]:
        return self.island_facts(self.network, self.islands)

    @cached_property
    def out_of_islands(self) -> tuple[Island, ...]:
        return self.island_facts(self.network.reversed, self.islands)

    def crossings(self, bandwidth: BandwidthBound, *, out: bool) -> Iterator[tuple[Inside, tuple[int, ...]]]:
        """Yield (ranks on the sending side, links) of the cuts that are worth a look."""
        yield bandwidth.cut.ranks, bandwidth.cut.links
        for rank in sorted(self.representatives, key=lambda rank: self.network.in_rates[rank])[:_TRIED_RANKS]:
            others = self.others((rank,))
            yield others, self.network.cut(others, (rank,)).links
            if out:
                yield (rank,), self.network.cut((rank,), others).links
        for island in self.into_islands:
            yield self.others(island.ranks), island.cut.links
        for island in self.out_of_islands if out else ():
            yield island.ranks, island.cut.links

    def allgather(self) -> Study:
        bandwidth = allgather_bound(self.network, self.representatives)
        lines = []
        for inside, links in self.crossings(bandwidth, out=False):
            for sink in self.receivers(inside):
                windows = cut_windows(self.network, links, sources=inside, sinks=(sink,))
                lines.append(Line("cut with latency", self.share(len(inside)), windows))
        wider = [island for parts in self.levels for island in self.island_facts(self.network, parts)]
        for island in (*self.into_islands, *wider):
            lines += spread_lines(island, self.share(len(self.others(island.ranks))))
            lines.append(inbox_line(island, self.share(self.network.ranks - 1)))
        lines += self.pair_lines(self.share(1))
        return Study(bandwidth, latency_bound(self.alphas), tuple(lines))

    def receivers(self, inside: Inside) -> Inside:
        others = self.others(inside)
        if len(others) <= _SINKS:
            return others
        return (others[int(self.alphas[np.ix_(inside, others)].min(axis=0).argmax())],)

    def broadcast(self) -> Study:
        bandwidth = broadcast_bound(self.network, self.root)
        lines = [self.pair_line(self.root, rank, Fraction(1)) for rank in self.unlike(self.root)]
        home = next(island for island in self.islands if self.root in island)
        for island in self.into_islands:
            if island.ranks != home or island.like > 1:
                lines += spread_lines(island, Fraction(1))
        spread = spread_of(self.network, self.alphas, self.root, self.islands)
        return Study(bandwidth, latency_bound(self.alphas[self.root]), tuple(lines), spread=spread)

    def unlike(self, rank: int) -> Inside:
        """Return the other ranks, of those with equal alpha from ``rank`` and bandwidth in only the first."""
        found: dict[tuple[int, int], int] = {}
        for other in self.others((rank,)):
            found.setdefault((int(self.alphas[rank, other]), self.network.in_rates[other]), other)
        return tuple(found.values())

    def pair_lines(self, share: Fraction) -> list[Line]:
        """Return the bounds of single pairs, each of which has ``share`` of the size to move."""
        if self.network.ranks > _PAIRED_RANKS:
            return []
        pairs = [(rank, other) for rank in self.representatives for other in self.unlike(rank)]
        return [self.pair_line(rank, other, share) for rank, other in pairs[:_PAIRED_RANKS]]

    def pair_line(self, rank: int, other: int, share: Fraction) -> Line:
        """Return about alpha + bytes / max-flow; less where detours of other timing add to a link's busy time."""
        links = self.network.cut((rank,), (other,)).links
        windows = cut_windows(self.network, links, sources=(rank,), sinks=(other,))
        return Line("pair", share, windows)

    def scatter(self) -> Study:
        away = allgather_bound(self.network.reversed, (self.root,))
        bandwidth = backwards(self.network, away)
        home = next(island for island in self.islands if self.root in island)
        around = [(self.root,), home] if len(self.islands) > 1 else [(self.root,)]
        cuts = [(bandwidth.cut.ranks, bandwidth.cut.links)]
        cuts += [(ranks, self.network.cut(ranks, self.others(ranks)).links) for ranks in around]
        lines = []
        for inside, links in cuts:
            windows = cut_windows(self.network, links, sources=(self.root,), sinks=self.others(inside))
            lines.append(Line("cut with latency", self.share(len(self.others(inside))), windows))
        lines += scatter_lines(self.network, self.root, home)
        return Study(bandwidth, latency_bound(self.alphas[self.root]), tuple(lines))

    def alltoall(self) -> Study:
        bandwidth = alltoall_bound(self.network, self.sets())
        lines = []
        for inside, links in self.crossings(bandwidth, out=True):
            others = self.others(inside)
            windows = cut_windows(self.network, links, sources=inside, sinks=others)
            lines.append(Line("cut with latency", self.share(len(inside) * len(others)), windows))
        for facts, alphas in ((self.into_islands, self.alphas), (self.out_of_islands, self.alphas.T)):
            for island in facts:
                lines.append(inbox_line(island, self.share(self.network.ranks - 1)))
                lines += far_pair_lines(island, alphas)
        lines += self.pair_lines(self.share(1))
        rate = concurrent_rate(self.network, self.group)
        if rate is not None:
            # A pair's data is the size over the ranks; rounding up the rate keeps the bound below the truth.
            whole = Fraction(math.ceil(rate * self.network.ranks))
            lines.append(Line("concurrent flow of all pairs", Fraction(1), {0: whole}))
        return Study(bandwidth, latency_bound(self.alphas), tuple(lines))

    def sets(self) -> Iterator[Inside]:
        """Yield sets of ranks whose cuts may bind."""
        for rank in self.representatives:
            yield (rank,)
        for parts in (self.islands, *self.levels):
            if len(parts) > 1:
                yield from (parts[i] for i, _ in representatives(parts, self.group))
        for network in (self.network, self.network.reversed):
            yield allgather_bound(network, self.representatives).cut.ranks

    def allreduce(self) -> Study:
        partitions = [singletons(self.network.ranks), self.islands, *self.levels]
        bandwidth, best = allreduce_bound(self.network, self.group, partitions)
        lines = []
        for inside, links in self.crossings(bandwidth, out=True):
            source, sink = farthest(self.alphas, inside, self.others(inside))
            windows = cut_windows(self.network, links, sources=(source,), sinks=(sink,))
            lines.append(Line("cut with latency", Fraction(1), windows))
        lines += self.pair_lines(Fraction(1))
        chosen = dict.fromkeys(parts for parts in (*partitions, best) if len(parts) > 1)
        exchanges = tuple(self.exchange(parts) for parts in chosen)
        return Study(bandwidth, latency_bound(self.alphas), tuple(lines), exchanges, tuple(chosen))

    def exchange(self, parts: Parts) -> Exchange:
        into = into_parts(self.network, parts, self.group).rate
        out = into_parts(self.network.reversed, parts, self.group).rate
        inner = inner_rate(self.network.reversed, parts, self.group)
        return exchange_of(self.alphas, parts, into=into, out=out, inner=inner)
