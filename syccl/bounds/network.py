"""What the bounds see of a topology: arrays, least alphas, and minimum cuts between sets of ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.optimize.flow import FlowNetwork
from syccl.topology import Topology

UNREACHED = 1 << 60
"""Alpha, in picoseconds, where there is no way."""

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Crossing(NamedTuple):
    """A cut of the network."""

    rate: int
    """Bandwidth of the links that leave it, bytes per second."""
    side: Mask
    """Whether each node is on the sending side, shape ``(nodes,)``."""
    links: tuple[int, ...]
    """Ids of the links that leave it, ascending."""


class Network:
    """A directed graph in arrays; ``reversed`` turns every link round and keeps all ids.

    Parameters
    ----------
    nodes
        Number of nodes.
    gpus
        Node id of every rank, shape ``(ranks,)``.
    links
        Rows tail, head, rate (bytes per second), alpha (picoseconds); shape ``(4, links)``.
    """

    def __init__(self, nodes: int, gpus: Longs, links: Longs) -> None:
        self.nodes = nodes
        self.gpus = gpus
        self.tails: Longs = links[0]
        self.heads: Longs = links[1]
        self.rates: Longs = links[2]
        self.alphas: Longs = links[3]
        self._links = links
        self._alphas_from: dict[tuple[int, ...], Longs] = {}
        self._cuts: dict[tuple[tuple[int, ...], ...], Crossing] = {}

    @classmethod
    def of(cls, topology: Topology) -> Network:
        """Return the network of a topology."""
        links = np.array(topology.links, dtype=np.int64).reshape(-1, 4).T
        return cls(len(topology.nodes), np.array(topology.gpus, dtype=np.int64), links)

    @cached_property
    def reversed(self) -> Network:
        """The network with every link turned round."""
        back = Network(self.nodes, self.gpus, self._links[[1, 0, 2, 3]])
        back.__dict__["reversed"] = self
        return back

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return len(self.gpus)

    @cached_property
    def unit(self) -> int:
        """Greatest common divisor of all rates, bytes per second."""
        return math.gcd(*self.rates.tolist()) or 1

    @cached_property
    def in_rates(self) -> tuple[int, ...]:
        """Bandwidth of all links into every rank, bytes per second."""
        total = np.zeros(self.nodes, dtype=np.int64)
        np.add.at(total, self.heads, self.rates)
        return tuple(total[self.gpus].tolist())

    @cached_property
    def near(self) -> Longs:
        """Least alpha from any GPU to each node, shape ``(nodes,)``, picoseconds; 0 at GPUs."""
        return self.alphas_from(range(self.ranks))

    def alphas_from(self, ranks: Collection[int]) -> Longs:
        """Return the least alpha from the nearest of some ranks to each node, through anything; shape ``(nodes,)``."""
        key = tuple(ranks)
        if key not in self._alphas_from:
            start = np.full(self.nodes, UNREACHED, dtype=np.int64)
            start[self.gpus[list(key)]] = 0
            self._alphas_from[key] = self._relaxed_row(start, self.alphas)
        return self._alphas_from[key]

    def alphas_from_each(self, ranks: Sequence[int]) -> Longs:
        """Return the least alpha from each of some ranks to each node; shape ``(len(ranks), nodes)``."""
        start = np.full((len(ranks), self.nodes), UNREACHED, dtype=np.int64)
        start[np.arange(len(ranks)), self.gpus[list(ranks)]] = 0
        return self._relaxed(start, self.alphas)

    def transfer_alphas_from(self, ranks: Collection[int]) -> Longs:
        """Return the least alpha of a transfer that some of the ranks start up to each node it may pass.

        Other GPUs are passed by no transfer: there it is ``UNREACHED``. Shape ``(nodes,)``.
        """
        start = np.full(self.nodes, UNREACHED, dtype=np.int64)
        start[self.gpus[list(ranks)]] = 0
        return self._relaxed_row(start, np.where(self._into_gpu, UNREACHED, self.alphas))

    def at_feeders(self, values: Longs) -> Longs:
        """Return for each node the least of ``values`` over GPUs whose transfers may pass it; shape ``(nodes,)``."""
        start = np.full(self.nodes, UNREACHED, dtype=np.int64)
        start[self.gpus] = values[self.gpus]
        return self._relaxed_row(start, np.where(self._into_gpu, UNREACHED, 0))

    @cached_property
    def _into_gpu(self) -> Mask:
        is_gpu = np.zeros(self.nodes, dtype=np.bool_)
        is_gpu[self.gpus] = True
        return np.asarray(is_gpu[self.heads])

    def crossing_alphas(self, links: Sequence[int], sources: Collection[int], sinks: Collection[int]) -> Longs:
        """Return how much shorter than the whole time each link can carry what goes from some ranks to others.

        The busy times of a link lie after the least alpha that its senders wait for the data, and before the end by
        the least alpha from its crossing on. A transfer's alpha may be spent after its links are busy (as schedules
        are timed) or before (the same seen backwards in time); the smaller figure is returned, so it holds for both.

        Returns
        -------
        NDArray
            Picoseconds, shape ``(len(links),)``; ``UNREACHED`` or more where the link is of no use.
        """
        chosen = np.array(links, dtype=np.int64)
        tails, heads, alphas = self.tails[chosen], self.heads[chosen], self.alphas[chosen]
        before, after = self.alphas_from(sources), self.reversed.alphas_from(sinks)
        last = self.at_feeders(before)[tails] + self.near[tails] + alphas + after[heads]
        first = before[tails] + alphas + self.reversed.near[heads] + self.reversed.at_feeders(after)[heads]
        return np.where(last < first, last, first)

    def _relaxed_row(self, values: Longs, lengths: Longs) -> Longs:
        return np.ravel(self._relaxed(values.reshape(1, -1), lengths))

    def _relaxed(self, values: Longs, lengths: Longs) -> Longs:
        """Lower each row of ``values`` until no link can lower it further."""
        if len(self.tails) == 0:
            return values
        tails, heads, starts, order = self._by_head
        lengths = lengths[order]
        while True:
            arriving = np.minimum.reduceat(values[:, tails] + lengths, starts, axis=1)
            better = np.minimum(values[:, heads], arriving)
            if np.array_equal(better, values[:, heads]):
                return values
            values[:, heads] = better

    @cached_property
    def _by_head(self) -> tuple[Longs, Longs, Longs, Longs]:
        order = np.argsort(self.heads, kind="stable")
        heads, starts = np.unique(self.heads[order], return_index=True)
        return self.tails[order], heads, np.asarray(starts, dtype=np.int64), np.asarray(order, dtype=np.int64)

    def leaving(self, side: Mask) -> Crossing:
        """Return the cut whose sending side is given."""
        links = np.flatnonzero(side[self.tails] & ~side[self.heads])
        return Crossing(sum(self.rates[links].tolist()), side, tuple(links.tolist()))

    @cached_property
    def _flows(self) -> FlowNetwork:
        source, sink = self.nodes, self.nodes + 1
        pad = np.full(self.ranks, source)
        tails = np.concatenate([self.tails, pad, self.gpus])
        heads = np.concatenate([self.heads, self.gpus, np.full(self.ranks, sink)])
        zeros = np.zeros(2 * self.ranks, dtype=np.int64)
        return FlowNetwork(self.nodes + 2, tails, heads, np.concatenate([self.rates // self.unit, zeros]))

    def cut(self, sources: Collection[int], sinks: Collection[int], *, without: Sequence[int] = ()) -> Crossing:
        """Return a cut of least bandwidth between two disjoint sets of ranks, in the network less some links."""
        key = tuple(sources), tuple(sinks), tuple(without)
        if key not in self._cuts:
            self._cuts[key] = self._cut(*key)
        return self._cuts[key]

    def _cut(self, sources: Sequence[int], sinks: Sequence[int], without: Sequence[int]) -> Crossing:
        ports = np.zeros((2, self.ranks), dtype=np.int64)
        ports[0, list(sources)] = np.array(self.reversed.in_rates, dtype=np.int64)[list(sources)] // self.unit
        ports[1, list(sinks)] = np.array(self.in_rates, dtype=np.int64)[list(sinks)] // self.unit
        m = len(self.tails)
        self._flows.set_capacities(np.arange(m, m + ports.size), ports.ravel())
        self._flows.set_capacities(without, np.zeros(len(without), dtype=np.int64))
        flow = self._flows.max_flow(self.nodes, self.nodes + 1)
        self._flows.set_capacities(without, self.rates[list(without)] // self.unit)
        side = flow.source_side[: self.nodes].copy()
        # Where the ports of a rank are what is saturated, the flow's own cut has it on the far side.
        side[self.gpus[list(sources)]] = True
        side[self.gpus[list(sinks)]] = False
        gone = set(without)
        links = tuple(i for i in self.leaving(side).links if i not in gone)
        return Crossing(flow.value * self.unit, side, links)
