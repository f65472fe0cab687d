"""Stitching: pieces become one schedule, timed as a job shop over link orbits, without barriers between stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.collective import Demand, Op
from syccl.schedule import Schedule, Symmetry, Transfers
from syccl.sketch.model import Piece
from syccl.sketch.quotient import Quotient
from syccl.solve.timing import Timed


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
