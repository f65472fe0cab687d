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
from syccl.symmetry import Group


def stitch(op: Op, pieces: Sequence[Piece], quotient: Quotient, timed: Timed, *, root: int = 0) -> Schedule:
    """Return the schedule that carries out ``pieces`` and all their images.

    Parameters
    ----------
    pieces
        For allgather and reducescatter the same number for every representative root.
    timed
        When each hop of the pieces starts: the order of transfers.
    root
        Root of rooted ops.
    """
    group, rows, timing = quotient.group, timed.rows, timed.timing
    demand, chunk, images = _chunks(op, pieces, quotient, root)
    sequence = sorted(range(len(rows.piece)), key=lambda i: (timing.start_s[i], i))
    routes: dict[tuple[int, ...], int] = {}
    arcs = list(zip(rows.src, rows.dst, strict=True))
    number = {
        arc: routes.setdefault(quotient.route(*arc), len(routes)) for arc in dict.fromkeys(arcs[i] for i in sequence)
    }
    table = [number[arcs[i]] for i in sequence]
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


def _chunks(
    op: Op, pieces: Sequence[Piece], quotient: Quotient, root: int
) -> tuple[Demand, list[int], NDArray[np.int32]]:
    """Return the demand, the chunk of each piece, and where each group element sends each chunk."""
    group, n = quotient.group, quotient.ranks
    if op.source == op.target == "all":
        return _chunks_of_sums(op, pieces, quotient)
    if op.rooted or op.source == "pair":
        return _chunks_of_pairs(op, pieces, quotient, root)
    per_root = len(pieces) // len(quotient.representatives)
    seen: dict[int, int] = defaultdict(int)
    chunk = []
    for piece in pieces:
        chunk.append(piece.root * per_root + seen[piece.root])
        seen[piece.root] += 1
    images = group.ranks[:, :, None] * per_root + np.arange(per_root, dtype=np.int32)[None, None, :]
    return Demand(op, n, n * per_root), chunk, images.reshape(group.order, -1).astype(np.int32)


def _chunks_of_sums(op: Op, pieces: Sequence[Piece], quotient: Quotient) -> tuple[Demand, list[int], NDArray[np.int32]]:
    """Return the same for allreduce: a piece has one chunk for each coset of the symmetries that map it to itself."""
    group = quotient.group
    first = quotient.representatives[0]
    product = group.mover[group.ranks[:, group.ranks[:, first]]]
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, piece in enumerate(pieces):
        alike[_kept(group, piece)].append(i)
    chunk, images, total = [0] * len(pieces), [], 0
    for kept, members in alike.items():
        least = product[:, list(kept)].min(axis=1)
        _, first_of, coset = np.unique(least, return_index=True, return_inverse=True)
        action = coset.reshape(-1)[product[:, first_of]].astype(np.int32)
        for k, i in enumerate(members):
            chunk[i] = total + k
        beside = action[:, :, None] * len(members) + np.arange(len(members), dtype=np.int32)
        images.append(total + beside.reshape(group.order, -1))
        total += action.shape[1] * len(members)
    return Demand(op, quotient.ranks, total), chunk, np.concatenate(images, axis=1).astype(np.int32)


def _kept(group: Group, piece: Piece) -> tuple[int, ...]:
    """Return the elements that map a piece to itself: those that carry its first hop to one that it stands for."""
    if piece.symmetries == 1:
        return (0,)
    led = [hop for hop, leader in zip(piece.hops, piece.leaders, strict=True) if leader == piece.leaders[0]]
    first = led[0]
    places = {(hop.src, hop.dst) for hop in led}
    images = zip(group.ranks[:, first.src].tolist(), group.ranks[:, first.dst].tolist(), strict=True)
    return tuple(element for element, image in enumerate(images) if image in places)


def _chunks_of_pairs(
    op: Op, pieces: Sequence[Piece], quotient: Quotient, root: int
) -> tuple[Demand, list[int], NDArray[np.int32]]:
    """Return the same for rooted ops (no symmetry) and for alltoall."""
    group, n = quotient.group, quotient.ranks
    seen: dict[tuple[int, int], int] = defaultdict(int)
    turn = []
    for piece in pieces:
        turn.append(seen[piece.root, piece.target])
        seen[piece.root, piece.target] += 1
    count = max(turn, default=0) + 1
    if op.source == "pair":
        # In 32 bits from the start: at hundreds of ranks this table is most of the memory.
        ranks = group.ranks.astype(np.int32)
        images = ranks[:, :, None, None] * np.int32(n * count) + ranks[:, None, :, None] * np.int32(count)
        images = (images + np.arange(count, dtype=np.int32)).reshape(group.order, -1)
        chunk = [(piece.root * n + piece.target) * count + k for piece, k in zip(pieces, turn, strict=True)]
        return Demand(op, n, n * count), chunk, images
    if "block" in (op.source, op.target):
        chunk = [
            (piece.target if op.source == "root" else piece.root) * count + k
            for piece, k in zip(pieces, turn, strict=True)
        ]
        demand = Demand(op, n, n * count, root)
    else:
        chunk, demand = turn, Demand(op, n, count, root)
    return demand, chunk, np.arange(demand.chunk_ids, dtype=np.int32).reshape(1, -1)
