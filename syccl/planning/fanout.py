"""Plans of scatter and gather: every part goes the way on which it arrives first.

Gather is scatter run backwards: paths are planned on the reversed arcs and mirrored in time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from syccl.planning.problem import FEW_PIECES, Plan, Problem
from syccl.sketch.model import Hop, Piece
from syccl.sketch.timely import Path, timely_paths
from syccl.sketch.ways import Ways
from syccl.solve.forest import listed, mirrored, sequenced, shop_of
from syccl.solve.list_schedule import Timing, tails
from syccl.solve.timing import Timed, rows_of
from syccl.solve.urge import urged

_ROWS = 8_000
_COUNTS = 3
_TRIES = 4
"""Orders of the same paths that are tried."""


def fanout_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of scatter and gather."""
    inward = problem.op.target == "root"
    ways = Ways.of(problem.quotient)
    ways = ways.reversed if inward else ways
    n = ways.ranks
    counts = [c for c in problem.piece_counts if c * (n - 1) <= _ROWS and c <= FEW_PIECES] or [1]
    for count in dict.fromkeys((*counts[:1], *counts[1 - _COUNTS :])):
        chunk_bytes = problem.size_bytes / problem.chunks(count)
        for name, targets in _orders(problem, ways, count).items():
            paths = timely_paths(ways, problem.root, targets, chunk_bytes, backwards=inward)
            yield _plan(problem, ways, name, paths)


def _plan(problem: Problem, ways: Ways, name: str, paths: Sequence[Path]) -> Plan:
    """Return paths from the root as a plan, in the best order that was found."""
    count, inward = len(paths) // (ways.ranks - 1), problem.op.target == "root"
    name = f"paths that arrive first, {name}"
    chunk_bytes = problem.size_bytes / problem.chunks(count)
    rows = rows_of([Piece(path.ranks[0], _hops(path.ranks), name) for path in paths])
    shop = shop_of(rows, ways, chunk_bytes)
    begins = [begin for path in paths for begin in path.begin_s]
    if inward:
        pieces = [Piece(path.ranks[-1], _hops(path.ranks[::-1]), name, path.ranks[0]) for path in paths]
        tried = [mirrored(Timed(rows, Timing(begins, 0.0), shop), reduces=False)]
    else:
        pieces = [Piece(path.ranks[0], _hops(path.ranks), name, path.ranks[-1]) for path in paths]
        tried = [sequenced(rows, shop, begins), listed(rows, shop, len(paths))]
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
