"""Trees over islands that are switches, at prices that stay while a tree is chosen.

Without much symmetry one tree hardly moves the prices, so the cheapest arc between two islands and the cost of serving
an island from each of its ranks are worked out once for all trees that are compared; what is left is Prim's algorithm
on as many nodes as there are islands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.ground import Ground, Longs
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

_TIES = 97
"""Number of different tie breakers."""


class Feeding(NamedTuple):
    """Which island feeds which, in the order in which they are entered, and what all but the first island cost."""

    cost: float
    pairs: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Terms:
    """What arcs from parent to child cost at one moment.

    Parameters
    ----------
    scale
        Unit of the penalties.
    star
        Cost of serving the rest of its island from each rank, shape ``(ranks,)``.
    arcs
        Cost of each arc between islands with serving the island that it enters, in the order of ``Ground.between``.
    pairs
        Cost of the cheapest arc from one island to another, infinite where none is.
    matrix
        Cost of every arc, shape ``(ranks, ranks)``, infinite where it is not allowed.
    """

    ground: Ground
    shape: Shape
    scale: float
    inward: bool
    star: Floats
    arcs: list[float]
    pairs: list[list[float]]
    matrix: Floats

    @classmethod
    def at(cls, ground: Ground, shape: Shape, scale: float, state: tuple[Floats, Floats], *, inward: bool) -> Terms:
        """Return the terms at prices and uses of all arc classes; ``inward`` for arcs from child to parent."""
        price, use = state
        between = ground.between(inward=inward)
        inner_tails, inner_heads = ground.inside
        kinds = ground.quotient.arc_class.T if inward else ground.quotient.arc_class
        inner = price[kinds[inner_tails, inner_heads]]
        star: Floats = np.bincount(inner_tails, weights=inner, minlength=len(kinds)).astype(np.float64)
        uses = use[between.kinds]
        used = np.add.reduceat(uses, between.starts) if len(uses) else uses
        opened = np.add.reduceat(uses > 0, between.starts, dtype=np.float64) if len(uses) else uses
        average = (used / np.maximum(opened, 1.0))[between.pair]
        arcs = price[between.kinds] + star[between.heads]
        arcs = arcs + scale * (OPEN / (1.0 + uses) + EVEN * (uses - average) / (average + 2.0))
        pairs = np.full((len(ground.islands), len(ground.islands)), np.inf)
        if len(arcs):
            pairs[between.from_island, between.to_island] = np.minimum.reduceat(arcs, between.starts)
        matrix = price[kinds] + np.where(ground.apart, scale * OPEN / (1.0 + use[kinds]), 0.0)
        matrix[~(ground.allowed.T if inward else ground.allowed)] = np.inf
        return cls(ground, shape, scale, inward, star, arcs.tolist(), pairs.tolist(), matrix)

    def feeding(self, home: int, wave: int) -> Feeding:
        """Return how islands feed one another in the cheapest tree from island ``home``, by Prim's algorithm."""
        islands, scale, pairs = len(self.ground.islands), self.scale, self.pairs
        preferred = _preferred(islands, home, wave % islands, self.shape.wave)
        extra = {home: 0.0}
        depth = {home: 0}
        waiting = [island for island in range(islands) if island != home]
        made: list[tuple[int, int]] = []
        total = 0.0
        while waiting:
            best, over, entered = np.inf, -1, -1
            for island in waiting:
                favourite = preferred[island]
                for held, more in extra.items():
                    cost = pairs[held][island] + more + (0.0 if held == favourite else scale * PREFER)
                    if cost < best:
                        best, over, entered = cost, held, island
            if over < 0:
                break
            total += best
            made.append((over, entered))
            depth[entered] = depth[over] + 1
            extra[entered] = scale * DEPTH * depth[entered]
            extra[over] += scale * FAN
            waiting.remove(entered)
        return Feeding(total, made)

    def tree(self, root: int, wave: int) -> dict[int, int]:
        """Return the cheapest tree as child -> parent; ranks that no allowed arc reaches are left out."""
        return self.fed(root, wave, self.feeding(int(self.ground.island_of[root]), wave))

    def fed(self, root: int, wave: int, feeding: Feeding) -> dict[int, int]:
        """Return the tree in which islands feed one another in a given way."""
        ground, relays = self.ground, self.shape.relays
        home = int(ground.island_of[root])
        parent = star_parents(root, ground.islands[home], wave, relays)
        holder = {home: root}
        between = ground.between(inward=self.inward)
        turn = root * 64 + wave
        for over, island in feeding.pairs:
            first, last = between.range_of[over, island]
            best, pick = np.inf, first
            for arc in range(first, last):
                cost = self.arcs[arc] + self.scale * NOISE * ((arc * 31 + turn * 17) % _TIES) / _TIES
                if between.tail_list[arc] != holder[over]:
                    cost += self.scale * DETOUR
                if cost < best:
                    best, pick = cost, arc
            entry = between.head_list[pick]
            parent[entry] = between.tail_list[pick]
            holder[island] = entry
            parent.update(star_parents(entry, ground.islands[island], wave, relays))
        if len(ground.islands) > 1:
            self._rehang(root, parent)
        return parent

    def _rehang(self, root: int, parent: dict[int, int]) -> None:
        """Give leaves a cheaper parent where the gain is worth it."""
        busy = {*parent.values(), root}
        leaves = [v for v in parent if v not in busy]
        best = self.cheapest_parents[leaves]
        gain = self.matrix[[parent[v] for v in leaves], leaves] - self.matrix[best, leaves]
        # Ranks with children keep their place and leaves get none, so no cycle can close.
        for i in np.flatnonzero(gain > REHANG_GAIN * self.scale).tolist():
            if int(best[i]) in busy:
                parent[leaves[i]] = int(best[i])

    @cached_property
    def cheapest_parents(self) -> NDArray[np.int64]:
        """Cheapest parent of each rank, shape ``(ranks,)``."""
        return np.asarray(self.matrix.argmin(axis=0))


def best_pair(into: Terms, out: Terms, roots: Longs, wave: int) -> tuple[int, dict[int, int], dict[int, int]]:
    """Return the root where an in-tree and an out-tree cost least together, and both trees."""
    homes = into.ground.island_of[roots]
    ways = {home: (into.feeding(home, wave), out.feeding(home, wave)) for home in dict.fromkeys(homes.tolist())}
    fed = np.array([ways[home][0].cost + ways[home][1].cost for home in homes.tolist()])
    tie = into.scale * NOISE * ((np.arange(len(roots)) * 31 + wave * 17) % _TIES) / _TIES
    best = int(np.argmin(fed + into.star[roots] + out.star[roots] + tie))
    root, (inward, outward) = int(roots[best]), ways[int(homes[best])]
    return root, into.fed(root, wave, inward), out.fed(root, wave, outward)


@lru_cache(maxsize=1024)
def _preferred(islands: int, home: int, wave: int, shape: str) -> tuple[int, ...]:
    return tuple(preferred_feeders(islands, home, wave, shape).tolist())
