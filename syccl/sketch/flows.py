"""Paths for pairs of ranks by column generation: a linear program spreads each pair's data over a pool of paths.

Prices of link orbits from its duals ask for cheaper paths until none is left, as in a multi-commodity flow. Whole
pieces are then dealt over the pool so that the busiest link is done soonest.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.optimize.linear import solve_linear
from syccl.optimize.status import Status
from syccl.sketch.combine import bottleneck_program, combine
from syccl.sketch.model import Hop, Piece
from syccl.sketch.quotient import Quotient

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_ROUNDS = 40
_GAP = 1e-4
_HOP_PRICE = 1e-3
"""What a hop costs beside its links, as a share of the mean price of a hop, so that ties go to few hops."""
_MEMORY = 0.5
"""Share of the best prices so far that is mixed into the current ones; steadies the rounds."""

Path = tuple[int, ...]
"""Ranks from source to target."""


@dataclass(frozen=True, eq=False)
class PathPool:
    """Paths of pairs and what they load.

    Parameters
    ----------
    pairs
        Source and target ranks.
    paths
        Ranks of each path.
    groups
        Pair of each path, shape ``(paths,)``.
    loads
        Weight of the pair on each link of every orbit that each path passes, shape ``(paths, orbits)``.
    shares
        Of a pair's data on each path in the best mix, shape ``(paths,)``.
    value
        Time of the busiest link of the best mix, seconds per byte of a pair of weight 1.
    """

    pairs: tuple[tuple[int, int], ...]
    paths: tuple[Path, ...]
    groups: Ints
    loads: Floats
    shares: Floats
    value: float


def price_paths(
    quotient: Quotient,
    allowed: NDArray[np.bool_],
    pairs: Sequence[tuple[int, int]],
    *,
    weights: Sequence[float] = (),
) -> PathPool | None:
    """Return the pool of paths that an optimal mix needs; None where some pair has no path or the solver fails.

    Parameters
    ----------
    allowed
        Arcs that paths may take, shape ``(ranks, ranks)``.
    pairs
        Of ranks; under the symmetry each stands for all its images.
    weights
        How much each pair has to move, relative to the others; ones by default.
    """
    grower = _Grower(quotient, allowed, dict(zip(pairs, weights or [1.0] * len(pairs), strict=True)))
    best = (1.0 / quotient.capacities) / len(quotient.capacities)
    bound = grower.add(best)
    value, shares = np.inf, np.zeros(0)
    for _ in range(_ROUNDS if bound is not None else 0):
        solution = solve_linear(bottleneck_program(np.array(grower.loads), grower.groups, quotient.capacities))
        if solution.status is not Status.OPTIMAL:
            return None
        value, shares = solution.objective / float(quotient.capacities.max()), solution.values[:-1]
        duals = np.maximum(0.0, -solution.duals[len(pairs) :])
        current = duals / float(quotient.capacities @ duals)
        known = len(grower.known)
        for prices in (_MEMORY * best + (1 - _MEMORY) * current, current):
            paid = grower.add(prices)
            if paid is not None and bound is not None and paid > bound:
                bound, best = paid, prices
            if len(grower.known) > known:
                break
        if bound is None or value <= bound * (1 + _GAP) or len(grower.known) == known:
            break
    if bound is None:
        return None
    shares = np.append(shares, np.zeros(len(grower.known) - len(shares)))
    return PathPool(tuple(pairs), tuple(grower.known), grower.groups, np.array(grower.loads), shares, value)


def whole_pieces(pool: PathPool, quotient: Quotient, count: int) -> tuple[Piece, ...]:
    """Return ``count`` pieces for every pair, on paths of the pool, the busiest link done as soon as whole pieces can.

    The pieces of a pair follow one another ``len(pairs)`` apart.
    """
    chosen = combine(pool.loads, pool.groups, count, quotient.capacities)
    paths: list[list[Path]] = [[] for _ in pool.pairs]
    for path, group, number in zip(pool.paths, pool.groups.tolist(), chosen.multiplicities.tolist(), strict=True):
        paths[group] += [path] * number
    return tuple(
        Piece(source, hops_along(paths[i][turn]), "flow", target)
        for turn in range(count)
        for i, (source, target) in enumerate(pool.pairs)
    )


def hops_along(path: Path) -> tuple[Hop, ...]:
    """Return the hops from rank to rank."""
    return tuple(Hop(u, v, stage) for stage, (u, v) in enumerate(itertools.pairwise(path)))


class _Grower:
    """The pool in the making."""

    def __init__(self, quotient: Quotient, allowed: NDArray[np.bool_], pairs: dict[tuple[int, int], float]) -> None:
        self.quotient, self.allowed, self.pairs = quotient, allowed, pairs
        self.known: dict[Path, int] = {}
        self.loads: list[Floats] = []
        self.group_of: list[int] = []

    @property
    def groups(self) -> Ints:
        return np.array(self.group_of, dtype=np.int32)

    def add(self, prices: Floats) -> float | None:
        """Add every pair's cheapest path; return what all pairs pay together, or None where a path is missing."""
        q = self.quotient
        costs = np.where(self.allowed, q.class_costs(prices)[q.arc_class], np.inf)
        trees = {source: cheapest_parents(costs, source) for source in sorted({source for source, _ in self.pairs})}
        paid = 0.0
        for group, ((source, target), weight) in enumerate(self.pairs.items()):
            path = path_to(trees[source], source, target)
            if path is None:
                return None
            paid += weight * sum(float(costs[arc]) for arc in itertools.pairwise(path))
            if path not in self.known:
                self.known[path] = group
                self.group_of.append(group)
                classes = [q.arc_class[arc] for arc in itertools.pairwise(path)]
                self.loads.append(np.asarray(q.class_weights[classes].sum(axis=0) * weight))
        return paid


def cheapest_parents(costs: Floats, source: int) -> list[int]:
    """Return each rank's predecessor on its cheapest path from ``source``, -1 where there is none.

    Parameters
    ----------
    costs
        Of arcs, infinite where there is none, shape ``(ranks, ranks)``.
    """
    finite = costs[np.isfinite(costs)]
    steps = costs + _HOP_PRICE * (float(finite.mean()) if len(finite) else 0.0)
    reached = np.full(len(costs), np.inf)
    reached[source] = 0.0
    parent = np.full(len(costs), -1)
    while True:
        through = reached[:, None] + steps
        nearest = np.argmin(through, axis=0)
        offer = through[nearest, np.arange(len(costs))]
        better = offer < reached * (1 - 1e-12)
        if not better.any():
            return [int(p) for p in parent]
        reached = np.where(better, offer, reached)
        parent = np.where(better, nearest, parent)


def path_to(parents: Sequence[int], source: int, target: int) -> Path | None:
    """Return the ranks from a source to a target, following predecessors; None where the target is not reached."""
    path = [target]
    while path[-1] != source:
        before = parents[path[-1]]
        if before < 0:
            return None
        path.append(before)
    return tuple(reversed(path))
