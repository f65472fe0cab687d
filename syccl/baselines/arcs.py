"""Hops between ranks over default routes: which exist, what they load, what they cost at current loads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.topology import Topology
from syccl.topology.routes import routes_from

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32]
"""For every lane and rank, another rank: the next one of a ring or the parent in a tree; shape ``(lanes, ranks)``."""

_STEEPNESS = 4
_LATENCY_WEIGHT_PER_US = 1e-3


@dataclass(frozen=True, eq=False)
class Arcs:
    """All hops of a topology; arrays of shape ``(ranks, ranks)``, sender first."""

    topology: Topology

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """Links of every default route, padded with the number of links; shape ``(ranks, ranks, longest)``."""
        n, pad = self.topology.ranks, len(self.topology.links)
        table = [routes_from(self.topology, rank) for rank in range(n)]
        longest = max((len(route.links) for routes in table for route in routes.values()), default=1)
        padded = np.full((n, n, longest), pad, dtype=np.int32)
        for src, routes in enumerate(table):
            for dst, route in routes.items():
                padded[src, dst, : len(route.links)] = route.links
        return padded

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Whether a route exists."""
        return np.asarray(self.links[:, :, 0] < len(self.topology.links))

    @cached_property
    def direct(self) -> NDArray[np.bool_]:
        """Whether the route is a single link between two GPUs."""
        return np.asarray(self.joined & (self.links[:, :, 1:] == len(self.topology.links)).all(axis=2))

    @cached_property
    def rates(self) -> Floats:
        """Bandwidth of every route, bytes per second; 0 where there is none."""
        widest = np.append(self.topology.link_rates, np.inf)
        return np.where(self.joined, widest[self.links].min(axis=2), 0.0)

    @cached_property
    def latencies_us(self) -> Floats:
        """Latency of every route, microseconds; infinite where there is none."""
        return np.where(self.joined, self._through(self.topology.link_latencies_s * 1e6), np.inf)

    def _through(self, values: Floats) -> Floats:
        """Return the sum of a value over the links of every route."""
        return np.asarray(np.append(values, 0.0)[self.links].sum(axis=2))

    def route(self, src: int, dst: int) -> tuple[int, ...]:
        """Return the links of one route, in path order."""
        return routes_from(self.topology, src)[dst].links

    def load(self, lanes: Ranks) -> Floats:
        """Return how often all hops of some lanes pass every link, shape ``(links,)``."""
        senders = np.broadcast_to(np.arange(lanes.shape[1]), lanes.shape)
        moved = lanes != senders
        return self._passed(senders[moved], lanes[moved])

    def load_back(self, lanes: Ranks) -> Floats:
        """Return how often all hops of some lanes, the other way round, pass every link, shape ``(links,)``."""
        senders = np.broadcast_to(np.arange(lanes.shape[1]), lanes.shape)
        moved = lanes != senders
        return self._passed(lanes[moved], senders[moved])

    def _passed(self, src: Ranks, dst: Ranks) -> Floats:
        links = self.links[src, dst]
        return np.bincount(links.ravel(), minlength=len(self.topology.links) + 1)[:-1].astype(np.float64)

    def share(self, load: Floats) -> float:
        """Return the most bytes per second that each hop can carry when all hops carry the same."""
        busiest = float((load / self.topology.link_rates).max(initial=0.0))
        return 1.0 / busiest if busiest > 0 else float("inf")

    def prices(self, load: Floats) -> Floats:
        """Return what one more hop costs: steep in the load of its links, then in latency; infinite without route."""
        rates = self.topology.link_rates
        cost = ((load + 1.0) / rates * rates.min(initial=np.inf)) ** _STEEPNESS
        return np.where(self.joined, self._through(cost) + _LATENCY_WEIGHT_PER_US * self.latencies_us, np.inf)
