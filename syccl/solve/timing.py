"""When each hop of a set of pieces starts: the job shop over link orbits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syccl.sketch.model import Piece
from syccl.sketch.quotient import Quotient
from syccl.solve.list_schedule import JobShop, Timing, list_schedule, tails

PIECE_ORDER_WEIGHT = (0.0, 1.0, 3.0, 1e3)
"""How strongly earlier pieces go first, in multiples of a piece's share of the makespan; all are tried."""


@dataclass(frozen=True)
class Rows:
    """All hops of all pieces as parallel lists, with what each waits for; pieces in order, hops by stage."""

    piece: list[int]
    src: list[int]
    dst: list[int]
    stage: list[int]
    reduce: list[bool]
    after: list[list[int]]


@dataclass(frozen=True)
class Timed:
    """Hops with their starts in a list schedule."""

    rows: Rows
    timing: Timing
    shop: JobShop

    def arrival_s(self, row: int) -> float:
        """Return when what a hop carries is there, in seconds."""
        return self.timing.start_s[row] + self.shop.duration_s(row)


def rows_of(pieces: Sequence[Piece]) -> Rows:
    """Return the hops of all pieces; a hop waits for the hops of its piece into its sender of lower stage."""
    rows = Rows([], [], [], [], [], [])
    for number, piece in enumerate(pieces):
        into: dict[int, list[int]] = defaultdict(list)
        for hop in sorted(piece.hops, key=lambda hop: hop.stage):
            index = len(rows.piece)
            rows.after.append([i for i in into[hop.src] if rows.stage[i] < hop.stage])
            into[hop.dst].append(index)
            rows.piece.append(number)
            rows.src.append(hop.src)
            rows.dst.append(hop.dst)
            rows.stage.append(hop.stage)
            rows.reduce.append(hop.reduce)
    return rows


def job_shop(rows: Rows, quotient: Quotient, chunk_bytes: float) -> JobShop:
    """Return the hops as jobs on link orbits; a hop occupies an orbit for all copies that share one of its links."""
    per_byte = quotient.class_weights / quotient.capacities
    uses: dict[int, tuple[tuple[int, float], ...]] = {}
    classes = [int(quotient.arc_class[u, v]) for u, v in zip(rows.src, rows.dst, strict=True)]
    for c in set(classes):
        uses[c] = tuple((int(o), float(per_byte[c, o]) * chunk_bytes) for o in np.flatnonzero(per_byte[c]))
    latency = quotient.class_latencies_s
    return JobShop([uses[c] for c in classes], [float(latency[c]) for c in classes], rows.after)


def time_pieces(pieces: Sequence[Piece], quotient: Quotient, chunk_bytes: float) -> Timed:
    """Return the hops of all pieces in the shortest of the list schedules under each weight of piece order."""
    rows = rows_of(pieces)
    shop = job_shop(rows, quotient, chunk_bytes)
    return Timed(rows, _best_timing(rows, shop, len(pieces)), shop)


def _best_timing(rows: Rows, shop: JobShop, pieces: int) -> Timing:
    tail = tails(shop)
    share = max(tail, default=0.0) / max(1, pieces)
    best: Timing | None = None
    for weight in PIECE_ORDER_WEIGHT:
        priority = [t - weight * share * number for t, number in zip(tail, rows.piece, strict=True)]
        timing = list_schedule(shop, priority)
        if best is None or timing.makespan_s < best.makespan_s:
            best = timing
    return best if best is not None else Timing([], 0.0)
