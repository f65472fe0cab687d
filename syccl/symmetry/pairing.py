"""Half of an automorphism: which vertices are known to go where, and which still may go where.

Two copies of the graph are refined side by side. Every decision is followed at once by all that it implies: cells that
split, images under the group that the automorphism must respect, and its power that must lie in the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import Graph
from syccl.symmetry.refine import Partition, leaving_order, new_splitters, signatures

_SETUP_WORK = 20


@dataclass(frozen=True, eq=False)
class Goal:
    """What the automorphism ``tau`` must do.

    Parameters
    ----------
    action
        The group G so far; ``tau`` must move every free vertex out of its orbit.
    twist
        The elements ``phi(g)`` with ``tau g = phi(g) tau``, one for each generator ``g``.
    prime
        The least power of ``tau`` that lies in G.
    target
        Where ``tau`` sends the root.
    displacements
        Given where ``tau`` must displace all vertices of one colour alike.
    """

    action: FreeAction
    twist: tuple[Sequence[int], ...]
    prime: int
    target: int
    displacements: Displacements | None


class Pairing:
    """A partial automorphism under a :class:`Goal`, with undo.

    ``image[x]`` is where x goes and ``preimage[y]`` where y comes from, -1 while unknown. ``work`` counts the arcs
    looked at, a measure of time that does not depend on the machine.
    """

    def __init__(self, graph: Graph, stable: Partition, goal: Goal) -> None:
        n = len(graph.arcs)
        self.arcs = graph.arcs
        self.goal = goal
        self.domain, self.range = stable.copy(), stable.copy()
        self.colour = stable.cell
        self.image, self.preimage = [-1] * n, [-1] * n
        self.work = _SETUP_WORK + n // 2
        self._power: list[int] | None = None
        self._power_since = 0
        self._orbit = goal.action.orbit
        self._generators = [generator.tolist() for generator in goal.action.generators]
        self._fixed: list[int] = []
        self._splits: list[tuple[int, int]] = []
        self._displaced: dict[int, int] = {}
        self._due: list[tuple[int, int]] = []
        self._splitters: list[int] = []
        self._waiting: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether all images are known."""
        return len(self._fixed) == len(self.image)

    def start(self) -> bool:
        """Fix what the colours alone decide, and send the root to its target."""
        lone = [cell for cell in self.domain.cells() if self.domain.size[cell] == 1]
        return all(self._settle(cell) for cell in lone) and self.assign(self.goal.action.free[0], self.goal.target)

    def assign(self, x: int, y: int) -> bool:
        """Send x to y and follow all that this implies; False when it cannot be (then undo)."""
        self._due.append((x, y))
        while self._due or self._splitters:
            held = self._set_apart(*self._due.pop()) if self._due else self._split_around(self._splitters.pop())
            if not held:
                self._due.clear()
                self._splitters.clear()
                self._waiting.clear()
                return False
        return True

    def mark(self) -> tuple[int, int, dict[int, int]]:
        """Return a point to come back to with :meth:`undo`."""
        return len(self._splits), len(self._fixed), self._displaced.copy()

    def undo(self, mark: tuple[int, int, dict[int, int]]) -> None:
        """Take back everything since a mark."""
        splits, fixed, displaced = mark
        while len(self._splits) > splits:
            cell, parent = self._splits.pop()
            self.domain.join(cell, parent)
            self.range.join(cell, parent)
        while len(self._fixed) > fixed:
            x = self._fixed.pop()
            self.preimage[self.image[x]] = -1
            self.image[x] = -1
        if self._power_since > fixed:
            self._power, self._power_since = None, 0
        self._displaced = displaced.copy()

    def chain_before(self, x: int) -> list[int]:
        """Return the vertices that lead to x, nearest first, at most a whole cycle of orbits."""
        chain: list[int] = []
        while len(chain) < self.goal.prime - 1 and (x := self.preimage[x]) >= 0:
            chain.append(x)
        return chain

    def chain_after(self, x: int) -> list[int]:
        """Return the vertices that x leads to, nearest first, at most a whole cycle of orbits."""
        chain: list[int] = []
        while len(chain) < self.goal.prime - 1 and (x := self.image[x]) >= 0:
            chain.append(x)
        return chain

    def _set_apart(self, x: int, y: int) -> bool:
        cell = self.domain.cell[x]
        if cell != self.range.cell[y]:
            return False
        if self.domain.size[cell] == 1:
            return True
        new = self._split(cell, [x], [y])
        self._wait([new])
        return self._settle(cell) and self._settle(new)

    def _split(self, cell: int, left: list[int], right: list[int]) -> int:
        new = self.domain.split(cell, left)
        self.range.split(cell, right)
        self._splits.append((new, cell))
        return new

    def _wait(self, cells: list[int]) -> None:
        self._splitters += cells
        self._waiting.update(cells)

    def _split_around(self, splitter: int) -> bool:
        self._waiting.discard(splitter)
        left = signatures(self.arcs, self.domain, splitter, skip_singletons=False)
        right = signatures(self.arcs, self.range, splitter, skip_singletons=False)
        self.work += 1 + len(left) + len(right)
        if len(left) != len(right):
            return False
        return all(cell in right and self._split_cell(cell, left[cell], right[cell]) for cell in sorted(left))

    def _split_cell(self, cell: int, left: dict[int, list[int]], right: dict[int, list[int]]) -> bool:
        if len(left) != len(right):
            return False
        for signature, vertices in left.items():
            self.work += len(vertices)
            if len(right.get(signature, ())) != len(vertices):
                return False
        if self.domain.size[cell] == 1:
            return True
        leaving = leaving_order(left, self.domain.size[cell])
        pieces = [cell, *(self._split(cell, left[signature], right[signature]) for signature in leaving)]
        if len(pieces) == 1:
            return True
        self._wait(new_splitters(pieces, self.domain.size, parent_waits=cell in self._waiting))
        return all(self._settle(piece) for piece in pieces)

    def _settle(self, cell: int) -> bool:
        """Record the image of a vertex that is alone in its cell."""
        if self.domain.size[cell] > 1:
            return True
        x, y = self.domain.order[cell], self.range.order[cell]
        self.work += 1 + len(self._generators)
        self._fixed.append(x)
        self.image[x], self.preimage[y] = y, x
        self._due += [(g[x], h[y]) for g, h in zip(self._generators, self.goal.twist, strict=True)]
        if self._orbit[x] < 0:
            return True
        return self._orbit[x] != self._orbit[y] and self._displaces(x, y) and self._close(x)

    def _displaces(self, x: int, y: int) -> bool:
        """Check that all vertices of a colour are displaced alike."""
        action, displacements = self.goal.action, self.goal.displacements
        if displacements is None or x != action.representatives[self._orbit[x]]:
            return True
        kind = int(displacements.row(x)[0][y])
        return self._displaced.setdefault(self.colour[x], kind) == kind

    def _close(self, x: int) -> bool:
        """Check and extend the chain through a newly sent vertex: after ``prime`` steps it is back in its orbit."""
        prime, orbit = self.goal.prime, self._orbit
        before, after = self.chain_before(x), self.chain_after(x)
        if any(orbit[v] == orbit[after[0]] for v in before[: prime - 2]):
            return False
        chain = [*reversed(before), x, *after]
        for first, last in zip(chain, chain[prime - 1 :], strict=False):
            end = self.image[last]
            if self._power is None:
                if end >= 0 and not self._learn_power(first, end):
                    return False
            elif end < 0:
                self._due.append((last, self._power[first]))
            elif end != self._power[first]:
                return False
        return True

    def _learn_power(self, first: int, end: int) -> bool:
        """Note which element of the group the power is, and apply that to every chain so far."""
        action = self.goal.action
        if self._orbit[first] != self._orbit[end]:
            return False
        self._power = action.elements[action.mover(first, end)].tolist()
        self._power_since = len(self._fixed)
        return all(self._close(x) for x in self._fixed if self._orbit[x] >= 0)
