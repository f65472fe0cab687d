"""The connection plan: which pairs of GPUs carry traffic between islands.

Many connections with few pieces each share links unevenly once they are lowered to thread blocks. Between two islands
only a sparse set of arcs is allowed that loads every GPU by its share of the rate: a perfect matching where the
symmetry offers one (the rails of a rail fabric), else the basic solution of a transport problem.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.quotient import Quotient

Floats = NDArray[np.float64]


def connection_plan(quotient: Quotient, islands: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """Return which arcs between islands are allowed, shape ``(ranks, ranks)``; closed under the symmetry group."""
    allowed = np.zeros(len(quotient.route_start) - 1, dtype=np.bool_)
    routed = np.diff(quotient.route_start) > 0
    for a, tails in enumerate(islands):
        for b, heads in enumerate(islands):
            if a == b:
                continue
            classes = quotient.arc_class[np.ix_(tails, heads)]
            if not allowed[classes].any() and routed[classes].any():
                allowed[_pick(quotient, classes, routed[classes], between=(tails, heads))] = True
    return np.asarray(allowed[quotient.arc_class])


def _pick(
    quotient: Quotient,
    classes: NDArray[np.int32],
    routed: NDArray[np.bool_],
    *,
    between: tuple[tuple[int, ...], tuple[int, ...]],
) -> list[int]:
    """Return the classes of the arcs to use from one island to another."""
    tails, heads = between
    latency = quotient.class_latencies_s
    for kind in sorted(set(classes[routed].tolist()), key=lambda c: (latency[c], c)):
        hit = classes == kind
        if len(tails) == len(heads) and (hit.sum(axis=0) == 1).all() and (hit.sum(axis=1) == 1).all():
            return [int(kind)]
    supply, demand = np.zeros(len(tails)), np.zeros(len(heads))
    senders, receivers = np.flatnonzero(routed.any(axis=1)), np.flatnonzero(routed.any(axis=0))
    supply[senders] = _shares(quotient, [(tails[i], heads[int(np.argmax(routed[i]))]) for i in senders])
    demand[receivers] = _shares(quotient, [(tails[int(np.argmax(routed[:, j]))], heads[j]) for j in receivers])
    arcs = [(i, j) for i, j in _northwest(supply, demand) if routed[i, j]]
    chosen = [int(classes[i, j]) for i, j in arcs]
    return chosen if chosen else classes[routed].tolist()


def _shares(quotient: Quotient, arcs: list[tuple[int, int]]) -> list[float]:
    """Return each arc's share of the rate when all of them are used at once, bytes per second."""
    rates = quotient.topology.link_rates
    paths = [quotient.route(u, v) for u, v in arcs]
    users = Counter(link for path in paths for link in path)
    return [min(float(rates[link]) / users[link] for link in path) for path in paths]


def _northwest(supply: Floats, demand: Floats) -> list[tuple[int, int]]:
    """Return the arcs of the northwest-corner solution of a transport problem, both sides scaled to one."""
    left, right = supply / supply.sum(), demand / demand.sum()
    arcs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        moved = min(left[i], right[j])
        if moved > 1e-9:
            arcs.append((i, j))
        left[i] -= moved
        right[j] -= moved
        if left[i] <= 1e-9:
            i += 1
        if right[j] <= 1e-9:
            j += 1
    return arcs
