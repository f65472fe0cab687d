"""Generators of the automorphisms of a topology, fixed points or not: what averages of linear programs need.

The groups of ``automorphisms`` move every GPU; here any symmetry will do, so the group is usually much larger: servers
swapped two by two, GPUs of one NIC swapped. It is found from the bottom up (McKay, "Practical graph isomorphism",
1981): along one sequence of vertices that are set apart until all cells are single, each level looks for symmetries
that fix the vertices before it and move its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.symmetry.collapse import Graph, collapse
from syccl.symmetry.group import Permutation, link_permutation
from syccl.symmetry.refine import Partition, individualised, refine
from syccl.topology import Topology

Moves = NDArray[np.int32]
"""Permutations of points, shape ``(permutations, points)``."""

REFINEMENTS = 4_000
"""So many refinements are tried in one search; what is found until then is a smaller group."""

_DEAD_ENDS = 6
_PRODUCTS = 24
_LARGEST_TABLE = 4_000_000


def generators(topology: Topology, *, refinements: int = REFINEMENTS) -> Moves:
    """Return permutations of nodes that generate a large group of automorphisms, each checked link by link.

    Parameters
    ----------
    refinements
        How many may be spent.
    """
    graph = collapse(topology)
    rows = [graph.lift(move) for move in _Search(graph, refinements).found()]
    good = [row for row in rows if link_permutation(topology, row) is not None]
    return np.array(good, dtype=np.int32).reshape(-1, len(topology.nodes))


def orbit_labels(moves: Moves, points: int) -> NDArray[np.int64]:
    """Return for each point the least point of its orbit, shape ``(points,)``."""
    label = np.arange(points)
    while len(moves):
        before = label
        for move in moves:
            least = np.minimum(label, label[move])
            label = least.copy()
            np.minimum.at(label, move, least)
        label = label[label]
        if np.array_equal(label, before):
            break
    return label


def stabiliser(moves: Moves, point: int) -> Moves:
    """Return generators of permutations that fix a point: of all of them, or of many where the group is large.

    Schreier's lemma gives generators, far too many; random products of parts of them generate the same group almost
    surely (Babai, Cooperman, Finkelstein, Luks, Seress, 1991). A smaller group would be as valid. The numbers are
    drawn from a fixed seed.
    """
    if not len(moves) or (moves[:, point] == point).all():
        return moves
    carriers = _carriers(moves, point)
    orbit = carriers[:, point]
    place = np.full(moves.shape[1], -1, dtype=np.int64)
    place[orbit] = np.arange(len(orbit))
    rng = np.random.default_rng(len(orbit))
    pairs = np.array([(g, x) for g in range(len(moves)) for x in range(len(orbit))])
    most = max(_PRODUCTS, _LARGEST_TABLE // moves.shape[1])
    if len(pairs) > most:
        pairs = pairs[rng.choice(len(pairs), most, replace=False)]
    products = np.take_along_axis(moves[pairs[:, 0]], carriers[pairs[:, 1]].astype(np.int64), axis=1)
    back = np.argsort(carriers, axis=1).astype(np.int32)
    fixing = np.take_along_axis(back[place[products[:, point]]], products.astype(np.int64), axis=1)
    return _few(np.asarray(np.unique(fixing, axis=0), dtype=np.int32), rng)


def _carriers(moves: Moves, point: int) -> Moves:
    """Return one product of the moves for each point of an orbit, which carries the given point there."""
    rows = [np.arange(moves.shape[1], dtype=np.int32)]
    seen = {point}
    for row in rows:
        for move in moves:
            image = int(move[row[point]])
            if image not in seen:
                seen.add(image)
                rows.append(move[row])
    return np.array(rows)


def _few(moves: Moves, rng: np.random.Generator) -> Moves:
    """Return few permutations that generate the same group, almost surely."""
    moved: Moves = moves[(moves != np.arange(moves.shape[1])).any(axis=1)]
    if len(moved) <= _PRODUCTS:
        return moved
    products = np.tile(np.arange(moves.shape[1], dtype=np.int32), (_PRODUCTS, 1))
    for move in moved[rng.permutation(len(moved))]:
        chosen = rng.random(_PRODUCTS) < 0.5
        products[chosen] = move[products[chosen]]
    return np.asarray(np.unique(products, axis=0), dtype=np.int32)


@dataclass
class _Search:
    graph: Graph
    left: int
    """Refinements that may still be spent."""

    def found(self) -> list[Permutation]:
        stable = Partition(self.graph.colours)
        refine(self.graph.arcs, stable)
        levels, base = self._path(stable)
        moves: list[Permutation] = []
        for level in reversed(range(len(base))):
            cell = sorted(levels[level].members(levels[level].cell[base[level]]))
            tried: set[int] = set()
            labels = orbit_labels(np.array(moves, dtype=np.int32), len(self.graph.arcs))
            for image in cell:
                here = int(labels[image])
                if here == labels[base[level]] or here in {int(labels[v]) for v in tried}:
                    continue
                tried.add(image)
                move = self._carry(levels, base, level, image)
                if move is not None:
                    moves.append(move)
                    labels = orbit_labels(np.array(moves, dtype=np.int32), len(self.graph.arcs))
        return moves

    def _path(self, stable: Partition) -> tuple[list[Partition], list[int]]:
        """Return partitions, each finer by one vertex set apart, and those vertices."""
        gpus = set(self.graph.gpus)
        levels, base = [stable], list[int]()
        while True:
            partition = levels[-1]
            open_cells = [cell for cell in partition.cells() if partition.size[cell] > 1]
            if not open_cells:
                return levels, base
            cell = min(open_cells, key=lambda c: (partition.order[c] not in gpus, partition.size[c], c))
            base.append(min(partition.members(cell)))
            levels.append(individualised(self.graph.arcs, partition, base[-1]))

    def _carry(self, levels: list[Partition], base: list[int], level: int, image: int) -> Permutation | None:
        """Return a permutation that fixes the base up to a level and sends that level's vertex to ``image``."""
        stack = [(levels[level], iter([image]))]
        dead_ends = 0
        while stack and self.left > 0 and dead_ends <= _DEAD_ENDS:
            partition, candidates = stack[-1]
            candidate = next(candidates, None)
            if candidate is None:
                stack.pop()
                continue
            self.left -= 1
            deeper = individualised(self.graph.arcs, partition, candidate)
            depth = level + len(stack)
            if deeper.size != levels[depth].size:
                dead_ends += 1
                continue
            if depth == len(base):
                move = self._move(levels[-1], deeper)
                if move is not None:
                    return move
                dead_ends += 1
                continue
            stack.append((deeper, iter(self._likeliest(deeper, levels[depth].cell[base[depth]], base[depth]))))
        return None

    def _likeliest(self, partition: Partition, cell: int, vertex: int) -> list[int]:
        """Return the candidates for the image of a vertex, itself first."""
        return sorted(partition.members(cell), key=lambda v: (v != vertex, v))

    def _move(self, domain: Partition, image: Partition) -> Permutation | None:
        move = np.empty(len(domain.order), dtype=np.int32)
        move[domain.order] = image.order
        arcs = self.graph.table
        moved = np.stack([move[arcs[:, 0]], move[arcs[:, 1]], arcs[:, 2]], axis=1)
        same = np.array_equal(moved[np.lexsort(moved.T)], arcs[np.lexsort(arcs.T)])
        return move if same else None
