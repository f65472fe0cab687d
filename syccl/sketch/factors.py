"""Factors of a network: a torus is a product of rings, a cube mesh one of cliques, whatever its GPUs are called.

The prime factors of a connected graph under the Cartesian product are found from its distances (Feder, "Product graph
representations", 1992): edges that lie across from each other in squares belong to one factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

_MOST_EDGES = 1_500
"""The relation of all pairs of edges is held in memory."""


def prime_factors(adjacent: Bools) -> Longs | None:
    """Return the coordinate of every vertex in each prime factor of a connected graph.

    Parameters
    ----------
    adjacent
        Symmetric, without loops; shape ``(vertices, vertices)``.

    Returns
    -------
    Array of shape ``(vertices, factors)`` with two or more factors, or None where the graph is no product, not
    connected, or too large to look at.
    """
    n = len(adjacent)
    degree = adjacent.sum(axis=1)
    if n < 4 or degree.max() == n - 1 or int(degree.sum()) // 2 > _MOST_EDGES:
        return None
    distance = _distances(adjacent)
    if distance is None:
        return None
    tails, heads = np.nonzero(np.triu(adjacent))
    label = _classes(_related(distance, tails, heads) | _cornered(adjacent, tails, heads))
    if label.max() == 0:
        return None
    columns = [_parts(n, tails[label != k], heads[label != k]) for k in range(int(label.max()) + 1)]
    coordinates = np.stack(columns, axis=1)
    sizes = coordinates.max(axis=0) + 1
    return coordinates if int(sizes.prod()) == n and (sizes > 1).all() else None


def _distances(adjacent: Bools) -> Longs | None:
    """Return the hops between all vertices, None where some do not reach each other."""
    n = len(adjacent)
    distance = np.full((n, n), -1, dtype=np.int64)
    reached = np.eye(n, dtype=np.bool_)
    for hops in range(n):
        distance[reached & (distance < 0)] = hops
        if (distance >= 0).all():
            return distance
        wider = reached | (reached.astype(np.float32) @ adjacent.astype(np.float32) > 0)
        if np.array_equal(wider, reached):
            return None
        reached = wider
    return distance


def _related(distance: Longs, tails: Longs, heads: Longs) -> Bools:
    """Return which edges are related by distances: ``d(x,u) + d(y,v) != d(x,v) + d(y,u)``."""
    straight = distance[np.ix_(tails, tails)] + distance[np.ix_(heads, heads)]
    crossed = distance[np.ix_(tails, heads)] + distance[np.ix_(heads, tails)]
    return np.asarray(straight != crossed)


def _cornered(adjacent: Bools, tails: Longs, heads: Longs) -> Bools:
    """Return which edges meet in a corner that no square closes: their far ends have no other common neighbour."""
    common = adjacent.astype(np.int64) @ adjacent.astype(np.int64)
    alone = (common == 1) & ~adjacent
    related = np.zeros((len(tails), len(tails)), dtype=np.bool_)
    for a, b in ((tails, tails), (tails, heads), (heads, tails), (heads, heads)):
        other_a, other_b = (tails + heads) - a, (tails + heads) - b
        related |= (a[:, None] == b[None, :]) & alone[np.ix_(other_a, other_b)]
    return related


def _classes(related: Bools) -> Longs:
    """Return the class of every edge under the transitive closure of a relation, counted from 0."""
    label = np.full(len(related), -1, dtype=np.int64)
    for edge in range(len(related)):
        if label[edge] >= 0:
            continue
        members = np.zeros(len(related), dtype=np.bool_)
        fresh = members.copy()
        fresh[edge] = True
        while fresh.any():
            members |= fresh
            fresh = related[fresh].any(axis=0) & ~members
        label[members] = label.max() + 1
    return label


def _parts(n: int, tails: Longs, heads: Longs) -> Longs:
    """Return the number of the part of every vertex when only some edges join them, ordered by least vertex."""
    least = np.arange(n)
    while True:
        lower = least.copy()
        np.minimum.at(lower, tails, least[heads])
        np.minimum.at(lower, heads, least[tails])
        lower = lower[lower]
        if np.array_equal(lower, least):
            return np.asarray(np.unique(least, return_inverse=True)[1], dtype=np.int64).reshape(-1)
        least = lower
