"""Colour refinement: vertices stay in one cell while counting neighbours cannot tell them apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import gcd

Arcs = Sequence[Sequence[tuple[int, int]]]
"""For each vertex its (neighbour, weight) pairs."""


_GOLDEN = 0x9E3779B97F4A7C15
_WEIGHT_BITS = 48


def spread(i: int) -> int:
    """Return the ``i``-th of a sequence of weights such that sums of few tell which were summed, all but surely.

    A clash only makes a refinement coarser, the same way for isomorphic graphs.
    """
    return ((i + 1) * _GOLDEN % 2**64 >> (64 - _WEIGHT_BITS)) | 1


class Partition:
    """Vertices in ordered cells; a cell is named by the position of its first vertex in ``order``.

    Names depend on the colours and the graph only, never on how vertices are numbered, as long as cells are
    split in an order that does not either.
    """

    __slots__ = ("cell", "order", "place", "size")

    def __init__(self, colours: Sequence[int]) -> None:
        n = len(colours)
        self.order = sorted(range(n), key=colours.__getitem__)
        self.place = [0] * n
        self.cell = [0] * n
        self.size = [0] * n
        start = 0
        for position, vertex in enumerate(self.order):
            if colours[vertex] != colours[self.order[start]]:
                start = position
            self.place[vertex] = position
            self.cell[vertex] = start
            self.size[start] += 1

    def copy(self) -> Partition:
        """Return an independent copy."""
        twin = Partition.__new__(Partition)
        twin.order, twin.place = self.order.copy(), self.place.copy()
        twin.cell, twin.size = self.cell.copy(), self.size.copy()
        return twin

    def members(self, cell: int) -> list[int]:
        """Return the vertices of a cell, in no meaningful order."""
        return self.order[cell : cell + self.size[cell]]

    def cells(self) -> list[int]:
        """Return the names of all cells, ascending."""
        found, start = [], 0
        while start < len(self.order):
            found.append(start)
            start += self.size[start]
        return found

    def split(self, cell: int, leaving: Iterable[int]) -> int:
        """Move some but not all vertices of a cell to a new cell behind it, and return the new cell."""
        order, place = self.order, self.place
        end = old_end = cell + self.size[cell]
        moved = []
        for vertex in leaving:
            end -= 1
            other, hole = order[end], place[vertex]
            order[hole], place[other] = other, hole
            order[end], place[vertex] = vertex, end
            moved.append(vertex)
        for vertex in moved:
            self.cell[vertex] = end
        self.size[end] = old_end - end
        self.size[cell] = end - cell
        return end

    def join(self, cell: int, parent: int) -> None:
        """Undo the last split that made ``cell`` out of ``parent``."""
        for vertex in self.members(cell):
            self.cell[vertex] = parent
        self.size[parent] += self.size[cell]
        self.size[cell] = 0


Signatures = dict[int, dict[int, list[int]]]
"""For each touched cell: the vertices by the sum of weights they get from the splitter."""


def signatures(arcs: Arcs, partition: Partition, splitter: int, *, skip_singletons: bool) -> Signatures:
    """Return how the neighbours of a cell see it; vertices that are not listed see nothing of it."""
    total: dict[int, int] = {}
    for vertex in partition.members(splitter):
        for neighbour, weight in arcs[vertex]:
            total[neighbour] = total.get(neighbour, 0) + weight
    cell_of, size = partition.cell, partition.size
    found: Signatures = {}
    for vertex, signature in total.items():
        cell = cell_of[vertex]
        if skip_singletons and size[cell] == 1:
            continue
        found.setdefault(cell, {}).setdefault(signature, []).append(vertex)
    return found


def leaving_order(by_signature: dict[int, list[int]], size: int) -> list[int]:
    """Return the signatures whose vertices leave a cell of ``size``, ascending; the rest stay, at least one vertex."""
    keys = sorted(by_signature)
    return keys[1:] if sum(map(len, by_signature.values())) == size else keys


def new_splitters(pieces: list[int], size: Sequence[int], *, parent_waits: bool) -> list[int]:
    """Return which pieces of a cell must be split around: all but the largest unless the whole cell still waits."""
    if parent_waits:
        return pieces[1:]
    largest = max(pieces, key=size.__getitem__)
    return [piece for piece in pieces if piece != largest]


def refine(arcs: Arcs, partition: Partition, splitters: Iterable[int] | None = None) -> None:
    """Split cells until no cell can tell two vertices of another apart (1-dimensional Weisfeiler-Leman).

    Parameters
    ----------
    splitters
        Cells to split around first; all of them by default. After splitting one vertex off a stable partition its
        new cell is enough.
    """
    queue = deque(partition.cells() if splitters is None else splitters)
    waiting = set(queue)
    while queue:
        splitter = queue.popleft()
        waiting.discard(splitter)
        found = signatures(arcs, partition, splitter, skip_singletons=True)
        for cell in sorted(found):
            pieces = [cell]
            leaving = leaving_order(found[cell], partition.size[cell])
            pieces += [partition.split(cell, found[cell][signature]) for signature in leaving]
            if len(pieces) > 1:
                fresh = new_splitters(pieces, partition.size, parent_waits=cell in waiting)
                queue.extend(fresh)
                waiting.update(fresh)


def individualised(arcs: Arcs, partition: Partition, vertex: int) -> Partition:
    """Return a stable partition refined further after setting one vertex apart."""
    copy = partition.copy()
    cell = copy.cell[vertex]
    if copy.size[cell] > 1:
        refine(arcs, copy, [copy.split(cell, [vertex])])
    return copy


def profile(arcs: Arcs, partition: Partition) -> tuple[tuple[int, ...], ...]:
    """Return what a stable partition looks like: for each cell its name and what one of its vertices sees."""
    rows = []
    for cell in partition.cells():
        seen = sorted((partition.cell[u], weight) for u, weight in arcs[partition.order[cell]])
        rows.append((cell, *(number for pair in seen for number in pair)))
    return tuple(rows)


def sharpened(arcs: Arcs, partition: Partition, representatives: dict[int, int]) -> Partition:
    """Return a finer stable partition: vertices stay together only if setting each apart looks the same.

    Parameters
    ----------
    representatives
        For each vertex to compare, the vertex to set apart in its place (one of its orbit).
    """
    looks = {x: profile(arcs, individualised(arcs, partition, x)) for x in sorted(set(representatives.values()))}
    number = {look: i for i, look in enumerate(sorted(set(looks.values())))}
    colours = [
        cell * len(arcs) + (number[looks[representatives[v]]] if v in representatives else 0)
        for v, cell in enumerate(partition.cell)
    ]
    finer = Partition(colours)
    refine(arcs, finer)
    return finer


def common_divisor(partition: Partition, vertices: Iterable[int]) -> int:
    """Return the greatest common divisor of the sizes of the cells that hold some vertices; 0 when there are none."""
    return gcd(*(partition.size[cell] for cell in sorted({partition.cell[v] for v in vertices})))
