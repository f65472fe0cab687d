"""Better priorities."""

from __future__ import annotations

import pytest

from syccl.planning.staged import staged_plans
from syccl.solve.list_schedule import JobShop, list_schedule
from syccl.solve.polish import backwards, polished
from tests.problems import problem_of
from tests.strategies import torus


def test_jobs_run_backwards_give_the_order_that_runs_them_forwards() -> None:
    # Two jobs on a link; only the second one has something to follow on another link.
    shop = JobShop([((0, 1.0),), ((0, 1.0),), ((1, 5.0),)], [0.0, 0.0, 0.0], [[], [], [1]])
    priority = backwards(shop)
    assert priority[1] > priority[0]
    assert list_schedule(shop, priority).makespan_s == pytest.approx(6.0)


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_polish_never_makes_a_plan_slower_and_keeps_waiting_for_inputs(op: str) -> None:
    problem, _ = problem_of(torus(4, 2), op, 256 << 10)
    for plan in staged_plans(problem):
        better = polished(plan.timed, plan.pieces, tries=5, good_enough_s=0.0)
        assert better.timing.makespan_s <= plan.seconds
        for job, before in enumerate(better.shop.after):
            assert all(better.arrival_s(i) <= better.timing.start_s[job] * (1 + 1e-12) for i in before)
        assert polished(plan.timed, plan.pieces, tries=5, good_enough_s=plan.seconds).timing == plan.timed.timing
