"""Plans of all sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.planning import account, find_plans
from syccl.planning.trees import SOLVED
from syccl.schedule.verify import verify_schedule
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of, scheduled
from tests.sketch.quotient_cases import gpu_mesh
from tests.strategies import one_switch, ring, two_servers


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_one_rank_has_nothing_to_send(op: str) -> None:
    found = find_plans(*problem_of(ring(1), op, 64))
    assert [(plan.name, plan.seconds, plan.pieces[0].hops) for plan in found.plans] == [("nothing to send", 0.0, ())]


@pytest.mark.parametrize("op", ENGINE_OPS)
@pytest.mark.parametrize("topology", [two_servers(2), two_servers(2, 3), ring(4, one_way=True)], ids=lambda t: t.name)
def test_plans_come_fastest_first_and_are_right(topology: Topology, op: str) -> None:
    problem, pricing = problem_of(topology, op, 1 << 16)
    plans = find_plans(problem, pricing).plans
    seconds = [plan.seconds for plan in plans]
    assert seconds == sorted(seconds)
    assert seconds[0] >= problem.bound_s * (1 - 1e-9)
    for plan in plans:
        assert verify_schedule(scheduled(problem, plan)) == ()


def test_progress_is_told() -> None:
    told: list[str] = []
    find_plans(*problem_of(two_servers(2, 3), "allgather", 1 << 12), progress=told.append)
    assert told[0].startswith("routing")
    assert "searching staged sketches" in told


def test_what_is_optimal_on_a_switch_is_not_given_to_solvers() -> None:
    problem, pricing = problem_of(one_switch(4), "allgather", 1 << 20)
    found = find_plans(problem, pricing)
    assert found.plans[0].seconds == pytest.approx(problem.bound_s)
    assert found.solver.solved == 0
    accounted = account(problem, found.plans[0], found.solver)
    assert accounted["sub_demands_closed_form"] == 1
    assert accounted["sub_demands_cp_sat"] == accounted["sub_demands_list_schedule"] == 0


def test_irregular_islands_are_given_to_the_constraint_program() -> None:
    problem, pricing = problem_of(ring(5), "allreduce", 1 << 12)
    found = find_plans(problem, pricing)
    assert found.solver.solved > 0
    solved = replace(found.plans[0], name=SOLVED)
    accounted = account(problem, solved, found.solver)
    assert accounted["sub_demands_cp_sat"] == found.solver.solved
    assert accounted["sub_demands_closed_form"] == accounted["sub_demands_list_schedule"] == 0


def test_plans_of_the_same_hops_compete_once() -> None:
    found = find_plans(*problem_of(one_switch(4), "allreduce", 1 << 12)).plans
    hops = [sorted(sorted(piece.hops) for piece in plan.pieces) for plan in found]
    assert all(hops[i] not in hops[:i] for i in range(len(hops)))


def test_trees_in_and_out_are_joined_better_than_one_after_the_other() -> None:
    cables = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]
    topology = gpu_mesh(5, [(a, b, 20.0) for a, b in cables])
    size = 256 << 20
    problem, pricing = problem_of(topology, "allreduce", size, symmetric=False)
    assert size / (pricing.dual_bound * size) / 1e9 == pytest.approx(20.0, rel=2e-3)
    best = find_plans(problem, pricing).plans[0]
    assert best.seconds <= 1.10 * pricing.dual_bound * size
