"""Better priorities for pieces of several kinds: longest tails first is a rule of thumb, shifted by kind and stage.

Which kind of piece should use the network first cannot be told from tails alone: what is late for one kind fills the
gaps of another. Offsets for every (kind, stage) are drawn at random, always the same ones, and the best are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syccl.sketch.model import Piece
from syccl.solve.list_schedule import JobShop, Timing, backwards_after, list_schedule, tails
from syccl.solve.timing import Timed

_REACH = 0.5
"""Largest offset, as a share of the longest tail."""


def polished(timed: Timed, pieces: Sequence[Piece], *, tries: int, good_enough_s: float) -> Timed:
    """Return the shortest of a list schedule, of its mirror image's order, and of those under drawn offsets.

    Parameters
    ----------
    tries
        Offsets to draw.
    good_enough_s
        Makespan at which to stop.
    """
    best, shop = timed.timing, timed.shop
    tail = tails(shop)
    kinds: dict[tuple[str, int], int] = {}
    kind = [
        kinds.setdefault((pieces[piece].kind, stage), len(kinds))
        for piece, stage in zip(timed.rows.piece, timed.rows.stage, strict=True)
    ]
    rng = np.random.default_rng(0)
    reach = _REACH * max(tail, default=0.0)
    priority = backwards(shop)
    for _ in range(tries):
        if best.makespan_s <= good_enough_s:
            break
        timing = list_schedule(shop, priority)
        if timing.makespan_s < best.makespan_s:
            best = timing
        offset = rng.uniform(-reach, reach, len(kinds)).tolist()
        priority = [t + offset[k] for t, k in zip(tail, kind, strict=True)]
    return replace(timed, timing=best)


def backwards(shop: JobShop) -> list[float]:
    """Return priorities that follow a list schedule of the same jobs run backwards in time."""
    last = len(shop.uses) - 1
    back = JobShop(shop.uses[::-1], shop.latency_s[::-1], backwards_after(shop.after))
    timing: Timing = list_schedule(back, tails(back))
    return [timing.start_s[last - job] + shop.duration_s(job) for job in range(last + 1)]
