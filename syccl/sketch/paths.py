"""Paths of chunks that have one source and one target, by rip-up and re-route under the prices of trees."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Hop, Piece

_DETOUR = 1.02
"""A path of one more hop must be this factor cheaper, so that ties go to few hops."""


def route_paths(
    router: TreeRouter, pairs: Sequence[tuple[int, int]], allowed: NDArray[np.bool_], *, passes: int = 2
) -> tuple[Piece, ...]:
    """Return one path for every (source, target), loads spread over links; no hops where allowed arcs do not lead.

    Parameters
    ----------
    pairs
        Of ranks; a pair may stand several times, once for each piece of its data.
    allowed
        Arcs that paths may take, shape ``(ranks, ranks)``.
    """
    placed: list[Piece | None] = [None] * len(pairs)
    for _ in range(passes):
        for i, (source, target) in enumerate(pairs):
            before = placed[i]
            if before is not None:
                router.count(before.hops, -1.0)
            costs = np.where(allowed, router.prices()[router.ground.quotient.arc_class], np.inf)
            piece = Piece(source, _cheapest(costs, source, target), "path", target)
            router.count(piece.hops, 1.0)
            placed[i] = piece
    return tuple(piece for piece in placed if piece is not None)


def _cheapest(costs: NDArray[np.float64], source: int, target: int) -> tuple[Hop, ...]:
    """Return the hops of the cheapest path, by Bellman-Ford over numbers of hops; none where it does not arrive."""
    best = np.full(len(costs), np.inf)
    best[source] = 0.0
    before: list[NDArray[np.int64]] = []
    levels = [best]
    while True:
        through = levels[-1][:, None] * _DETOUR + costs
        parent = np.argmin(through, axis=0)
        reached = np.minimum(levels[-1], through[parent, np.arange(len(costs))])
        if not (reached < levels[-1]).any():
            break
        before.append(np.where(reached < levels[-1], parent, -1))
        levels.append(reached)
    if not np.isfinite(levels[-1][target]):
        return ()
    ranks = [target]
    for parents in reversed(before):
        if parents[ranks[-1]] >= 0:
            ranks.append(int(parents[ranks[-1]]))
    ranks.reverse()
    return tuple(Hop(u, v, stage) for stage, (u, v) in enumerate(itertools.pairwise(ranks)))
