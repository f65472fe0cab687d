"""Hamiltonian cycles and paths by bounded depth-first search, the same at every run."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_STEPS_PER_RANK = 60
_SHUFFLES = 12


def powers(turn: Sequence[int] | NDArray[np.int32]) -> list[list[int]]:
    """Return all powers of a permutation, the identity first."""
    step = [int(image) for image in turn]
    found = [list(range(len(step)))]
    while True:
        following = [step[v] for v in found[-1]]
        if following == found[0]:
            return found
        found.append(following)


def hamiltonian_path(prices: NDArray[np.float64], first: int, last: int) -> list[int] | None:
    """Return a path over all points between two of them, cheap steps first; None where the search finds none.

    Parameters
    ----------
    prices
        Of every step, infinite where there is none; shape ``(points, points)``.
    """
    n = len(prices)
    if n == 1 or first == last:
        return [first] if n == 1 else None
    choices = [[v for v in np.argsort(row, kind="stable").tolist() if np.isfinite(row[v])] for row in prices]
    inner = [[v for v in row if v not in {first, last}] for row in choices]
    for path in _walks(inner, first, n - 1, [[v] for v in range(n)]):
        if np.isfinite(prices[path[-1], last]):
            return [*path, last]
    return None


def disjoint_cycles(lanes: NDArray[np.int64], turn: NDArray[np.int32], most: int, *, both: bool) -> list[list[int]]:
    """Return up to ``most`` Hamiltonian cycles that together use every arc at most as often as it has lanes.

    Parameters
    ----------
    lanes
        Of every arc, unchanged by ``turn``; shape ``(ranks, ranks)``.
    both
        Whether a cycle takes one lane each way.
    turn
        A permutation that every cycle is invariant under: each consists of a path and its images. Only the identity
        among its powers may fix a point.
    """
    closings = _generators(powers(turn))
    best: list[list[int]] = []
    for attempt in range(_SHUFFLES):
        left, cycles = lanes.copy(), list[list[int]]()
        while len(cycles) < most:
            cycle = _cycle(left, closings, random.Random(attempt))
            if cycle is None:
                break
            cycles.append(cycle)
            after = [*cycle[1:], cycle[0]]
            left[cycle, after] -= 1
            if both:
                left[after, cycle] -= 1
        best = max(best, cycles, key=len)
        if len(best) == most:
            break
    return best


def _generators(images: list[list[int]]) -> list[list[list[int]]]:
    """Return, for each power that generates the same cyclic group, all its powers."""
    found = [powers(image) for image in images]
    return [power for power in found if len(power) == len(images)]


def _cycle(left: NDArray[np.int64], closings: list[list[list[int]]], chance: random.Random) -> list[int] | None:
    n, order = len(left), len(closings[0])
    choices = []
    for row in left:
        # Arcs with many lanes left go first; among equals, chance decides.
        ranked = [(-int(row[v]), chance.random(), v) for v in np.flatnonzero(row > 0).tolist()]
        choices.append([v for _, _, v in sorted(ranked)])
    orbit = [sorted({image[v] for image in closings[0]}) for v in range(n)]
    for path in _walks(choices, 0, n // order, orbit):
        for images in closings:
            # The path goes on as its own image: its end must be joined to the image of its beginning.
            if left[path[-1], images[1 % order][0]] > 0:
                return [image[v] for image in images for v in path]
    return None


def _walks(
    choices: Sequence[Sequence[int]], first: int, length: int, orbit: Sequence[Sequence[int]]
) -> Iterable[list[int]]:
    """Yield simple paths of some length that take one point of each orbit, points with few ways on first."""
    taken = set(orbit[first])
    path, todo = [first], [_ways(choices, first, taken)]
    for _ in range(_STEPS_PER_RANK * len(choices)):
        if len(path) == length:
            yield path
        if len(path) < length and todo[-1]:
            step = todo[-1].pop()
            taken.update(orbit[step])
            path.append(step)
            todo.append(_ways(choices, step, taken))
        else:
            todo.pop()
            taken.difference_update(orbit[path.pop()])
            if not path:
                return


def _ways(choices: Sequence[Sequence[int]], point: int, taken: set[int]) -> list[int]:
    """Return where to go from a point, the best last: few ways on (Warnsdorff's rule), then the given sequence."""
    free = [v for v in choices[point] if v not in taken]
    onward = [sum(w not in taken for w in choices[v]) for v in free]
    return [free[i] for i in sorted(range(len(free)), key=lambda i: (-onward[i], -i))]
