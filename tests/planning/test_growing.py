"""Plans for schedules alone that grow as far as it pays."""

from __future__ import annotations

import itertools

import pytest

from syccl.planning import Problem
from syccl.planning.growing import finer_plans, growing_plans
from syccl.planning.problem import Plan, make_plan
from syccl.planning.trees import structured_pieces
from syccl.schedule.verify import verify_schedule
from syccl.sketch.ground import Ground
from syccl.sketch.shape import Shape
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of, scheduled
from tests.strategies import cables, gpus, two_servers

SIZE = 1 << 30


def grid(rows: int, columns: int) -> Topology:
    """A mesh without links around its edges."""
    places = list(itertools.product(range(rows), range(columns)))
    pairs = [(a, b) for a, u in enumerate(places) for b, v in enumerate(places) if (v[0] - u[0], v[1] - u[1]) in STEPS]
    return Topology(f"grid {rows}x{columns}", gpus(rows * columns), cables(pairs))


STEPS = {(0, 1), (1, 0)}


def routed(problem: Problem, ground: Ground, count: int, shape: Shape) -> Plan:
    return make_plan(problem, f"routed {count}", structured_pieces(problem, ground, count, shape), count)


def grown(problem: Problem) -> list[Plan]:
    return list(growing_plans(problem, routed))


def test_trees_are_used_in_rounds_until_the_schedule_is_near_the_bound() -> None:
    problem, _ = problem_of(grid(4, 5), "allreduce", SIZE)
    *before, last = grown(problem)
    assert problem.gap(before[-1]) > 0.02
    assert problem.gap(last) <= 0.02
    assert last.name.endswith("in rounds")
    trees = last.count // before[-1].count
    assert last.pieces == before[-1].pieces * trees
    assert verify_schedule(scheduled(problem, last)) == ()


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_a_plan_that_is_near_the_bound_is_the_last(op: str) -> None:
    problem, _ = problem_of(grid(3, 3), op, SIZE)
    plans = grown(problem)
    assert all(problem.gap(plan) > 0.01 for plan in plans[:-1])
    assert problem.gap(plans[-1]) <= 0.02
    assert [plan.count for plan in plans] == sorted(plan.count for plan in plans)
    assert all(plan.count in problem.piece_counts for plan in plans)


def test_servers_use_no_tree_twice() -> None:
    problem, _ = problem_of(two_servers(3, 4), "allreduce", SIZE, symmetric=False)
    assert not any(plan.name.endswith("in rounds") for plan in grown(problem))


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_finer_plans_get_faster_and_are_right(op: str) -> None:
    problem, _ = problem_of(grid(3, 4), op, 1 << 20)
    plan = routed(problem, problem.ground, 4, Shape())
    finer = list(finer_plans(problem, plan))
    assert [one.count for one in finer] == [4 << i for i in range(1, len(finer) + 1)]
    times = [one.seconds for one in (plan, *finer[:-1])]
    assert times == sorted(times, reverse=True)
    for one in finer:
        assert verify_schedule(scheduled(problem, one)) == ()


def test_plans_near_the_bound_are_not_made_finer() -> None:
    problem, _ = problem_of(grid(3, 4), "allgather", SIZE)
    plan = routed(problem, problem.ground, 16, Shape())
    assert problem.gap(plan) < 0.03
    assert list(finer_plans(problem, plan)) == []
