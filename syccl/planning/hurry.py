"""Plans no longer than there is time for: what is left is planned with, and kept for the checks at the end."""

from __future__ import annotations

from dataclasses import replace

from syccl.clock import Clock
from syccl.planning.problem import Problem

_PLANNED_S = 2e-4
"""About what a hop takes to be routed, timed and stitched, on a machine of today."""
_CHECKED_S = 3e-5
"""About what a transfer takes to become steps of a program and to be verified."""
_SHARE = 0.7
"""Of the time left, what the first plan may take."""
_LEAST_S = 0.25
"""What it may take in any case: with less nearly every plan is a bad one."""


def hurried(problem: Problem, clock: Clock) -> tuple[Problem, Clock]:
    """Return the problem with plans that there is time for, and the clock of the search for them.

    That clock stops before the given one, so that there is time to verify what was found. Without a time limit both
    are returned as they are.
    """
    left_s = clock.left_s()
    if left_s is None or problem.quotient.ranks == 1:
        return problem, clock
    checked_s = 0.0 if problem.most_hops is None else _CHECKED_S * problem.group.order
    short = replace(problem, most_rows=int(max(_SHARE * left_s, _LEAST_S) / (_PLANNED_S + checked_s)))
    clock.hit |= short.piece_counts != short.all_piece_counts
    return short, clock.until(problem.rows(short.piece_counts[-1]) * checked_s)
