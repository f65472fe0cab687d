"""Plans of scatter and gather: every part goes the way on which it arrives first.

Gather is scatter run backwards: paths are planned on the reversed arcs and mirrored in time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from syccl.planning.problem import FEW_PIECES, Plan, Problem
from syccl.sketch.images import spread_paths
from syccl.sketch.model import Hop, Piece
from syccl.sketch.timely import timely_paths
from syccl.sketch.ways import Ways
from syccl.solve.forest import listed, mirrored, sequenced, shop_of
from syccl.solve.list_schedule import Timing, tails
from syccl.solve.timing import Timed, rows_of
from syccl.solve.urge import urged

_ROWS = 8_000
_COUNTS, _FEW_COUNTS = 3, 2
_TRIES = 4
"""Orders of the same paths that are tried."""


def fanout_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of scatter and gather; of very many ranks also one in which only some are routed."""
    inward = problem.op.target == "root"
    ways = Ways.of(problem.quotient)
    ways = ways.reversed if inward else ways
    n, group = ways.ranks, problem.root_group
    counts = [c for c in problem.piece_counts if c * (n - 1) <= _ROWS and c <= FEW_PIECES] or [1]
    orders = len(_orders(problem, ways, 1))
    if problem.has_many_ranks:
        counts, orders = counts[-_FEW_COUNTS:], 1
        if group is not None and group.order > 1:
            paths = spread_paths(ways, problem.root, group, counts[-1])
            yield _plan(problem, ways, "paths and their images", paths)
    for count in dict.fromkeys((*counts[:1], *counts[1 - _COUNTS :])):
        chunk_bytes = problem.size_bytes / problem.chunks(count)
        for name, targets in itertools.islice(_orders(problem, ways, count).items(), orders):
            timely = timely_paths(ways, problem.root, targets, chunk_bytes, backwards=inward)
            begins = [begin for path in timely for begin in path.begin_s]
            yield _plan(
                problem, ways, f"paths that arrive first, {name}", [path.ranks for path in timely], begin_s=begins
            )


def _plan(
    problem: Problem, ways: Ways, name: str, paths: Sequence[tuple[int, ...]], *, begin_s: Sequence[float] | None = None
) -> Plan:
    """Return paths from the root, perhaps with planned times of their transfers, in the best order that was found."""
    count, inward = len(paths) // (ways.ranks - 1), problem.op.target == "root"
    chunk_bytes = problem.size_bytes / problem.chunks(count)
    rows = rows_of([Piece(path[0], _hops(path), name) for path in paths])
    shop = shop_of(rows, ways, chunk_bytes)
    begun = listed(rows, shop, len(paths)) if begin_s is None else Timed(rows, Timing(list(begin_s), 0.0), shop)
    if inward:
        pieces = [Piece(path[-1], _hops(path[::-1]), name, path[0]) for path in paths]
        tried = [mirrored(begun, reduces=False)]
    else:
        pieces = [Piece(path[0], _hops(path), name, path[-1]) for path in paths]
        tried = [begun] if begin_s is None else [sequenced(rows, shop, begin_s), listed(rows, shop, len(paths))]
    tried.append(_urged(tried[0], ways.reversed if inward else ways, chunk_bytes, problem.bound_s))
    best = min(tried, key=lambda timed: timed.timing.makespan_s)
    return Plan(name, tuple(pieces), count, best, problem.chunks(count))


def _urged(timed: Timed, ways: Ways, chunk_bytes: float, due_s: float) -> Timed:
    """Return the same transfers in another order: first what has most left to do after it, then what was late."""
    rivals = shop_of(timed.rows, ways, chunk_bytes, only_queues=True)
    return replace(timed, timing=urged(timed.shop, rivals, tails(rivals), due_s=due_s, tries=_TRIES))


def _hops(path: Sequence[int]) -> tuple[Hop, ...]:
    return tuple(Hop(src, dst, stage) for stage, (src, dst) in enumerate(itertools.pairwise(path)))


def _orders(problem: Problem, ways: Ways, count: int) -> dict[str, list[int]]:
    """Return the targets of all pieces in orders that are worth a try."""
    root, n = problem.root, ways.ranks
    others = [rank for rank in range(n) if rank != root]
    direct = np.where(
        np.isfinite(ways.latency_s[root]), ways.latency_s[root], np.nanmax(ways.latency_s[root], initial=0.0)
    )
    place = {rank: i for island in problem.islands for i, rank in enumerate(island)}
    by_rank = others * count
    by_place = sorted(others, key=lambda rank: (place[rank], rank)) * count
    found = {
        "far ranks first": sorted(by_rank, key=lambda rank: -direct[rank]),
        "islands in turn": sorted(by_place, key=lambda rank: -direct[rank]),
    }
    if problem.op.target == "root":
        # Backwards in time the last come first, and far ranks must send early.
        found["near ranks last"] = sorted(by_place, key=lambda rank: direct[rank])
    return found
