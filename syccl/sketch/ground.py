"""The ground that trees grow on: islands, the arcs between and inside them, which of them may be used."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.plan import connection_plan
from syccl.sketch.quotient import Quotient

Longs = NDArray[np.int64]
Neighbours = dict[int, list[tuple[int, int]]]
"""The ranks that each rank, as a parent, may feed, with the classes of these arcs."""


@dataclass(frozen=True, eq=False)
class Between:
    """The allowed arcs between islands, from parent to child, those of one ordered pair of islands together.

    Parameters
    ----------
    tails, heads, kinds, pair
        Ends, class and number of the pair of islands of each arc, shape ``(arcs,)``.
    starts, from_island, to_island
        First arc and ends of each pair of islands, shape ``(pairs,)``.
    """

    tails: Longs
    heads: Longs
    kinds: NDArray[np.int32]
    pair: Longs
    starts: Longs
    from_island: Longs
    to_island: Longs

    @cached_property
    def tail_list(self) -> list[int]:
        """Tails, for loops."""
        return [int(v) for v in self.tails]

    @cached_property
    def head_list(self) -> list[int]:
        """Heads, for loops."""
        return [int(v) for v in self.heads]

    @cached_property
    def range_of(self) -> dict[tuple[int, int], tuple[int, int]]:
        """First arc, and the one after the last, from one island to another."""
        ends = [*self.starts.tolist()[1:], len(self.tails)]
        pairs = zip(self.from_island.tolist(), self.to_island.tolist(), strict=True)
        return {pair: (first, last) for pair, first, last in zip(pairs, self.starts.tolist(), ends, strict=True)}


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
    def is_star(self) -> list[bool]:
        """Whether each island is best served by a star, as a switch whose ports may have unlike rates."""
        pairs = zip(self.islands, self.is_switch, strict=True)
        return [is_switch or has_ports_alone(self.quotient, members) for members, is_switch in pairs]

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
        return np.asarray(self.routed & (~self.apart | connection_plan(self.quotient, self.islands)))

    @cached_property
    def crossing(self) -> tuple[Longs, Longs]:
        """Tails and heads of the allowed arcs between islands."""
        tails, heads = np.nonzero(self.allowed & self.apart)
        return tails, heads

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Arcs that join different islands, shape ``(ranks, ranks)``."""
        return np.asarray(self.island_of[:, None] != self.island_of[None, :])

    def between(self, *, inward: bool) -> Between:
        """Return the allowed arcs between islands from parent to child; ``inward``: transfers go to the parent."""
        return self._inward if inward else self._outward

    @cached_property
    def _outward(self) -> Between:
        return self._between(*self.crossing, self.quotient.arc_class)

    @cached_property
    def _inward(self) -> Between:
        return self._between(*self.crossing[::-1], self.quotient.arc_class.T)

    def _between(self, tails: Longs, heads: Longs, arc_class: NDArray[np.int32]) -> Between:
        of, count = self.island_of, len(self.islands)
        order = np.lexsort((heads, tails, of[heads], of[tails]))
        tails, heads = tails[order], heads[order]
        pairs, starts, pair = np.unique(of[tails] * count + of[heads], return_index=True, return_inverse=True)
        return Between(tails, heads, arc_class[tails, heads], pair, starts, pairs // count, pairs % count)

    def neighbours(self, *, inward: bool, planned: bool) -> Neighbours:
        """Return the arcs from each rank as a parent; ``inward``: transfers go to the parent.

        Parameters
        ----------
        planned
            Only allowed arcs inside islands; else all that have a route.
        """
        if (inward, planned) not in self._neighbours:
            table = self.allowed & ~self.apart if planned else self.routed
            kinds = self.quotient.arc_class.T if inward else self.quotient.arc_class
            found: Neighbours = {rank: [] for rank in range(len(table))}
            tails, heads = np.nonzero(table.T if inward else table)
            classes = kinds[tails, heads].tolist()
            for over, child, kind in zip(tails.tolist(), heads.tolist(), classes, strict=True):
                found[over].append((child, kind))
            self._neighbours[inward, planned] = found
        return self._neighbours[inward, planned]

    @cached_property
    def _neighbours(self) -> dict[tuple[bool, bool], Neighbours]:
        return {}

    @cached_property
    def inside(self) -> tuple[Longs, Longs]:
        """Tails and heads of the allowed arcs inside islands."""
        tails, heads = np.nonzero(self.allowed & ~self.apart)
        return tails, heads


def is_one_switch(quotient: Quotient, members: tuple[int, ...]) -> bool:
    """Return whether a group behaves as one non-blocking switch.

    All pairs have routes of one rate, and every link serves one sender or one receiver only.
    """
    if not _all_routed(quotient, members):
        return False
    routes = _routes_within(quotient, members)
    rates = quotient.topology.link_rates
    if not _serve_one(routes):
        return False
    return len({min(float(rates[link]) for link in path) for path in routes.values()}) <= 1


def has_ports_alone(quotient: Quotient, members: tuple[int, ...]) -> bool:
    """Return whether all that holds a group up is what each rank can send and receive in all.

    All pairs have routes, every link serves one sender or one receiver only, and the narrowest link of every route is
    one that all routes of its sender, or all of its receiver, pass.
    """
    if not _all_routed(quotient, members):
        return False
    routes = _routes_within(quotient, members)
    if not _serve_one(routes):
        return False
    users = Counter(link for path in routes.values() for link in path)
    rates, others = quotient.topology.link_rates, len(members) - 1
    return all(users[min(path, key=lambda link: (rates[link], -users[link]))] == others for path in routes.values())


def _all_routed(quotient: Quotient, members: tuple[int, ...]) -> bool:
    """Return whether all pairs of a group have routes."""
    is_routed = (np.diff(quotient.route_start) > 0)[quotient.arc_class[np.ix_(members, members)]]
    np.fill_diagonal(is_routed, val=True)
    return bool(is_routed.all())


def _routes_within(quotient: Quotient, members: tuple[int, ...]) -> dict[tuple[int, int], tuple[int, ...]]:
    return {(u, v): quotient.route(u, v) for u in members for v in members if u != v}


def _serve_one(routes: dict[tuple[int, int], tuple[int, ...]]) -> bool:
    """Return whether every link serves one sender or one receiver only."""
    senders: dict[int, set[int]] = defaultdict(set)
    receivers: dict[int, set[int]] = defaultdict(set)
    for (u, v), path in routes.items():
        for link in path:
            senders[link].add(u)
            receivers[link].add(v)
    return all(len(senders[link]) == 1 or len(receivers[link]) == 1 for link in senders)
