"""Paths of chunks that have one source and one target, by rip-up and re-route under the prices of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.flows import hops_along
from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Piece

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

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
    loads, arcs = router.loads, _Arcs.of(router.ground.quotient.arc_class, allowed)
    placed: list[Piece | None] = [None] * len(pairs)
    for _ in range(passes):
        for i, (source, target) in enumerate(pairs):
            before = placed[i]
            if before is not None:
                loads.count(before.hops, -1.0)
            path = arcs.cheapest(loads.prices(), source, target)
            piece = Piece(source, hops_along(path), "path", target)
            loads.count(piece.hops, 1.0)
            placed[i] = piece
    return tuple(piece for piece in placed if piece is not None)


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs by head, then by tail.

    Parameters
    ----------
    tails, kinds
        Sender and class of each arc, shape ``(arcs,)``.
    heads, starts
        Receivers that have arcs, and the first arc of each.
    """

    ranks: int
    tails: Longs
    kinds: NDArray[np.int32]
    heads: Longs
    starts: Longs

    @classmethod
    def of(cls, arc_class: NDArray[np.int32], allowed: NDArray[np.bool_]) -> _Arcs:
        into, tails = np.nonzero(allowed.T)
        heads, starts = np.unique(into, return_index=True)
        return cls(len(allowed), tails, arc_class[tails, into], heads, starts)

    def cheapest(self, prices: Floats, source: int, target: int) -> tuple[int, ...]:
        """Return the ranks of the cheapest path, by Bellman-Ford over numbers of hops; none where it does not arrive.

        Parameters
        ----------
        prices
            Of all arc classes.
        """
        costs, levels = prices[self.kinds], [np.full(self.ranks, np.inf)]
        levels[0][source] = 0.0
        while len(self.heads):
            reached = levels[-1].copy()
            through = np.minimum.reduceat(reached[self.tails] * _DETOUR + costs, self.starts)
            reached[self.heads] = np.minimum(reached[self.heads], through)
            if (reached == levels[-1]).all():
                break
            levels.append(reached)
        return self._back(levels, costs, target) if np.isfinite(levels[-1][target]) else ()

    def _back(self, levels: Sequence[Floats], costs: Floats, target: int) -> tuple[int, ...]:
        """Return the path that made the last of the levels, which are the costs by number of hops."""
        ranks = [target]
        for before, after in zip(levels[-2::-1], levels[:0:-1], strict=True):
            rank = ranks[-1]
            if after[rank] < before[rank]:
                place = int(np.searchsorted(self.heads, rank))
                into = slice(self.starts[place], self.starts[place + 1] if place + 1 < len(self.starts) else None)
                ranks.append(int(self.tails[into][np.argmin(before[self.tails[into]] * _DETOUR + costs[into])]))
        return tuple(reversed(ranks))
