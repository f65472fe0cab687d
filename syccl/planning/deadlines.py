"""Plans of broadcast and reduce where latency counts: trees on a timetable for a deadline a little above the bound.

Few pieces show which deadline can be kept; for this one plans are made.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.planning.field import Field
from syccl.planning.problem import Plan, Problem
from syccl.sketch.timely import Goal, timely_trees
from syccl.sketch.timetable import Timetable, timetable
from syccl.sketch.ways import Ways
from syccl.solve.forest import Forest, in_mirrored_order, shop_of, turned
from syccl.solve.list_schedule import tails
from syccl.solve.timing import Rows, Timed
from syccl.solve.urge import urged

Floats = NDArray[np.float64]

_ROWS_OF_LIST = 8_500
"""Transfers of the longest plan."""
_PASSES = 3
_ROWS_FIRST, _PIECES_FIRST = 2_048, 64
"""Transfers and pieces of a plan that tells how much time is needed."""
_EFFORT = 400_000
"""Arcs of all pieces that are looked at to route them once."""
_RANK_COST = 30
"""What a rank costs beside, in arcs."""
_FEWEST_PIECES, _MOST_PIECES = 8, 128
_DEADLINES = (1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.45)
"""In bounds."""
_FEW_ARCS, _DEADLINES_OF_MANY_HOPS = 0.75, (1.05, 1.25)
"""Share of all pairs of ranks with arcs below which pieces take many hops, and deadlines, in bounds, for these."""
_EXCESS = 0.02
"""Share of the loads above which links have no time for them: few pieces fit worse than many."""
_NEAR_ENOUGH = 1.05
_SOON = 2.5
"""Below this many latency bounds, detours between islands can be worth it, and sums are tried with links taken late:
backwards in time, transfers of different latencies that started together do not."""
_ROWS_TIMED = 40_000
"""Transfers that are timed to find an order for one plan."""
_PLANNED = 0.6
"""Weight of planned starts in priorities, beside the time that is left to do after a transfer."""


def deadline_plans(field: Field, best_s: float) -> Iterator[Plan]:
    """Yield plans of trees that are grown for a deadline, if one can be kept that is shorter than a time in seconds."""
    problem = field.problem
    ways = field.ways if _is_soon(problem) and _most_pieces(field.ways) >= _FEWEST_PIECES else field.near
    most = _most_pieces(ways)
    counts = field.counts(_ROWS_OF_LIST)
    deadlines = [share for share in _DEADLINES if share * problem.bound_s < best_s]
    if not deadlines:
        return
    if most >= _FEWEST_PIECES:
        for plan in _on_timetables(field, ways, [count for count in counts if count <= most] or [1], deadlines):
            best_s = min(best_s, plan.seconds)
            yield plan
    if best_s > _NEAR_ENOUGH * problem.bound_s and _arcs(ways) < _FEW_ARCS * ways.ranks * (ways.ranks - 1):
        for share in _DEADLINES_OF_MANY_HOPS[: 2 if most >= _FEWEST_PIECES else 1]:
            goal = _goal(field, counts[-1], share, passes=_PASSES)
            trees = timely_trees(field.ways, problem.root, goal)
            yield field.listed("trees for a deadline", Forest(problem.root, trees, range(counts[-1])))


def _is_soon(problem: Problem) -> bool:
    """Return whether all has to be there within few latencies."""
    return problem.bound_s < _SOON * problem.latency_s


def _arcs(ways: Ways) -> int:
    return int(np.isfinite(ways.latency_s).sum())


def _most_pieces(ways: Ways) -> int:
    """Return for how many pieces there is time."""
    return min(_MOST_PIECES, _EFFORT // (_arcs(ways) + _RANK_COST * ways.ranks))


def _on_timetables(field: Field, ways: Ways, counts: Sequence[int], deadlines: Sequence[float]) -> Iterator[Plan]:
    """Yield plans for the shortest deadline that links have time for, and for a shorter one where it is kept easily."""
    problem = field.problem
    first = min(_PIECES_FIRST, _ROWS_FIRST // (ways.ranks - 1))
    few = max((count for count in counts if count <= first), default=counts[0])
    place = bisect.bisect_left(deadlines, True, key=lambda share: _fits(field, ways, few, share))
    if place == len(deadlines) < len(_DEADLINES):
        # What there is already is faster than any deadline that could be kept.
        return
    place = min(place, len(deadlines) - 1)
    if place == 0:
        plan = _plan(field, ways, few, deadlines[0])
        yield plan
        if plan.seconds <= _NEAR_ENOUGH * problem.bound_s or counts[-1] == few:
            return
    plan = _plan(field, ways, counts[-1], deadlines[place])
    yield plan
    if problem.op.reduces and _is_soon(problem) and plan.seconds > _NEAR_ENOUGH * problem.bound_s:
        plan = _plan(field, ways, counts[-1], deadlines[place], at_end=True)
        yield plan
    shorter = [share for share in deadlines[:place] if share * problem.bound_s < plan.seconds]
    if shorter and plan.seconds < deadlines[place] * problem.bound_s:
        yield _plan(field, ways, counts[-1], shorter[-1])


def _fits(field: Field, ways: Ways, count: int, deadline: float) -> bool:
    """Return whether links have about enough time for some pieces up to a deadline in bounds."""
    return timetable(ways, field.problem.root, _goal(field, count, deadline, passes=1)).excess <= _EXCESS


def _goal(field: Field, count: int, deadline: float, *, passes: int) -> Goal:
    problem = field.problem
    deadline_s = deadline * problem.bound_s
    return Goal(count, field.chunk_bytes(count), deadline_s, passes)


def _plan(field: Field, ways: Ways, count: int, deadline: float, *, at_end: bool = False) -> Plan:
    """Return a plan of some pieces for a deadline in bounds; for ``at_end`` see `Roads.of`."""
    problem = field.problem
    goal = _goal(field, count, deadline, passes=_PASSES)
    table = timetable(ways, problem.root, goal, at_end=at_end)
    forest = Forest(problem.root, table.parents, range(count))
    name = "trees on a timetable" + (", links taken late" if at_end else "")
    pieces = forest.pieces(name, inward=problem.op.reduces)
    return Plan(name, pieces, count, _timed(field, forest, table, goal), problem.chunks(count))


def _timed(field: Field, forest: Forest, table: Timetable, goal: Goal) -> Timed:
    """Return the transfers of trees in the best order that was found; sums are also tried as the mirror of copies."""
    rows = forest.rows()
    start = table.start_s[rows.piece, rows.dst]
    tries = max(1, _ROWS_TIMED // (2 * max(1, len(rows.piece))))
    away = _ordered(field.ways, rows, start, goal, tries=tries)
    if not field.problem.op.reduces:
        return away
    arrival = start + (field.ways.uses(goal.chunk_bytes) + field.ways.latency_s)[rows.src, rows.dst]
    back = turned(rows, reduces=True)
    direct = _ordered(field.all_ways, back, (goal.deadline_s - arrival)[::-1], goal, tries=tries)
    return min((direct, in_mirrored_order(away, back)), key=lambda timed: timed.timing.makespan_s)


def _ordered(ways: Ways, rows: Rows, start_s: Floats, goal: Goal, *, tries: int) -> Timed:
    """Return transfers in the best order that was found, with planned starts and without; sums need more tries."""
    shop = shop_of(rows, ways, goal.chunk_bytes)
    rivals = shop_of(rows, ways, goal.chunk_bytes, only_queues=True)
    left = tails(rivals)
    mixed = [(1.0 - _PLANNED) * tail - _PLANNED * start for tail, start in zip(left, start_s.tolist(), strict=True)]
    planned = [-start for start in start_s.tolist()]
    by = ((left, 2 * tries), (planned, 1)) if rows.reduce[0] else ((left, tries), (mixed, tries))
    timings = [urged(shop, rivals, order, due_s=goal.deadline_s, tries=times) for order, times in by]
    return Timed(rows, min(timings, key=lambda timing: timing.makespan_s), shop)
