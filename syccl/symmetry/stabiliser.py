"""Groups that leave one GPU in place: which other GPUs to leave, so that the rest moves freely in few orbits."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from syccl.symmetry.action import FreeAction
from syccl.symmetry.collapse import Graph
from syccl.symmetry.refine import Partition, refine
from syccl.symmetry.search import Budget

_SETS = 48
_SHARE = 4

Largest = Callable[[Graph, Sequence[int], Sequence[int], Budget], FreeAction]
"""Finds a large group that acts freely on given GPUs and keeps given colours."""


class _Set(NamedTuple):
    """GPUs that stay in place, with the least number of orbits that a group may still have."""

    orbits: int
    moved: int
    fixed: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    """The GPUs that may move, by cell."""


def stabiliser(graph: Graph, root: int, budget: Budget, largest: Largest) -> FreeAction:
    """Return a group that fixes the root and some more GPUs and acts freely on the rest, with few orbits.

    Sets of fixed GPUs are looked at best first, by a lower bound on the orbits; each may spend a share of the budget.
    """
    best = FreeAction.trivial((root,), len(graph.arcs))
    fewest = len(graph.gpus)
    queue = [_with_fixed(graph, (root,))]
    seen = {queue[0].fixed}
    for _ in range(_SETS):
        if not queue or queue[0].orbits >= fewest:
            break
        chosen = heapq.heappop(queue)
        moved = [v for cell in chosen.cells for v in cell]
        share = Budget(budget.work // _SHARE)
        budget.work -= share.work
        action = largest(graph, sorted(moved), _apart(graph, chosen.fixed), share)
        budget.work += share.work
        if len(chosen.fixed) + len(action.representatives) < fewest:
            best, fewest = action, len(chosen.fixed) + len(action.representatives)
        for members in [cell[:count] for cell in chosen.cells for count in (1, len(cell))]:
            child = _with_fixed(graph, (*chosen.fixed, *members))
            if child.fixed not in seen:
                seen.add(child.fixed)
                heapq.heappush(queue, child)
    return best


def _apart(graph: Graph, fixed: Sequence[int]) -> list[int]:
    """Return the colours of the graph with some vertices set apart, each from all others."""
    colours = list(graph.colours)
    for i, vertex in enumerate(fixed):
        colours[vertex] = len(colours) + i
    return colours


def _with_fixed(graph: Graph, fixed: Sequence[int]) -> _Set:
    """Return the set that fixes some GPUs and all that then have no equal."""
    stable = Partition(_apart(graph, fixed))
    refine(graph.arcs, stable)
    cells: dict[int, list[int]] = {}
    for v in graph.gpus:
        cells.setdefault(stable.cell[v], []).append(v)
    lone = tuple(cell[0] for cell in cells.values() if len(cell) == 1)
    moved = tuple(tuple(cell) for cell in cells.values() if len(cell) > 1)
    return _Set(_least_orbits([*map(len, cells.values())]), len(graph.gpus) - len(lone), lone, moved)


def _least_orbits(sizes: Sequence[int]) -> int:
    """Return the least number of orbits when each is a single GPU or as large as the group, over all its orders."""
    size = np.array(sizes)[:, None]
    order = np.arange(1, max(sizes) + 1)
    return int((size // order + size % order).sum(axis=0).min())
