"""When each hop of a set of pieces starts: the job shop over link orbits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.model import Piece
from syccl.sketch.quotient import Quotient
from syccl.solve.list_schedule import JobShop, Timing, list_schedule, mirrored_schedule, tails

_COMPARED_ORBITS = 64
PIECE_ORDER_WEIGHT = (0.0, 1.0, 3.0, 1e3)
"""How much earlier the first piece goes than the last, in multiples of the longest chain of a piece."""
CROWDED_WEIGHT = (0.2, 0.05, 0.0)
"""The same in multiples of the busiest link's time, where the transfer with the busier link goes first."""
_MANY_JOBS = 6_000
_RULES = ((PIECE_ORDER_WEIGHT[:1], False), (PIECE_ORDER_WEIGHT[1:], False), (CROWDED_WEIGHT, True))
"""Lines of weights; a line is followed while it helps."""
_RULES_FOR_MANY = (((0.5,), True), ((0.05,), True), ((0.0,), True), ((0.0,), False))
"""With more jobs than this only these rules are tried."""
_GOOD_ENOUGH = 1.01
"""Nor are more rules tried of so many jobs when a schedule takes no longer than this, over the busiest link's time."""
_OPTIMAL = 1.0005
_POOR, _TIE = 1.1, 1e-9
"""Times the least possible from which on receivers are tried in turns, and what breaks ties, as a share of all time."""
"""Nor of fewer jobs when it takes no longer than this, over the busiest link's time and the longest chain of jobs."""


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
    """Return the hops of all pieces; a hop waits for the hops of its piece into its sender of lower stage.

    Of hops that stand for each other under symmetries of their piece only the leader is listed.
    """
    rows = Rows([], [], [], [], [], [])
    made: dict[int, Rows] = {}
    for number, piece in enumerate(pieces):
        if id(piece) not in made:
            made[id(piece)] = _rows_of_one(piece)
        own, first = made[id(piece)], len(rows.piece)
        rows.piece.extend([number] * len(own.src))
        rows.src.extend(own.src)
        rows.dst.extend(own.dst)
        rows.stage.extend(own.stage)
        rows.reduce.extend(own.reduce)
        rows.after.extend([first + i for i in after] for after in own.after)
    return rows


def _rows_of_one(piece: Piece) -> Rows:
    rows = Rows([], [], [], [], [], [])
    leaders = piece.leaders or range(len(piece.hops))
    into: dict[int, list[int]] = defaultdict(list)
    row_of: dict[int, int] = {}
    for position in sorted(range(len(leaders)), key=lambda i: piece.hops[i].stage):
        hop, leader = piece.hops[position], leaders[position]
        if leader == position:
            row_of[position] = len(rows.src)
            rows.after.append(sorted({i for i in into[hop.src] if rows.stage[i] < hop.stage}))
            rows.src.append(hop.src)
            rows.dst.append(hop.dst)
            rows.stage.append(hop.stage)
            rows.reduce.append(hop.reduce)
        into[hop.dst].append(row_of[leader])
    return rows


def job_shop(rows: Rows, quotient: Quotient, chunk_bytes: float) -> JobShop:
    """Return the hops as jobs on link orbits; a hop occupies an orbit for all copies that share one of its links."""
    classes = quotient.arc_class[rows.src, rows.dst]
    used = np.unique(classes)
    seconds = quotient.class_weights[used] / quotient.capacities * chunk_bytes
    binding = _binding(seconds)
    uses = {
        kind: tuple((int(o), float(row[o])) for o in binding if row[o])
        for kind, row in zip(used.tolist(), seconds, strict=True)
    }
    latency = quotient.class_latencies_s[classes].tolist()
    return JobShop([uses[kind] for kind in classes.tolist()], latency, rows.after)


def _binding(seconds: NDArray[np.float64]) -> list[int]:
    """Return the orbits that can make a hop wait: those that no other orbit occupies at least as long for every hop.

    Parameters
    ----------
    seconds
        Occupation of every orbit by every class of hop in use, shape ``(classes, orbits)``.
    """
    orbits = np.flatnonzero(seconds.any(axis=0))
    _, first = np.unique(seconds[:, orbits], axis=1, return_index=True)
    distinct = orbits[np.sort(first)]
    if len(distinct) > _COMPARED_ORBITS:
        return [int(o) for o in distinct]
    table = seconds[:, distinct]
    covered = np.asarray((table[:, :, None] <= table[:, None, :]).all(axis=0))
    np.fill_diagonal(covered, val=False)
    return [int(o) for o, row in zip(distinct, covered, strict=True) if not row.any()]


def time_pieces(pieces: Sequence[Piece], quotient: Quotient, chunk_bytes: float) -> Timed:
    """Return the hops of all pieces in the shortest of the list schedules under each rule of priority."""
    rows = rows_of(pieces)
    shop = job_shop(rows, quotient, chunk_bytes)
    few = len(rows.piece) <= _MANY_JOBS
    return Timed(rows, _best_timing(rows, shop, len(pieces), _RULES if few else _RULES_FOR_MANY), shop)


def _best_timing(rows: Rows, shop: JobShop, pieces: int, rules: Sequence[tuple[Sequence[float], bool]]) -> Timing:
    tail = tails(shop)
    busiest_s = shop.busiest_s
    longest = {False: max(tail, default=0.0), True: busiest_s}
    least_s = max(longest.values())
    # Sums alone are copies backwards in time: there the mirror image is as good a start as any.
    best = mirrored_schedule(shop) if rows.reduce and all(rows.reduce) else Timing([], math.inf)
    for weights, crowded_first in rules:
        for weight in weights:
            if best.makespan_s <= (busiest_s * _GOOD_ENOUGH if len(tail) > _MANY_JOBS else least_s * _OPTIMAL):
                return best
            each = weight * longest[crowded_first] / max(1, pieces)
            priority = [t - each * piece for t, piece in zip(tail, rows.piece, strict=True)]
            timing = list_schedule(shop, priority, crowded_first=crowded_first, within_s=best.makespan_s)
            if best.start_s and timing.makespan_s >= best.makespan_s:
                break
            best = timing
    if best.makespan_s > _POOR * least_s:
        turned = list_schedule(shop, _turning(rows, tail, least_s), within_s=best.makespan_s)
        best = min(best, turned, key=lambda timing: timing.makespan_s)
    return best


def _turning(rows: Rows, tail: Sequence[float], least_s: float) -> list[float]:
    """Return priorities under which, of equals, every rank sends to the next ranks first.

    Ranks that all start with the same receivers pair up, and an odd one out waits.
    """
    ranks = 1 + max((*rows.src, *rows.dst), default=0)
    small = least_s * _TIE / ranks
    ends = zip(tail, rows.piece, rows.src, rows.dst, strict=True)
    return [t - least_s * _TIE * piece - small * ((dst - src) % ranks) for t, piece, src, dst in ends]
