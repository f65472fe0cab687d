"""The cluster as the time-window program sees it: hops from GPU to GPU, and what moves them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.symmetry.collapse import collapse
from syccl.symmetry.generators import Moves, generators
from syccl.topology import Topology

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_HOPS = 20_000
"""Clusters with more ways from GPU to GPU are too large for the linear program."""

FAR = 1 << 60
"""Alpha, in picoseconds, where there is no way."""


@dataclass(frozen=True, eq=False)
class Fabric:
    """Hops over wires; a *wire* is a link, or all like links between two classes of twin switches.

    A hop is a way from GPU to GPU through NICs and switches, no node twice: all ways there are. Ranks are numbers of
    GPUs; arrays with ``padded`` hold ``wires`` where a hop is shorter than the longest.

    Parameters
    ----------
    ranks
        Number of GPUs.
    tail, head, alpha
        Ranks and sum of alphas (picoseconds) of every hop, shape ``(hops,)``.
    wires
        Wires of every hop, padded; shape ``(hops, longest)``.
    slowest
        Whether a wire of a hop is as slow as any of it, so that a byte crosses it last; shape ``(hops, longest)``.
    rate
        Bytes per second of every wire, shape ``(wires,)``.
    members
        Links of the topology in every wire.
    nodes
        Symmetries as permutations of the topology's nodes, shape ``(permutations, nodes)``.
    thin
        Where wires begin and end.
    """

    ranks: int
    tail: Longs
    head: Longs
    alpha: Longs
    wires: Longs
    slowest: Mask
    rate: Longs
    members: tuple[tuple[int, ...], ...]
    nodes: Moves
    thin: Thin

    @property
    def hops(self) -> int:
        """Number of hops."""
        return len(self.tail)

    @cached_property
    def distance(self) -> Longs:
        """Least alpha from rank to rank over hops, picoseconds; shape ``(ranks, ranks)``."""
        table = np.full((self.ranks, self.ranks), FAR, dtype=np.int64)
        np.fill_diagonal(table, 0)
        np.minimum.at(table, (self.tail, self.head), self.alpha)
        for middle in range(self.ranks):
            np.minimum(table, table[:, middle, None] + table[None, middle], out=table)
        return table

    def on_ranks(self, nodes: Moves) -> Moves:
        """Return where permutations of nodes send every rank."""
        gpus = self.thin.gpus
        return np.asarray(self.thin.rank_of_node[nodes[:, gpus]], dtype=np.int32)

    def on_wires(self, nodes: Moves) -> Moves:
        """Return where permutations of nodes send every wire."""
        return self.thin.moved(nodes)

    def on_hops(self, nodes: Moves) -> Moves:
        """Return where permutations of nodes send every hop; one that keeps not all hops stays with the identity."""
        identity = np.arange(self.hops, dtype=np.int32)
        if not len(nodes):
            return np.empty((0, self.hops), dtype=np.int32)
        wires = np.pad(self.on_wires(nodes), ((0, 0), (0, 1)), constant_values=len(self.rate))
        weights, order, keys = self._keys
        moved = wires[:, self.wires]
        found = order[np.searchsorted(keys, weights[moved].sum(axis=2)).clip(max=self.hops - 1)]
        good = (self.wires[found] == moved).all(axis=(1, 2))
        return np.where(good[:, None], found, identity).astype(np.int32)

    @cached_property
    def _keys(self) -> tuple[Longs, Longs, Longs]:
        """A random number for each wire, and hops in the order of their sums."""
        weights = np.random.default_rng(0).integers(0, 1 << 58, len(self.rate) + 1)
        sums = weights[self.wires].sum(axis=1)
        order = np.argsort(sums, kind="stable")
        return weights, order, sums[order]


def fabric_of(topology: Topology) -> Fabric | None:
    """Return the hops of a topology; None where there are more than ``MOST_HOPS``."""
    thin = Thin(topology)
    ways = thin.ways()
    if ways is None:
        return None
    longest = max(map(len, ways), default=1)
    wires = np.full((len(ways), longest), len(thin.rate), dtype=np.int64)
    for i, way in enumerate(ways):
        wires[i, : len(way)] = way
    ends, alpha = np.array(thin.ends, dtype=np.int64).reshape(-1, 2), np.array([*thin.alpha, 0], dtype=np.int64)
    tail = thin.rank[ends[wires[:, 0], 0]]
    head = thin.rank[ends[[way[-1] for way in ways], 1]]
    nodes = generators(topology)
    least, most = (np.array([*lanes, FAR], dtype=np.int64)[wires] for lanes in (thin.slow_lane, thin.fast_lane))
    slowest = (least == most) & (least == least.min(axis=1, keepdims=True)) & (wires < len(thin.rate))
    rate = np.array(thin.rate, dtype=np.int64)
    members = tuple(map(tuple, thin.members))
    return Fabric(topology.ranks, tail, head, alpha[wires].sum(axis=1), wires, slowest, rate, members, nodes, thin)


class Thin:
    """The topology with twin switches as one node, and links of one latency between two nodes as one wire."""

    def __init__(self, topology: Topology) -> None:
        classes = collapse(topology).members
        self.place = np.empty(len(topology.nodes), dtype=np.int64)
        for i, members in enumerate(classes):
            self.place[list(members)] = i
        self.rank = np.full(len(classes), -1, dtype=np.int64)
        self.rank[self.place[list(topology.gpus)]] = np.arange(topology.ranks)
        self.wire_of: dict[tuple[int, int, int], int] = {}
        self.members: list[list[int]] = []
        place = self.place.tolist()
        for i, link in enumerate(topology.links):
            key = place[link.src], place[link.dst], link.latency_ps
            wire = self.wire_of.setdefault(key, len(self.members))
            if wire == len(self.members):
                self.members.append([])
            self.members[wire].append(i)
        lanes = [[topology.links[i].rate for i in members] for members in self.members]
        self.rate = [sum(rates) for rates in lanes]
        self.slow_lane, self.fast_lane = [min(rates) for rates in lanes], [max(rates) for rates in lanes]
        self.ends = [(src, dst) for src, dst, _ in self.wire_of]
        self.alpha = [alpha for _, _, alpha in self.wire_of]
        self.gpus = np.array(topology.gpus)
        self.rank_of_node = np.full(len(topology.nodes), -1, dtype=np.int64)
        self.rank_of_node[self.gpus] = np.arange(topology.ranks)

    def moved(self, nodes: Moves) -> Moves:
        """Return where automorphisms of the topology, as permutations of nodes, send every wire."""
        first = np.full(len(self.rank), -1, dtype=np.int64)
        first[self.place[::-1]] = np.arange(len(self.place))[::-1]
        place = self.place[nodes[:, first]]
        ends = np.array(self.ends, dtype=np.int64).reshape(-1, 2)
        latencies, kind = np.unique(np.array(self.alpha, dtype=np.int64), return_inverse=True)
        size = len(self.rank)
        keys = (ends[:, 0] * size + ends[:, 1]) * (len(latencies) + 1) + kind.reshape(-1)
        images = (place[:, ends[:, 0]] * size + place[:, ends[:, 1]]) * (len(latencies) + 1) + kind.reshape(-1)
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], images)], dtype=np.int32)

    def ways(self) -> list[tuple[int, ...]] | None:
        """Return the wires of every way from GPU to GPU; None where there are too many."""
        leaving: list[list[tuple[int, int]]] = [[] for _ in self.rank]
        for wire, (src, dst) in enumerate(self.ends):
            leaving[src].append((wire, dst))
        is_gpu = (self.rank >= 0).tolist()
        found: list[tuple[int, ...]] = []
        for start in np.argsort(self.rank)[np.sort(self.rank) >= 0].tolist():
            stack: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), (start,))]
            while stack:
                way, passed = stack.pop()
                for wire, node in leaving[passed[-1]]:
                    if node in passed:
                        continue
                    if is_gpu[node]:
                        found.append((*way, wire))
                    else:
                        stack.append(((*way, wire), (*passed, node)))
                if len(found) + len(stack) > MOST_HOPS:
                    return None
        return found
