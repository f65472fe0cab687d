"""The path that arrives first, or costs least, where arcs are looked at rank by rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InfeasibleError

Floats = NDArray[np.float64]

_EQUAL = 1e-9


def first_path(arrive: Callable[[int, float], Floats], last: float, root: int, target: int) -> tuple[int, ...]:
    """Return the ranks of the path that arrives first.

    Ranks are looked at by arrival, but only as long as their arc into the target could still be the first.

    Parameters
    ----------
    arrive
        For a rank and when something is there, when it can be at every rank over a single arc; infinite without one,
        shape ``(ranks,)``. It is never earlier for what is there later.
    last
        Least time that any arc into the target takes.

    Raises
    ------
    InfeasibleError
        When no path leads to the target.
    """
    arrival = arrive(root, 0.0)
    arrival[root] = 0.0
    before = np.full(len(arrival), root, dtype=np.int64)
    waiting = arrival.copy()
    waiting[root] = np.inf
    while target != root:
        near = int(waiting.argmin())
        if not np.isfinite(min(waiting[near], arrival[target])):
            msg = f"no path leads from rank {root} to rank {target}; check the directions of the links"
            raise InfeasibleError(msg)
        if near == target or waiting[near] + last > arrival[target]:
            break
        there = arrive(near, float(waiting[near]))
        waiting[near] = np.inf
        # Of equals the path of fewer transfers, found first, stays.
        sooner = there < arrival * (1.0 - _EQUAL)
        arrival[sooner], waiting[sooner], before[sooner] = there[sooner], there[sooner], near
    path = [target]
    while path[-1] != root:
        path.append(int(before[path[-1]]))
    return tuple(reversed(path))
