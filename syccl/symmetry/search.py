"""Depth-first search for one automorphism that extends a group by a prime factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syccl.symmetry.action import Displacements
from syccl.symmetry.collapse import Graph
from syccl.symmetry.group import Permutation
from syccl.symmetry.pairing import Goal, Pairing
from syccl.symmetry.refine import Partition

_NEAREST = 16


@dataclass
class Budget:
    """What a search may still spend, counted so that the same input always takes the same course.

    Parameters
    ----------
    work
        Arcs still to look at, over all searches.
    capped
        Whether some search stopped before it had seen everything.
    """

    work: int
    capped: bool = False


class Search:
    """Looks for the automorphism of a goal by trying images one vertex at a time."""

    def __init__(self, graph: Graph, stable: Partition, goal: Goal, displacements: Displacements) -> None:
        self._pairing = Pairing(graph, stable, goal)
        self._goal = goal
        self._displacements = displacements
        self._free = set(goal.action.free)
        self._last = goal.action.free[0]
        self._kind = int(displacements.row(self._last)[0][goal.target])
        self._thinned = False

    def run(self, budget: Budget, failures: int) -> Permutation | None:
        """Return an automorphism that fulfils the goal, or None; at most ``failures`` dead ends are looked at."""
        spent = 0
        found = None
        for held in self._steps():
            spent += not held
            if spent > failures or self._pairing.work > budget.work:
                self._thinned = True
                break
            if held and (found := self._finished()) is not None:
                break
        budget.work -= self._pairing.work
        budget.capped |= self._thinned and found is None
        return found

    def _steps(self) -> Iterator[bool]:
        """Yield whether each decision held, depth first; after one that held, the next vertex is decided."""
        pairing = self._pairing
        held = pairing.start()
        yield held
        if not held:
            return
        stack = [self._branch()]
        while stack:
            x, candidates, mark = stack[-1]
            pairing.undo(mark)
            y = next(candidates, None)
            if y is None:
                stack.pop()
                continue
            held = pairing.assign(x, y)
            yield held
            if held:
                self._last = x
                stack.append(self._branch())

    def _branch(self) -> tuple[int, Iterator[int], tuple[int, int, dict[int, int]]]:
        x = self._next_vertex()
        candidates = iter(()) if x is None else iter(self._candidates(x))
        return (-1 if x is None else x), candidates, self._pairing.mark()

    def _finished(self) -> Permutation | None:
        """Return the automorphism when all images are known and it respects the group on all vertices."""
        if not self._pairing.complete:
            return None
        goal = self._goal
        image = np.array(self._pairing.image, dtype=np.int32)
        for generator, twisted in zip(goal.action.generators, goal.twist, strict=True):
            if not (image[generator] == np.array(twisted, dtype=np.int32)[image]).all():
                return None
        power = image
        for _ in range(goal.prime - 1):
            power = image[power]
        root = goal.action.free[0]
        if goal.action.orbit[int(power[root])] != 0:
            return None
        element = goal.action.elements[goal.action.mover(root, int(power[root]))]
        return image if (power == element).all() else None

    def _next_vertex(self) -> int | None:
        """Return the vertex to decide: the end of the last chain, or one of the smallest cell, GPUs first."""
        domain = self._pairing.domain
        open_cells = [cell for cell in domain.cells() if domain.size[cell] > 1]
        if not open_cells:
            return None
        smallest = min(open_cells, key=lambda cell: (domain.order[cell] not in self._free, domain.size[cell]))
        tail = self._last
        for _ in range(self._goal.prime):
            if (after := self._pairing.image[tail]) < 0:
                break
            tail = after
        tail_size = domain.size[domain.cell[tail]]
        follows = tail in self._free and 1 < tail_size <= domain.size[smallest]
        return tail if follows else domain.order[smallest]

    def _candidates(self, x: int) -> list[int]:
        """Return the images to try for a vertex, the likeliest first."""
        pairing, orbit = self._pairing, self._goal.action.orbit
        members = pairing.range.members(pairing.domain.cell[x])
        if x not in self._free:
            return sorted(members, key=lambda y: (y != x, y))
        chain = pairing.chain_before(x)
        if len(chain) == self._goal.prime - 1:
            members = [y for y in members if orbit[y] == orbit[chain[-1]]]
        else:
            passed = {orbit[v] for v in (x, *chain)}
            members = [y for y in members if orbit[y] not in passed]
        return self._ranked(x, members)

    def _ranked(self, x: int, members: list[int]) -> list[int]:
        action = self._goal.action
        types, hops = self._displacements.row(action.representatives[action.orbit[x]])
        back = action.inverses[action.sender[x]]
        ranked = sorted((int(types[back[y]]) != self._kind, int(hops[back[y]]), y) for y in members)
        if len(ranked) > 2 * _NEAREST:
            alike = [entry for entry in ranked if not entry[0]][:_NEAREST]
            others = [entry for entry in ranked if entry[0]][:_NEAREST]
            self._thinned |= len(alike) + len(others) < len(ranked)
            ranked = alike + others
        return [y for _, _, y in ranked]
