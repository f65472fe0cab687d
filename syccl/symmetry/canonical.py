"""A key that isomorphic small graphs share, so that equal sub-problems are solved once.

Refinement and individualisation with a search tree over leaves, as in McKay's nauty; automorphisms found on the way
cut branches that would repeat others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from syccl.errors import InputError
from syccl.symmetry.refine import Partition, individualised, refine, spread

MAX_VERTICES = 256
_WORK = 128_000
"""Vertices looked at, over all nodes of a search, after which it is given up."""

Colour = tuple[int, ...]
Relabelling = tuple[int, ...]
"""``relabelling[v]`` is the canonical number of vertex v."""
Certificate = tuple[tuple[Colour, ...], tuple[tuple[int, int, Colour], ...]]
"""A whole graph: the colours, and the arcs (tail, head, label), ascending."""
Key = tuple[str, Certificate]
"""How vertices are numbered (``canonical`` or ``numbered`` as given), and the graph in that numbering."""


@dataclass(frozen=True)
class Digraph:
    """A small directed graph with colours on vertices and labels on arcs.

    Parameters
    ----------
    colours
        Colour of every vertex.
    labels
        Label of every arc ``(tail, head)``.

    Raises
    ------
    InputError
        When an arc ends outside the graph.
    """

    colours: tuple[Colour, ...]
    labels: Mapping[tuple[int, int], Colour]

    def __post_init__(self) -> None:
        """Check the arcs."""
        n = len(self.colours)
        for tail, head in self.labels:
            if not (0 <= tail < n and 0 <= head < n):
                msg = f"arc {(tail, head)} must join vertices 0..{n - 1}"
                raise InputError(msg)

    def relabelled(self, relabelling: Relabelling) -> Digraph:
        """Return the same graph with vertex v called ``relabelling[v]``."""
        colours = dict(zip(relabelling, self.colours, strict=True))
        labels = {(relabelling[tail], relabelling[head]): label for (tail, head), label in self.labels.items()}
        return Digraph(tuple(colours[v] for v in range(len(self.colours))), labels)

    def certificate(self, relabelling: Relabelling) -> Certificate:
        """Return colours and sorted arcs after relabelling: equal exactly for equal relabelled graphs."""
        colours = dict(zip(relabelling, self.colours, strict=True))
        arcs = sorted((relabelling[tail], relabelling[head], label) for (tail, head), label in self.labels.items())
        return tuple(colours[v] for v in range(len(self.colours))), tuple(arcs)


def canonical(graph: Digraph) -> tuple[Key, Relabelling]:
    """Return a key and the relabelling that leads to it.

    Isomorphic graphs get the same key, and their relabellings lead to the same graph. Where the search would be long
    (more than 256 vertices, or a graph of rare regularity) the key describes the graph as it is numbered: still only
    equal graphs share it, but some isomorphic ones do not.
    """
    if len(graph.colours) <= MAX_VERTICES:
        search = _Search(graph)
        if search.run() and search.best is not None:
            return ("canonical", search.best.certificate), search.best.relabelling
    plain = tuple(range(len(graph.colours)))
    return ("numbered", graph.certificate(plain)), plain


class _Leaf(NamedTuple):
    """A leaf of the search tree: the vertices set apart on the way, and what they lead to."""

    path: tuple[int, ...]
    relabelling: Relabelling
    certificate: Certificate


class _Search:
    """Depth-first search for the least leaf: by the shapes of the partitions on the way, then by certificate."""

    def __init__(self, graph: Digraph) -> None:
        self._graph = graph
        self._arcs = _arcs(graph)
        self._twin = _twins(self._arcs)
        self._first: _Leaf | None = None
        self._shapes: list[list[int]] = []
        self._automorphisms: list[list[int]] = []
        self._looked_at = 0
        self.best: _Leaf | None = None

    def run(self) -> bool:
        """Search, and return whether everything was looked at."""
        loops = [(colour, self._graph.labels.get((v, v), ())) for v, colour in enumerate(self._graph.colours)]
        number = {look: i for i, look in enumerate(sorted(set(loops)))}
        partition = Partition([number[look] for look in loops])
        refine(self._arcs, partition)
        return self._visit(partition, ()) >= 0

    def _visit(self, partition: Partition, path: tuple[int, ...]) -> int:
        """Look at the subtree of a node; return the depth to go back to, -1 to give up."""
        depth = len(path)
        self._looked_at += len(self._arcs)
        if self._looked_at > _WORK:
            return -1
        shape = partition.cells()
        if not self._may_be_least(depth, shape):
            return depth
        if len(shape) == len(self._arcs):
            return self._reach(_Leaf(path, tuple(partition.cell), self._graph.certificate(tuple(partition.cell))))
        cell = min((cell for cell in shape if partition.size[cell] > 1), key=lambda cell: (partition.size[cell], cell))
        tried: list[int] = []
        for vertex in sorted(partition.members(cell)):
            if tried and self._repeats(vertex, tried, path):
                continue
            back = self._visit(individualised(self._arcs, partition, vertex), (*path, vertex))
            if back < depth:
                return back
            tried.append(vertex)
        return depth

    def _may_be_least(self, depth: int, shape: list[int]) -> bool:
        """Compare a partition with the one at its depth on the way to the best leaf so far."""
        if depth < len(self._shapes):
            if shape > self._shapes[depth]:
                return False
            if shape == self._shapes[depth]:
                return True
            del self._shapes[depth:]
            self._first = self.best = None
        self._shapes.append(shape)
        return True

    def _reach(self, leaf: _Leaf) -> int:
        """Note a leaf; one that equals an earlier leaf shows an automorphism, and its branch need not be looked at.

        All leaves kept have the same shapes on their ways, so the automorphism moves one path to the other.
        """
        for known in (self._first, self.best):
            if known is not None and known.certificate == leaf.certificate:
                vertex_at = {number: v for v, number in enumerate(leaf.relabelling)}
                self._automorphisms.append([vertex_at[number] for number in known.relabelling])
                return next(i for i, (a, b) in enumerate(zip(known.path, leaf.path, strict=True)) if a != b)
        if self._first is None:
            self._first = leaf
        if self.best is None or leaf.certificate < self.best.certificate:
            self.best = leaf
        return len(leaf.path)

    def _repeats(self, vertex: int, tried: list[int], path: tuple[int, ...]) -> bool:
        """Return whether a known automorphism that fixes the path moves a vertex to one that was tried."""
        if any(self._twin[vertex] == self._twin[other] for other in tried):
            return True
        moves = [move for move in self._automorphisms if all(move[v] == v for v in path)]
        orbit, todo = {vertex}, [vertex]
        while todo:
            v = todo.pop()
            fresh = {move[v] for move in moves} - orbit
            orbit |= fresh
            todo += sorted(fresh)
        return any(other in orbit for other in tried)


def _arcs(graph: Digraph) -> list[list[tuple[int, int]]]:
    """Return each vertex's neighbours with a weight for the labels both ways, as refinement wants them."""
    pairs = {pair for tail, head in graph.labels if tail != head for pair in ((tail, head), (head, tail))}
    label = {(u, v): (_optional(graph, u, v), _optional(graph, v, u)) for u, v in sorted(pairs)}
    weight = {both: spread(i) for i, both in enumerate(sorted(set(label.values())))}
    arcs: list[list[tuple[int, int]]] = [[] for _ in graph.colours]
    for (u, v), both in label.items():
        arcs[u].append((v, weight[both]))
    return arcs


def _optional(graph: Digraph, tail: int, head: int) -> tuple[Colour, ...]:
    return (graph.labels[tail, head],) if (tail, head) in graph.labels else ()


def _twins(arcs: list[list[tuple[int, int]]]) -> list[int]:
    """Return for each vertex the least one that it can change places with while all others stay."""
    rows = [dict(out) for out in arcs]
    twin: list[int] = []
    for v in range(len(rows)):
        leaders = [u for u in range(v) if twin[u] == u]
        twin.append(next((u for u in leaders if _interchangeable(rows, u, v)), v))
    return twin


def _interchangeable(rows: list[dict[int, int]], u: int, v: int) -> bool:
    if len(rows[u]) != len(rows[v]) or rows[u].get(v) != rows[v].get(u):
        return False
    return all(neighbour == v or rows[v].get(neighbour) == weight for neighbour, weight in rows[u].items())
