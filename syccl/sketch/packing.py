"""Few trees of one root that share all links: packed by negotiation, for data that is sent round after round.

Trees grow one by one under prices that rise exponentially with the load of a link; each is taken out and put back at
current prices, and links that stay overloaded become dearer from pass to pass, as in the routing of circuits [1]_.
With ``k`` trees of height ``h`` and ``c`` rounds the data takes ``load * (c + h) / c``: the fewer and flatter the
trees, the less is lost before the links are full.

References
----------
.. [1] L. McMurchie, C. Ebeling, "PathFinder: a negotiation-based performance-driven router for FPGAs", FPGA 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InfeasibleError
from syccl.sketch.ways import Ways

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_NOISE = 0.02
_HISTORY = 1.3
"""Factor on the price of a link that is overloaded after a pass."""
_SCARCE = 5.0
_MOST_EXPONENT = 30.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How trees are packed.

    Parameters
    ----------
    depth
        Price of a level of depth, where 1 is a tree's share of the fullest link.
    steep
        Steepness of prices in the first and in the last pass.
    passes
        Number of passes.
    """

    depth: float = 0.05
    steep: tuple[float, float] = (8.0, 40.0)
    passes: int = 16


@dataclass(frozen=True, eq=False)
class Packing:
    """Trees of one root that are used equally often.

    Parameters
    ----------
    parents
        Parent of every rank in every tree, -1 at the root, shape ``(trees, ranks)``.
    load
        Seconds that the busiest link takes when every tree carries one byte.
    height
        Most transfers one after the other from the root to a rank.
    """

    parents: Longs
    load: float
    height: int

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.parents)


def pack(ways: Ways, root: int, trees: int, *, unit_s: float, manner: Manner) -> Packing:
    """Return trees from ``root`` over all ranks whose busiest link is as little loaded as negotiation gets it.

    Parameters
    ----------
    unit_s
        Least seconds per byte of any mix of trees, or an estimate: what the links are filled up to.

    Raises
    ------
    InfeasibleError
        When some rank cannot be reached.
    """
    packer = _Packer(ways, root, ways.seconds_per_byte / (trees * unit_s), manner)
    placed: list[Longs | None] = [None] * trees
    best: tuple[tuple[float, int], Longs] | None = None
    for turn in range(manner.passes):
        packer.steepen(turn)
        for i, before in enumerate(placed):
            if before is not None:
                packer.count(before, -1.0)
            placed[i] = packer.tree()
        parents = np.array(placed)
        score = (round(packer.fullest, 6), height_of(parents))
        if best is None or score < best[0]:
            best = score, parents
        packer.remember()
    if best is None:
        msg = "trees are packed in at least one pass"
        raise InfeasibleError(msg)
    (fullest, height), parents = best
    return Packing(parents, fullest * trees * unit_s, height)


class _Packer:
    """Loads in shares of what links may carry, and the prices that follow."""

    def __init__(self, ways: Ways, root: int, step: Floats, manner: Manner) -> None:
        self.ways, self.root, self.step, self.manner = ways, root, step, manner
        self.load = np.zeros(len(step))
        self.history = np.ones(len(step))
        self.steepness = manner.steep[0]
        self.draw = np.random.default_rng(0)
        self.absent = np.where(np.isfinite(ways.latency_s), 0.0, np.inf)

    @property
    def fullest(self) -> float:
        """Load of the fullest link."""
        return float(self.load[:-1].max(initial=0.0))

    def steepen(self, turn: int) -> None:
        """Set the steepness of a pass."""
        first, last = self.manner.steep
        self.steepness = first * (last / first) ** (turn / max(1, self.manner.passes - 1))

    def remember(self) -> None:
        """Make links dearer that are overloaded."""
        self.history[self.load > 1.0 + 1e-9] *= _HISTORY

    def count(self, parent: Longs, sign: float) -> None:
        """Add or take out the load of a tree."""
        children = np.flatnonzero(parent >= 0)
        used = self.ways.links[parent[children], children].ravel()
        self.load += sign * np.bincount(used, minlength=len(self.load)) * self.step
        self.load[-1] = 0.0

    def _prices(self) -> Floats:
        fill = np.minimum(self.steepness * (self.load + self.step - 1.0), _MOST_EXPONENT)
        return np.asarray(_SCARCE * self.history * self.step * np.exp(fill))

    def tree(self) -> Longs:
        """Return a tree at current prices, its load added."""
        links, n = self.ways.links, self.ways.ranks
        parent = np.full(n, -1, dtype=np.int64)
        depth = np.zeros(n)
        steady = self.absent + _NOISE * self.draw.random((n, n))
        steady[:, self.root] = np.inf
        keys = np.full((n, n), np.inf)
        prices = self._prices()
        keys[self.root] = prices[links[self.root]].sum(axis=1) + steady[self.root]
        for _ in range(n - 1):
            over, child = divmod(int(keys.argmin()), n)
            if not np.isfinite(keys[over, child]):
                msg = f"no tree joins rank {self.root} with every other rank; check the directions of the links"
                raise InfeasibleError(msg)
            parent[child], depth[child] = over, depth[over] + 1
            used = links[over, child]
            np.add.at(self.load, used, self.step[used])
            steady[:, child] = np.inf
            keys[:, child] = np.inf
            prices = self._prices()
            both = [over, child]
            keys[both] = prices[links[both]].sum(axis=2) + self.manner.depth * depth[both, None] + steady[both]
        return parent


def height_of(parents: Longs) -> int:
    """Return the greatest depth of any rank in any tree."""
    trees, n = parents.shape
    row = np.arange(trees)[:, None]
    depth = np.zeros((trees, n), dtype=np.int64)
    above = parents
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parents[row, above], -1)
    return int(depth.max(initial=0))
