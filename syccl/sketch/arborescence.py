"""Exact minimum-cost arborescences of a dense cost matrix, for all roots from one contraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InfeasibleError

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Arborescences:
    """The minimum-cost arborescences of one cost matrix, one for each root.

    Edmonds' contraction, grown as a path until one set holds every vertex, does not depend on the root; only opening
    the sets again does. So one contraction of O(n^2) serves all roots, O(n) each.

    Parameters
    ----------
    costs
        ``costs[u, v]`` is what the arc from ``u`` to ``v`` costs, 0 or more, infinite where there is none.
    enclosing
        Set that each vertex and each contracted set was merged into, -1 for the last; sets are numbered after the
        vertices, inner ones first.
    tail, head
        Ends of the cheapest arc that enters each vertex or set.

    References
    ----------
    .. [1] H. N. Gabow, Z. Galil, T. Spencer, R. E. Tarjan, "Efficient algorithms for finding minimum spanning trees in
       undirected and directed graphs", Combinatorica 6 (1986), section 3.
    """

    costs: Floats
    enclosing: tuple[int, ...]
    tail: tuple[int, ...]
    head: tuple[int, ...]

    def parents(self, root: int) -> Ints:
        """Return the parent of every vertex in a cheapest tree out of ``root``, -1 at the root, shape ``(n,)``.

        Raises
        ------
        InfeasibleError
            When no tree from ``root`` reaches every vertex.
        """
        parents = self._opened(root)
        if not np.isfinite(tree_cost(self.costs, parents)):
            msg = f"no tree joins rank {root} with every other rank; check the directions of the links"
            raise InfeasibleError(msg)
        return parents

    def _opened(self, root: int) -> Ints:
        """Enter every set once, outer ones first: the last at the root, each other by its cheapest arc."""
        parents = list(self.tail[: len(self.costs)])
        entered = [False] * len(self.enclosing)
        for node in range(len(self.enclosing) - 1, -1, -1):
            if entered[node]:
                continue
            outermost = self.enclosing[node] < 0
            vertex = root if outermost else self.head[node]
            parents[vertex] = -1 if outermost else self.tail[node]
            inner = vertex
            while inner != node:
                entered[inner] = True
                inner = self.enclosing[inner]
        return np.array(parents, dtype=np.int32)


def minimum_arborescence(costs: Floats, root: int) -> Ints:
    """Return the parent of every vertex in a cheapest tree out of ``root``, -1 at the root, shape ``(n,)``.

    Among trees of equal cost the answer is always the same and leans towards shallow ones.

    Parameters
    ----------
    costs
        ``costs[u, v]`` is what the arc from ``u`` to ``v`` costs, 0 or more, infinite where there is none; the
        diagonal is not read.

    Raises
    ------
    InfeasibleError
        When no tree from ``root`` reaches every vertex.
    """
    return flattened(costs, contract(costs).parents(root))


def tree_cost(costs: Floats, parents: Ints) -> float:
    """Return the sum of the costs of a tree's arcs."""
    children = np.flatnonzero(parents >= 0)
    return float(costs[parents[children], children].sum())


def contract(costs: Floats) -> Arborescences:
    """Contract the graph of ``costs``, shape ``(n, n)``, into one set; see `Arborescences`."""
    n = len(costs)
    finite = costs[np.isfinite(costs)]
    # Missing arcs take a price no tree pays if it can avoid it, so that the contraction always ends.
    missing = float(finite.max()) * n + 1.0 if len(finite) else 1.0
    entering = np.where(np.isfinite(costs), costs, missing).T
    np.fill_diagonal(entering, np.inf)
    rows = list(entering)
    targets = list(np.repeat(np.arange(n, dtype=np.int32)[:, None], n, axis=1))
    top = np.arange(n)
    enclosing, tail, head = [-1] * n, [-1] * n, [-1] * n
    path, place = [0], {0: 0}
    while True:
        node = path[-1]
        source = int(rows[node].argmin())
        least = rows[node][source]
        if not np.isfinite(least):
            return Arborescences(costs, tuple(enclosing), tuple(tail), tuple(head))
        tail[node], head[node] = source, int(targets[node][source])
        rows[node] = rows[node] - least
        before = int(top[source])
        if before not in place:
            place[before] = len(path)
            path.append(before)
            continue
        cycle = path[place[before] :]
        merged = len(rows)
        del path[place[before] :]
        _merge(cycle, rows, targets, top)
        for member in cycle:
            enclosing[member] = merged
            del place[member]
        enclosing.append(-1)
        tail.append(-1)
        head.append(-1)
        place[merged] = len(path)
        path.append(merged)


def _merge(cycle: list[int], rows: list[Floats], targets: list[Ints], top: NDArray[np.int64]) -> None:
    """Append the row of a contracted cycle: its cheapest arc from every outside vertex, and where that one ends."""
    stacked = np.stack([rows[member] for member in cycle])
    best = stacked.argmin(axis=0)
    columns = np.arange(len(top))
    row = stacked[best, columns]
    is_within = np.zeros(len(rows), dtype=np.bool_)
    is_within[cycle] = True
    within = is_within[top]
    row[within] = np.inf
    top[within] = len(rows)
    rows.append(row)
    targets.append(np.stack([targets[member] for member in cycle])[best, columns])


def flattened(costs: Floats, parents: Ints) -> Ints:
    """Hang the vertices of a tree nearer to its root while no arc gets dearer.

    Parameters
    ----------
    costs
        What every arc costs, shape ``(n, n)``.
    parents
        Parent of every vertex, -1 at the root, shape ``(n,)``.
    """
    # All moves of a sweep go to vertices that were at least two levels higher, so they never close a cycle.
    vertices = np.arange(len(parents))
    while True:
        depth = tree_depths(parents)
        paid = np.where(parents < 0, -1.0, costs[np.maximum(parents, 0), vertices])
        heights = np.where(costs <= paid, depth[:, None], len(parents))
        better = heights.argmin(axis=0)
        moves = heights[better, vertices] + 1 < depth
        if not moves.any():
            return parents
        parents = np.where(moves, better, parents).astype(np.int32)


def tree_depths(parents: Ints) -> NDArray[np.int64]:
    """Return the depth of every vertex of a tree given by its parents, 0 at the root, shape ``(n,)``."""
    depth = np.zeros(len(parents), dtype=np.int64)
    above = parents
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    return depth
