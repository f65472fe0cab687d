"""The ground that trees grow on: islands, the arcs between and inside them, which of them may be used."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.plan import connection_plan
from syccl.sketch.quotient import Quotient

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ground:
    """A quotient and a partition of its ranks into islands, with what trees need to know about them."""

    quotient: Quotient
    islands: tuple[tuple[int, ...], ...]

    @cached_property
    def island_of(self) -> Longs:
        """Island of every rank, shape ``(ranks,)``."""
        home = np.zeros(self.quotient.ranks, dtype=np.int64)
        for i, members in enumerate(self.islands):
            home[list(members)] = i
        return home

    @cached_property
    def is_switch(self) -> list[bool]:
        """Whether each island behaves as one non-blocking switch."""
        return [is_one_switch(self.quotient, members) for members in self.islands]

    @cached_property
    def routed(self) -> NDArray[np.bool_]:
        """Arcs that have a route, shape ``(ranks, ranks)``."""
        routed = (np.diff(self.quotient.route_start) > 0)[self.quotient.arc_class]
        np.fill_diagonal(routed, val=False)
        return np.asarray(routed)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Arcs that have a route and, between islands, are in the connection plan; shape ``(ranks, ranks)``."""
        if len(self.islands) == 1:
            return self.routed
        crossing = self.island_of[:, None] != self.island_of[None, :]
        return np.asarray(self.routed & (~crossing | connection_plan(self.quotient, self.islands)))

    @cached_property
    def crossing(self) -> tuple[Longs, Longs]:
        """Tails and heads of the allowed arcs between islands."""
        apart = self.island_of[:, None] != self.island_of[None, :]
        tails, heads = np.nonzero(self.allowed & apart)
        return tails, heads

    @cached_property
    def inside(self) -> tuple[Longs, Longs]:
        """Tails and heads of the allowed arcs inside islands."""
        together = self.island_of[:, None] == self.island_of[None, :]
        tails, heads = np.nonzero(self.allowed & together)
        return tails, heads


def is_one_switch(quotient: Quotient, members: tuple[int, ...]) -> bool:
    """Return whether a group behaves as one non-blocking switch.

    All pairs have routes of one rate, and every link serves one sender or one receiver only.
    """
    routes = [(u, v, quotient.route(u, v)) for u in members for v in members if u != v]
    if any(not path for _, _, path in routes):
        return False
    senders: dict[int, set[int]] = defaultdict(set)
    receivers: dict[int, set[int]] = defaultdict(set)
    for u, v, path in routes:
        for link in path:
            senders[link].add(u)
            receivers[link].add(v)
    rates = quotient.topology.link_rates
    alone = all(len(senders[link]) == 1 or len(receivers[link]) == 1 for link in senders)
    return alone and len({min(float(rates[link]) for link in path) for _, _, path in routes}) <= 1
