"""The fewest connections that must be split, and in how many parts, so that links share their load exactly.

Of ``n`` equal connections over ``s`` equal links, ``floor(n / s)`` go whole over each, and each of the ``r = n mod s``
that are left over is split into ``s / gcd(r, s)`` parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syccl.optimize.linear import LinearProgram, solve_linear
from syccl.topology import Topology
from syccl.traffic.c4p.least import Cut

_ROUNDED = 1e-9


@dataclass(frozen=True)
class _Need:
    """How many of a cut's connections do not fit whole, and what of one more each link has room for."""

    items: tuple[int, ...]
    left_over: int
    rooms: tuple[float, ...]

    def fits(self, parts: int) -> bool:
        return sum(int(room * parts + _ROUNDED) for room in self.rooms) >= self.left_over * parts


def split_equal(topology: Topology, size_bytes: float, found: Sequence[Cut], most: int) -> dict[int, int]:
    """Return the parts of the connections to split, all of one size, so that the busiest link reaches its bound.

    Parameters
    ----------
    found
        All cuts; the largest of their bounds for split connections is the goal.
    most
        Most parts of a connection; nothing is returned where more would be needed.
    """
    goal_s = max(cut.split_s for cut in found)
    needs = [_need(topology, size_bytes, cut, goal_s) for cut in found]
    short = [need for need in needs if need.left_over > 0]
    parts = next((parts for parts in range(2, most + 1) if all(need.fits(parts) for need in short)), 0)
    if not short or not parts:
        return {}
    return dict.fromkeys(_chosen([need for need in needs if len(need.rooms) > 1], short), parts)


def _need(topology: Topology, size_bytes: float, cut: Cut, goal_s: float) -> _Need:
    each = [goal_s * topology.links[link].rate / size_bytes for link in cut.links]
    whole = [int(count + _ROUNDED) for count in each]
    rooms = tuple(max(0.0, count - fit) for count, fit in zip(each, whole, strict=True))
    return _Need(cut.connections, max(0, len(cut.connections) - sum(whole)), rooms)


def _chosen(needs: Sequence[_Need], short: Sequence[_Need]) -> list[int]:
    """Return the fewest connections that leave room in every cut; where cuts nest, the program is integral.

    A cut that is not short takes only as many as it has room for in parts.
    """
    items = sorted({item for need in short for item in need.items})
    column = {item: at for at, item in enumerate(items)}
    rows = [need for need in needs if any(item in column for item in need.items)]
    entries = [(row, column[item]) for row, need in enumerate(rows) for item in need.items if item in column]
    most = [max(float(need.left_over), math.floor(sum(need.rooms) + _ROUNDED)) for need in rows]
    n = len(items)
    program = LinearProgram(
        np.ones(n),
        np.zeros(n),
        np.ones(n),
        np.array([float(need.left_over) for need in rows]),
        np.array(most),
        np.array([row for row, _ in entries], dtype=np.int32),
        np.array([at for _, at in entries], dtype=np.int32),
        np.ones(len(entries)),
    )
    solved = solve_linear(program)
    if not solved.status.has_solution:
        return items
    return [item for item, value in zip(items, solved.values.tolist(), strict=True) if value > _ROUNDED]
