"""Stitching: pieces become one schedule, timed as a job shop over link orbits, without barriers between stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.collective import Demand, Op
from syccl.schedule import Schedule, Symmetry, Transfers
from syccl.sketch.model import Piece
from syccl.sketch.quotient import Quotient
from syccl.solve.list_schedule import JobShop, Timing, list_schedule, tails

PIECE_ORDER_WEIGHT = (0.0, 1.0, 8.0)
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
    return Timed(rows, _best_timing(rows, job_shop(rows, quotient, chunk_bytes), len(pieces)))


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


def stitch(op: Op, pieces: Sequence[Piece], quotient: Quotient, timed: Timed) -> Schedule:
    """Return the schedule that carries out ``pieces`` and all their images.

    Parameters
    ----------
    pieces
        For allgather and reducescatter the same number for every representative root.
    timed
        When each hop of the pieces starts: the order of transfers.
    """
    group, rows, timing = quotient.group, timed.rows, timed.timing
    demand, chunk, images = _chunks(op, pieces, quotient)
    sequence = sorted(range(len(rows.piece)), key=lambda i: (timing.start_s[i], i))
    routes: dict[tuple[int, ...], int] = {}
    table = [routes.setdefault(quotient.route(rows.src[i], rows.dst[i]), len(routes)) for i in sequence]
    pick = np.array(sequence, dtype=np.int64)
    transfers = Transfers(
        chunk=np.array(chunk, dtype=np.int32)[np.array(rows.piece, dtype=np.int64)[pick]],
        src=np.array(rows.src, dtype=np.int32)[pick],
        dst=np.array(rows.dst, dtype=np.int32)[pick],
        route=np.array(table, dtype=np.int32),
        reduce=np.array(rows.reduce, dtype=np.bool_)[pick],
        stage=np.array(rows.stage, dtype=np.int32)[pick],
        order=np.arange(len(sequence), dtype=np.int32),
    )
    symmetry = Symmetry(group, images) if group.order > 1 else None
    return Schedule(group.topology, demand, tuple(routes), transfers, symmetry)


def _chunks(op: Op, pieces: Sequence[Piece], quotient: Quotient) -> tuple[Demand, list[int], NDArray[np.int32]]:
    """Return the demand, the chunk of each piece, and where each group element sends each chunk."""
    group, n = quotient.group, quotient.ranks
    if op.source == op.target == "all":
        total = len(pieces) * group.order
        images = np.arange(total, dtype=np.int32).reshape(1, len(pieces), group.order)
        first = quotient.representatives[0]
        product = group.mover[group.ranks[:, group.ranks[:, first]]]
        images = np.arange(len(pieces), dtype=np.int32)[None, :, None] * group.order + product[:, None, :]
        return (
            Demand(op, n, total),
            [j * group.order for j in range(len(pieces))],
            images.reshape(group.order, total).astype(np.int32),
        )
    per_root = len(pieces) // len(quotient.representatives)
    seen: dict[int, int] = defaultdict(int)
    chunk = []
    for piece in pieces:
        chunk.append(piece.root * per_root + seen[piece.root])
        seen[piece.root] += 1
    images = group.ranks[:, :, None] * per_root + np.arange(per_root, dtype=np.int32)[None, None, :]
    return Demand(op, n, n * per_root), chunk, images.reshape(group.order, -1).astype(np.int32)
