"""Trees of one root as transfers: every piece takes one of few trees, away from the root or, mirrored, towards it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.model import Piece, in_tree, out_tree
from syccl.sketch.ways import Ways
from syccl.solve.list_schedule import JobShop, backwards_after, in_order, list_schedule, tails
from syccl.solve.timing import PIECE_ORDER_WEIGHT, Rows, Timed

Longs = NDArray[np.int64]


_ROWS_LISTED, _ROWS_RELISTED = 10_000, 100_000
"""Mirrored transfers up to which all other orders are tried, and one other order."""


class _Step(NamedTuple):
    """One transfer of a tree, with the transfer of the same tree that it waits for, or -1."""

    src: int
    dst: int
    stage: int
    after: int


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees of one root and which of them each piece takes.

    Parameters
    ----------
    parents
        Parent of every rank in every tree, -1 at the root, shape ``(trees, ranks)``.
    picks
        Tree of every piece.
    """

    root: int
    parents: Longs
    picks: Sequence[int]

    def rounds(self, count: int) -> Forest:
        """Return ``count`` pieces that take all trees in turn."""
        return Forest(self.root, self.parents, [i % len(self.parents) for i in range(count)])

    def pieces(self, kind: str, *, inward: bool) -> tuple[Piece, ...]:
        """Return the pieces; ``inward`` makes the trees lead to the root."""
        trees = [{v: u for v, u in enumerate(parent) if u >= 0} for parent in self.parents.tolist()]
        shape = in_tree if inward else out_tree
        made = [Piece(self.root, shape(self.root, tree), kind) for tree in trees]
        return tuple(made[pick] for pick in self.picks)

    def rows(self) -> Rows:
        """Return the transfers away from the root, piece by piece, every transfer after the one it waits for."""
        trees = [_steps(self.root, parent) for parent in self.parents.tolist()]
        rows = Rows([], [], [], [], [], [])
        for number, pick in enumerate(self.picks):
            first = len(rows.piece)
            for src, dst, stage, after in trees[pick]:
                rows.piece.append(number)
                rows.src.append(src)
                rows.dst.append(dst)
                rows.stage.append(stage)
                rows.reduce.append(False)
                rows.after.append([first + after] if after >= 0 else [])
        return rows


def _steps(root: int, parent: Sequence[int]) -> list[_Step]:
    into = {root: -1}
    steps: list[_Step] = []
    for hop in out_tree(root, {v: u for v, u in enumerate(parent) if u >= 0}):
        into[hop.dst] = len(steps)
        steps.append(_Step(hop.src, hop.dst, hop.stage, into[hop.src]))
    return steps


def shop_of(rows: Rows, ways: Ways, chunk_bytes: float, *, only_queues: bool = False) -> JobShop:
    """Return transfers as jobs on single links.

    Parameters
    ----------
    only_queues
        Whether to leave out links that cannot be asked for more than they have.
    """
    known: dict[tuple[int, int], tuple[tuple[int, float], ...]] = {}
    busy = (ways.seconds_per_byte * chunk_bytes).tolist()
    kept = [
        seconds > 0 and bool(queues or not only_queues) for seconds, queues in zip(busy, ways.can_queue, strict=True)
    ]
    pairs = list(zip(rows.src, rows.dst, strict=True))
    for pair in dict.fromkeys(pairs):
        links = ways.links[pair].tolist()
        known[pair] = tuple((link, busy[link]) for link in links if kept[link])
    return JobShop([known[pair] for pair in pairs], ways.latency_s[rows.src, rows.dst].tolist(), rows.after)


def listed(rows: Rows, shop: JobShop, pieces: int) -> Timed:
    """Return the shortest of the list schedules under each weight of piece order."""
    tail = tails(shop)
    share = max(tail, default=0.0) / max(1, pieces)
    timings = [
        list_schedule(shop, [t - weight * share * number for t, number in zip(tail, rows.piece, strict=True)])
        for weight in PIECE_ORDER_WEIGHT
    ]
    return Timed(rows, min(timings, key=lambda timing: timing.makespan_s), shop)


def sequenced(rows: Rows, shop: JobShop, start_s: Sequence[float]) -> Timed:
    """Return transfers timed in the order of given starts."""
    order = sorted(range(len(start_s)), key=lambda i: (start_s[i], i))
    return Timed(rows, in_order(shop, order), shop)


def turned(rows: Rows, *, reduces: bool) -> Rows:
    """Return the same transfers run backwards, the last one first; ``reduces`` makes them sums."""
    height: dict[int, int] = {}
    for piece, stage in zip(rows.piece, rows.stage, strict=True):
        height[piece] = max(height.get(piece, 0), stage)
    return Rows(
        rows.piece[::-1],
        rows.dst[::-1],
        rows.src[::-1],
        [height[piece] - stage for piece, stage in zip(rows.piece[::-1], rows.stage[::-1], strict=True)],
        [reduces] * len(rows.piece),
        backwards_after(rows.after),
    )


def in_mirrored_order(timed: Timed, back: Rows) -> Timed:
    """Return the same transfers run backwards; what took a link last takes it first.

    Where all transfers of a link have one alpha the time stays the same.

    Parameters
    ----------
    back
        The transfers run backwards.
    """
    shop, last = timed.shop, len(back.piece) - 1
    turned_shop = JobShop(shop.uses[::-1], shop.latency_s[::-1], back.after)
    order = sorted(range(last + 1), key=lambda row: (-timed.arrival_s(last - row), row))
    return Timed(back, in_order(turned_shop, order), turned_shop)


def mirrored(timed: Timed, *, reduces: bool) -> Timed:
    """Return the same transfers run backwards in the mirrored order or in a better one; ``reduces`` makes them sums."""
    back, last = turned(timed.rows, reduces=reduces), len(timed.rows.piece) - 1
    best = in_mirrored_order(timed, back)
    timings = [best.timing]
    if last < _ROWS_RELISTED:
        timings.append(list_schedule(best.shop, [timed.arrival_s(last - row) for row in range(last + 1)]))
    if last < _ROWS_LISTED:
        timings.append(listed(back, best.shop, 1 + max(back.piece, default=0)).timing)
    return Timed(back, min(timings, key=lambda timing: timing.makespan_s), best.shop)
