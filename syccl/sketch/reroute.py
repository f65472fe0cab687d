"""Paths for many pieces of unequal weight: those that pass links with too much to do are moved to cheaper ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.flows import Path, cheapest_parents, path_to
from syccl.sketch.quotient import Quotient

Floats = NDArray[np.float64]

_STEEPNESS = 40.0
_PASSES = 4
_REFRESHES, _LATEST = 600, 8
"""Prices are worked out anew so often in a pass, and after so many moves at the latest; in between they are old."""


def rerouted(
    quotient: Quotient, allowed: NDArray[np.bool_], start: Sequence[Path], *, weights: Floats, limit_s: float
) -> tuple[Path, ...]:
    """Return a path for every piece so that links are busy for little more than a limit.

    Parameters
    ----------
    allowed
        Arcs that paths may take, shape ``(ranks, ranks)``.
    start
        A path for every piece.
    weights
        Bytes of every piece, shape ``(pieces,)``.
    limit_s
        What no schedule can beat, seconds.
    """
    mover = _Mover(quotient, allowed, limit_s, every=max(1, min(_LATEST, len(start) // _REFRESHES)))
    paths = list(start)
    for path, weight in zip(paths, weights.tolist(), strict=True):
        mover.add(path, weight)
    order = np.argsort(-weights, kind="stable").tolist()
    for _ in range(_PASSES):
        moved = 0
        for i in order:
            if mover.busiest_s(paths[i]) > limit_s:
                better = mover.cheaper(paths[i], float(weights[i]))
                moved += better != paths[i]
                paths[i] = better
        if not moved:
            break
    return tuple(paths)


class _Mover:
    def __init__(self, quotient: Quotient, allowed: NDArray[np.bool_], limit_s: float, *, every: int) -> None:
        self.quotient, self.allowed, self.limit_s, self.every = quotient, allowed, limit_s, every
        self.unit_s = quotient.class_weights / quotient.capacities
        self.links = [np.flatnonzero(row) for row in self.unit_s]
        self.seconds = np.zeros(self.unit_s.shape[1])
        self.costs = np.zeros(0)
        self.age = 0

    def add(self, path: Path, weight: float) -> None:
        for arc in itertools.pairwise(path):
            kind = int(self.quotient.arc_class[arc])
            self.seconds[self.links[kind]] += weight * self.unit_s[kind, self.links[kind]]

    def busiest_s(self, path: Path) -> float:
        kinds = [int(self.quotient.arc_class[arc]) for arc in itertools.pairwise(path)]
        return max(float(self.seconds[self.links[kind]].max()) for kind in kinds)

    def cheaper(self, path: Path, weight: float) -> Path:
        """Return the path of least price without the piece itself, which is moved there."""
        self.add(path, -weight)
        if not self.age % self.every:
            self._refresh()
        self.age += 1
        found = path_to(cheapest_parents(self.costs, path[0]), path[0], path[-1])
        chosen = path if found is None else found
        self.add(chosen, weight)
        return chosen

    def _refresh(self) -> None:
        fill = np.minimum(_STEEPNESS * (self.seconds / self.limit_s - 1.0), 60.0)
        prices = np.exp(fill) + 1e-3
        self.costs = np.where(self.allowed, (self.unit_s @ prices)[self.quotient.arc_class], np.inf)
