"""Growing one tree under prices: Prim's algorithm over islands, a star or local Prim inside each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.ground import Ground, Longs, Neighbours
from syccl.sketch.islandwise import Terms, best_pair
from syccl.sketch.loads import Loads, Tolls
from syccl.sketch.model import Hop
from syccl.sketch.shape import (
    DEPTH,
    DETOUR,
    EVEN,
    FAN,
    NOISE,
    OPEN,
    PREFER,
    REHANG_GAIN,
    Shape,
    preferred_feeders,
    star_parents,
)

Floats = NDArray[np.float64]

_FEW_COPIES = 4
"""Largest symmetry order under which one tree hardly moves the prices; under larger ones each arc stands for many."""


class TreePair(NamedTuple):
    """An in-tree and an out-tree of one root, as child -> parent; None where the collective has no such half."""

    root: int
    inward: dict[int, int] | None
    outward: dict[int, int] | None


@dataclass
class TreeRouter:
    """Chooses trees one by one, at the prices that follow from those placed so far.

    Parameters
    ----------
    unit_bound
        Certified bound in units of pieces: seconds per byte of a piece that the busiest link must spend.
    most_steps
        As for `Loads`.
    """

    ground: Ground
    unit_bound: float
    shape: Shape
    most_steps: int | None = None

    def __post_init__(self) -> None:
        """Start with nothing placed."""
        self.loads = Loads(self.ground.quotient, self.unit_bound, self.most_steps)
        self.scale = 0.3 / float(self.ground.quotient.capacities.min())

    @cached_property
    def is_steady(self) -> bool:
        """Whether trees are chosen at prices that stay: islands are switches and there is hardly any symmetry."""
        return self.ground.quotient.group.order <= _FEW_COPIES and all(self.ground.is_star)

    def count_pair(self, pair: TreePair, sign: float) -> None:
        """Add (or take out) the load of trees."""
        if pair.inward:
            self.loads.half_load[True] += self.loads.add(list(pair.inward.keys()), list(pair.inward.values()), sign)
        if pair.outward:
            self.loads.half_load[False] += self.loads.add(list(pair.outward.values()), list(pair.outward.keys()), sign)

    def tree(self, root: int, wave: int, *, inward: bool = False) -> dict[int, int]:
        """Return a spanning tree from ``root`` as child -> parent at current prices, its load added.

        ``inward`` prices the arcs from child to parent, for reductions.
        """
        if self.is_steady:
            parent = self._terms(inward=inward).tree(root, wave)
            if len(parent) == self.ground.quotient.ranks - 1:
                self.count_pair(TreePair(root, parent, None) if inward else TreePair(root, None, parent), 1.0)
                return parent
        grower = _Grower(self, root, wave, inward)
        grower.enter(root, None)
        grower.spread_islands()
        grower.reach_the_rest()
        if len(self.ground.islands) > 1 and all(self.ground.is_star):
            grower.rehang()
        return grower.parent

    def pair(self, roots: Sequence[int], wave: int) -> TreePair:
        """Return an in-tree and an out-tree at the root where both together cost least, their load added."""
        if self.is_steady:
            into, out = (self._terms(inward=inward, halves=True) for inward in (True, False))
            pair = TreePair(*best_pair(into, out, np.asarray(roots), wave))
            if all(tree is not None and len(tree) == self.ground.quotient.ranks - 1 for tree in pair[1:]):
                self.count_pair(pair, 1.0)
                return pair
        kinds = self.ground.quotient.arc_class
        offers = []
        for root in roots:
            price = self.loads.prices()
            pair = TreePair(root, self.tree(root, wave, inward=True), self.tree(root, wave))
            self.count_pair(pair, -1.0)
            arcs = [(u, v) for u, v in (pair.inward or {}).items()] + [(u, v) for v, u in (pair.outward or {}).items()]
            offers.append((float(sum(price[kinds[arc]] for arc in arcs)), pair))
        best = min(offers, key=lambda offer: offer[0])[1]
        self.count_pair(best, 1.0)
        return best

    def _terms(self, *, inward: bool, halves: bool = False) -> Terms:
        price = self.loads.prices(inward=inward if halves else None)
        return Terms.at(self.ground, self.shape, self.scale, (price, self.loads.use), inward=inward)


class _Grower:
    """One tree in the making; counts each arc as it is taken. Arcs run from parent to child."""

    def __init__(self, router: TreeRouter, root: int, wave: int, inward: bool) -> None:
        self.router, self.root, self.wave, self.inward = router, root, wave, inward
        self.loads = router.loads
        self.ground, q = router.ground, router.ground.quotient
        self.parent: dict[int, int] = {}
        self.holder: dict[int, int] = {}
        self.outgoing = np.zeros(len(self.ground.islands))
        self.held = np.zeros(q.ranks, dtype=bool)
        self.depth = np.zeros(q.ranks)
        self.fan = np.zeros(q.ranks)
        self.noise = np.random.default_rng(root * 64 + wave).random((q.ranks, q.ranks)) * (NOISE * router.scale)
        self.kinds = q.arc_class.T if inward else q.arc_class
        self.allowed = self.ground.allowed.T if inward else self.ground.allowed
        # Without symmetry one tree hardly moves the prices; with it each arc stands for many.
        self.live = q.group.order > 1
        self.worth = REHANG_GAIN * router.scale
        self._read_prices()

    def _read_prices(self) -> None:
        self.price, self.stale = self.loads.prices(), False

    def _refresh(self) -> None:
        if self.live and self.stale:
            self._read_prices()

    def _count(self, children: Sequence[int], over: Sequence[int], sign: float) -> None:
        ends = zip(children, over, strict=True)
        self.loads.count([Hop(v, u, 0) if self.inward else Hop(u, v, 0) for v, u in ends], sign)
        self.stale = True

    def _attach(self, child: int, over: int) -> None:
        self.parent[child] = over
        self.held[child] = True
        self.depth[child] = self.depth[over] + 1
        self.fan[over] += 1

    def enter(self, entry: int, over: int | None) -> None:
        """Hold ``entry`` and serve its island from it, directly or over relays."""
        if over is not None:
            self._attach(entry, over)
            self._count([entry], [over], 1.0)
        self.held[entry] = True
        island = int(self.ground.island_of[entry])
        self.holder[island] = entry
        members = self.ground.islands[island]
        if self.ground.is_star[island]:
            self._star(entry, members)
        else:
            self._spread_ranks(self.ground.neighbours(inward=self.inward, planned=True), [entry])

    def _star(self, entry: int, members: tuple[int, ...]) -> None:
        parents = star_parents(entry, members, self.wave, self.router.shape.relays)
        for mate, over in parents.items():
            self._attach(mate, over)
        self._count(list(parents), list(parents.values()), 1.0)

    def reach_the_rest(self) -> None:
        """Serve, over any arc, ranks that arcs inside an island and the connection plan do not reach."""
        if not self.held.all():
            neighbours = self.ground.neighbours(inward=self.inward, planned=False)
            self._spread_ranks(neighbours, np.flatnonzero(self.held).tolist())

    def _spread_ranks(self, neighbours: Neighbours, holders: Sequence[int]) -> None:
        """Grow rank by rank over arcs as far as they go, preferring shallow trees of small fan-out.

        Prices, depths and fan-outs only grow, so an arc is looked at again only when it comes first.
        """
        scale, held, tolls = self.router.scale, self.held, Tolls(self.loads)
        fan = FAN / 10 * scale
        queue: list[tuple[float, int, int, int, float]] = []

        def offer(over: int) -> None:
            deep, wide = DEPTH * scale * float(self.depth[over]), fan * float(self.fan[over])
            for child, kind in neighbours[over]:
                if not held[child]:
                    steady = float(self.noise[over, child]) + deep
                    heappush(queue, (tolls.of(kind) + steady + wide, over, child, kind, steady))

        for holder in holders:
            offer(holder)
        while queue:
            _, over, child, kind, steady = heappop(queue)
            if held[child]:
                continue
            now = tolls.of(kind) + steady + fan * float(self.fan[over])
            if queue and now > queue[0][0]:
                heappush(queue, (now, over, child, kind, steady))
                continue
            self._attach(child, over)
            tolls.take(kind, 1.0)
            offer(child)
        self.stale = True

    def spread_islands(self) -> None:
        """Enter every other island, cheapest first."""
        of = self.ground.island_of
        tails, heads = self.ground.crossing[::-1] if self.inward else self.ground.crossing
        kinds = self.kinds[tails, heads]
        steady = self._wave_penalties(of[tails], of[heads]) + self.noise[tails, heads]
        base = steady
        for step in range(len(self.ground.islands) - 1):
            if step == 0 or (self.live and self.stale):
                self._refresh()
                base = steady + self._entry_costs(kinds, heads, of[tails] * len(self.ground.islands) + of[heads])
            total = base + self._sender_costs()[tails]
            total[~self.held[tails] | self.held[heads]] = np.inf
            best = int(np.argmin(total)) if len(total) else -1
            if best < 0 or not np.isfinite(total[best]):
                return
            self.outgoing[of[tails[best]]] += 1
            self.enter(int(heads[best]), int(tails[best]))

    def _wave_penalties(self, tails: Longs, heads: Longs) -> Floats:
        """Return what each arc pays for not coming from the island that the wave prefers as feeder."""
        home = int(self.ground.island_of[self.root])
        preferred = preferred_feeders(len(self.ground.islands), home, self.wave, self.router.shape.wave)
        penalty: Floats = self.router.scale * PREFER * (tails != preferred[heads])
        return penalty

    def _entry_costs(self, kinds: NDArray[np.int32], heads: Longs, pair: Longs) -> Floats:
        """Return the cost of each arc, of serving its head's island from there, and of using arcs unevenly."""
        scale, uses = self.router.scale, self.loads.use[kinds]
        tails_inside, heads_inside = self.ground.inside
        served = np.bincount(
            tails_inside, weights=self.price[self.kinds[tails_inside, heads_inside]], minlength=len(self.held)
        )
        total: Floats = self.price[kinds] + served[heads] + scale * OPEN / (1.0 + uses)
        used = np.bincount(pair, weights=uses)
        open_arcs = np.bincount(pair, weights=uses > 0)
        average = (used / np.maximum(open_arcs, 1.0))[pair]
        return total + scale * EVEN * (uses - average) / (average + 2.0)

    def _sender_costs(self) -> Floats:
        """Return what is added for each sender: its island's depth and fan-out, and a detour from its entry."""
        island = np.zeros(len(self.ground.islands))
        islands, heads = list(self.holder), list(self.holder.values())
        island[islands] = DEPTH * self.depth[heads] + FAN * self.outgoing[islands]
        detour = np.full(len(self.held), DETOUR)
        detour[heads] = 0.0
        total: Floats = self.router.scale * (detour + island[self.ground.island_of])
        return total

    def rehang(self) -> None:
        """Give leaves a cheaper parent where the gain is worth it."""
        busy = set(self.parent.values()) | {self.root}
        leaves = [v for v in self.parent if v not in busy]
        costs = self._costs_into(leaves)
        over = [self.parent[v] for v in leaves]
        gains = costs[over, np.arange(len(leaves))] - costs.min(axis=0)
        for leaf in [v for v, gain in zip(leaves, gains.tolist(), strict=True) if gain > self.worth]:
            self._refresh()
            cost = self._costs_into([leaf])[:, 0]
            best = int(np.argmin(cost))
            if cost[self.parent[leaf]] - cost[best] > self.worth and not _is_below(self.parent, best, leaf):
                self._count([leaf], [self.parent[leaf]], -1.0)
                self.parent[leaf] = best
                self._count([leaf], [best], 1.0)

    def _costs_into(self, leaves: list[int]) -> Floats:
        """Return the cost of every arc into some ranks, shape ``(ranks, leaves)``; infinite where not allowed."""
        kinds, of = self.kinds[:, leaves], self.ground.island_of
        opening = self.router.scale * OPEN / (1.0 + self.loads.use[kinds])
        total: Floats = self.price[kinds] + np.where(of[:, None] != of[leaves][None, :], opening, 0.0)
        total[~self.allowed[:, leaves]] = np.inf
        return total


def _is_below(parent: dict[int, int], node: int, top: int) -> bool:
    while node in parent:
        node = parent[node]
        if node == top:
            return True
    return False
