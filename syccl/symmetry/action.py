"""A group that acts freely on some GPUs, while the search makes it larger; and how far apart two vertices are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.symmetry.collapse import Graph
from syccl.symmetry.group import Permutation
from syccl.symmetry.refine import Partition

_MAX_HOPS = 32


@dataclass(frozen=True, eq=False)
class FreeAction:
    """A group of permutations of vertices in which only the identity fixes a free GPU.

    Parameters
    ----------
    free
        The vertices that no other element may fix, the root of the search first.
    generators
        Permutations of all vertices that generate the group.
    elements
        All elements, shape ``(order, vertices)``, the identity first.
    """

    free: tuple[int, ...]
    generators: tuple[Permutation, ...]
    elements: NDArray[np.int32]

    @classmethod
    def trivial(cls, free: Sequence[int], vertices: int) -> FreeAction:
        """Return the identity alone."""
        return cls(tuple(free), (), np.arange(vertices, dtype=np.int32).reshape(1, -1))

    def extended(self, move: Permutation, prime: int) -> FreeAction | None:
        """Add a permutation that normalises the group and has its ``prime``-th power in it; None if not free then."""
        power, cosets = np.arange(len(move), dtype=np.int32), []
        for _ in range(prime):
            cosets.append(self.elements[:, power])
            power = move[power]
        larger = FreeAction(self.free, (*self.generators, move), np.concatenate(cosets))
        return larger if larger.is_free else None

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.elements)

    @property
    def is_free(self) -> bool:
        """Whether no element but the identity fixes a free vertex."""
        free = list(self.free)
        fixed = self.elements[1:, free] == np.array(free, dtype=np.int32)
        return not fixed.any()

    @cached_property
    def representatives(self) -> tuple[int, ...]:
        """The vertex that stands for each orbit of free vertices, the root first."""
        seen: set[int] = set()
        found = []
        for vertex in self.free:
            if vertex not in seen:
                found.append(vertex)
                seen.update(self.elements[:, vertex].tolist())
        return tuple(found)

    @cached_property
    def orbit(self) -> list[int]:
        """Position in ``representatives`` for each free vertex, -1 for other vertices."""
        table = np.full(self.elements.shape[1], -1, dtype=np.int64)
        for i, vertex in enumerate(self.representatives):
            table[self.elements[:, vertex]] = i
        return [int(i) for i in table]

    @cached_property
    def sender(self) -> list[int]:
        """Index of the element that moves its orbit's representative to each free vertex, -1 for other vertices."""
        table = np.full(self.elements.shape[1], -1, dtype=np.int64)
        for vertex in self.representatives:
            table[self.elements[:, vertex]] = np.arange(self.order)
        return [int(i) for i in table]

    @cached_property
    def inverses(self) -> NDArray[np.int32]:
        """The inverse of each element as a permutation, shape ``(order, vertices)``."""
        inverses = np.empty_like(self.elements)
        inverses[np.arange(self.order)[:, None], self.elements] = np.arange(self.elements.shape[1], dtype=np.int32)
        return inverses

    @cached_property
    def products(self) -> NDArray[np.int64]:
        """Index of every product of two elements, the second acting first; shape ``(order, order)``."""
        sender = np.array(self.sender, dtype=np.int64)
        return np.asarray(sender[self.elements[:, self.elements[:, self.free[0]]]])

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """Order of every element, shape ``(order,)``."""
        powers = np.arange(self.order)
        orders = np.ones(self.order, dtype=np.int64)
        while (powers != 0).any():
            orders += powers != 0
            powers = np.where(powers == 0, 0, self.products[np.arange(self.order), powers])
        return orders

    def mover(self, start: int, end: int) -> int:
        """Return the index of the element that moves one free vertex to another of its orbit."""
        root = self.free[0]
        back = self.inverses[self.sender[start], root]
        return self.sender[int(self.elements[self.sender[end], back])]


class Displacements:
    """Which pairs of vertices look alike: a hash of the walks from one to the other that are not too long."""

    def __init__(self, graph: Graph, stable: Partition) -> None:
        table = graph.table
        self._starts = graph.starts
        self._heads = table[:, 1]
        colours = np.array(stable.cell, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._weights = (table[:, 2].astype(np.uint64) << np.uint64(16)) * colours[table[:, 0]] + np.uint64(1)
        self._rows: dict[int, tuple[NDArray[np.uint64], NDArray[np.int8]]] = {}

    def row(self, vertex: int) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
        """Return for each vertex the type of its displacement from one vertex, and its distance in hops."""
        if vertex not in self._rows:
            self._rows[vertex] = self._walks(vertex, self._depth)
        return self._rows[vertex]

    @cached_property
    def _depth(self) -> int:
        """Hops from vertex 0 to the farthest: walks of as many hops tell most pairs apart, in any part of the graph."""
        hops = self._walks(0, _MAX_HOPS)[1]
        return int(hops[hops <= _MAX_HOPS].max(initial=1))

    def _walks(self, vertex: int, depth: int) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
        n = len(self._starts) - 1
        count = np.zeros(n, dtype=np.uint64)
        count[vertex] = 1
        types, hops = count.copy(), np.full(n, depth + 1, dtype=np.int8)
        hops[vertex] = 0
        for hop in range(1, depth + 1):
            sums = np.zeros(len(self._heads) + 1, dtype=np.uint64)
            np.cumsum(count[self._heads] * self._weights, out=sums[1:])
            count = sums[self._starts[1:]] - sums[self._starts[:-1]]
            types = types * np.uint64(0x9E3779B97F4A7C15) + count
            hops[(count != 0) & (hops > hop)] = hop
        return types, hops
