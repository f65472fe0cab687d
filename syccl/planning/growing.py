"""Plans for schedules alone that grow only as far as it pays.

What a plan lacks to the bound has two parts: links that are loaded unevenly, which more trees mend, and links that
are idle before the first data arrives and after the last one has left, which shrinks as pieces do. The second part
needs no new trees: the trees of a plan are used again, round after round, for smaller and smaller pieces.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from syccl.planning.problem import MAX_CHUNKS, Plan, Problem, make_plan
from syccl.sketch.ground import Ground
from syccl.sketch.shape import Shape

_ROWS_AT_FIRST, _ROWS_OF_RANKS_AT_FIRST, _ROWS_OF_SUMS_AT_FIRST = 12_000, 1_500, 6_000
"""Plans begin with so many hops; with one of the smaller numbers where trees are grown rank by rank."""
_CLOSE_ENOUGH, _CLOSE_ENOUGH_OF_RANKS = 0.045, 0.01
"""Plans grow until a schedule is this near to the bound, likewise."""
_UNEVEN = 0.008
"""Unevenness of loads that more trees are to mend."""
_CLOSE_ENOUGH_IN_ROUNDS = 0.017
"""Plans are not repeated in more rounds when a schedule is this near to the bound."""

_ROWS_OF_FINER, _FAR, _GAIN = 8_500, 0.03, 0.003
"""Where latency counts, hops of the longest plan in rounds, the gap to the bound from which on rounds are tried, and
what twice as many must gain to go on."""


def growing_plans(problem: Problem, routed: Callable[[Problem, Ground, int, Shape], Plan]) -> Iterator[Plan]:
    """Yield plans of more and more pieces until one is near the bound.

    The shape that was best with few pieces is kept.

    Parameters
    ----------
    routed
        Routes the trees of a plan one by one, for a ground, a number of pieces and a shape.
    """
    by_ranks = not all(problem.ground.is_star)
    close = _CLOSE_ENOUGH_OF_RANKS if by_ranks else _CLOSE_ENOUGH
    at_first = _ROWS_OF_SUMS_AT_FIRST if problem.sums_everywhere else _ROWS_OF_RANKS_AT_FIRST
    counts = _counts(problem, at_first if by_ranks else _ROWS_AT_FIRST)
    turns = problem.sums_everywhere and problem.joins_servers
    ways = list(itertools.product(problem.grounds, (Shape(), Shape(by_turns=True)) if turns else (Shape(),)))
    position = 0
    most = max(i for i, count in enumerate(counts) if not i or problem.rows(count) <= problem.longest_routed)
    while True:
        plans: list[Plan] = []
        for ground, shape in ways:
            if all(problem.gap(plan) > close for plan in plans):
                plans.append(routed(problem, ground, counts[position], shape))
                yield plans[-1]
        best = min(plans, key=lambda plan: plan.seconds)
        gap, uneven = problem.gap(best), _unevenness(problem, best)
        if gap <= close:
            return
        more = min(_next(counts, position, gap / close), most)
        if more <= position or (by_ranks and uneven < _UNEVEN):
            break
        ways, position = [ways[plans.index(best)]], more
    if by_ranks:
        yield from _repeated(problem, best)


def finer_plans(problem: Problem, plan: Plan) -> Iterator[Plan]:
    """Yield plans that use the trees of a plan twice, four times and so on, while that helps and they stay short."""
    most = _ROWS_OF_FINER if problem.most_rows is None else min(_ROWS_OF_FINER, problem.most_rows)
    best, rounds = plan, 2
    while problem.gap(best) > (_FAR if best is plan else _CLOSE_ENOUGH_OF_RANKS):
        count = rounds * plan.count
        if problem.rows(count) > most or problem.chunks(count) > MAX_CHUNKS or not problem.cuts_evenly(count):
            return
        finer = make_plan(problem, _in_rounds(plan), plan.pieces * rounds, count)
        yield finer
        if finer.seconds > best.seconds * (1.0 - _GAIN):
            return
        best, rounds = finer, 2 * rounds


def _in_rounds(plan: Plan) -> str:
    return f"{plan.name}, in rounds"


def _counts(problem: Problem, rows: int) -> list[int]:
    """Return the numbers of pieces that make a plan of at least so many hops, ascending."""
    return [count for count in problem.piece_counts if problem.rows(count) >= rows] or [problem.piece_counts[-1]]


def _next(counts: list[int], position: int, factor: float) -> int:
    """Return the position of the number of pieces that is larger by a factor, or of the largest."""
    return min(len(counts) - 1, position + max(1, round(math.log2(factor))))


def _unevenness(problem: Problem, plan: Plan) -> float:
    """Return how much longer the busiest link takes than what is reachable, relative to that."""
    return plan.timed.shop.busiest_s / problem.reachable_s - 1.0


def _repeated(problem: Problem, plan: Plan) -> Iterator[Plan]:
    """Yield plans that use the trees of a plan round after round, until one is near the bound or as near as it gets."""
    counts = [count for count in problem.piece_counts if count >= plan.count]
    uneven, close, position, best = _unevenness(problem, plan), _CLOSE_ENOUGH_IN_ROUNDS, 0, plan
    while problem.gap(best) > close and position < len(counts) - 1:
        waiting = problem.gap(best) - uneven
        position = _next(counts, position, waiting / max(close - uneven, close / 4))
        rounds = counts[position] // plan.count
        best = make_plan(problem, _in_rounds(plan), plan.pieces * rounds, counts[position])
        yield best
