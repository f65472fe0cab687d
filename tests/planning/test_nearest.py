"""Plans of trees of least latency."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from syccl.planning.nearest import nearest_plans
from syccl.schedule.verify import verify_schedule
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of, scheduled
from tests.strategies import RATE, cables, mesh, ring, topologies


def line(n: int) -> Topology:
    return Topology("line", mesh(n).nodes, cables([(i, i + 1) for i in range(n - 1)], RATE))


@pytest.mark.parametrize("op", ENGINE_OPS)
@settings(max_examples=8)
@given(topology=topologies(max_gpus=6))
def test_plans_are_right_on_any_cluster(topology: Topology, op: str) -> None:
    problem, _ = problem_of(topology, op, 64 * topology.ranks)
    plans = nearest_plans(problem)
    assert plans
    for plan in plans[-2:]:
        assert verify_schedule(scheduled(problem, plan)) == (), plan.name
        assert plan.seconds >= problem.bound_s * (1 - 1e-9)


@pytest.mark.parametrize("n", [2, 3, 6, 7, 10])
def test_allreduce_on_a_line_takes_as_many_hops_as_its_ends_are_apart(n: int) -> None:
    problem, _ = problem_of(line(n), "allreduce", 1 << 10)
    best = min(nearest_plans(problem), key=lambda plan: plan.seconds)
    assert problem.bound_s * (1 - 1e-9) <= best.seconds <= 1.02 * problem.bound_s
    assert ("two ranks" in best.name) == (n % 2 == 0)


def test_pieces_spread_over_paths_of_equal_latency() -> None:
    problem, _ = problem_of(ring(4), "allgather", 4 << 10)
    plans = {plan.count: plan for plan in nearest_plans(problem)}
    middle = [{hop.src for hop in piece.hops if hop.stage == 1} for piece in plans[2].pieces]
    assert middle[0] != middle[1]
