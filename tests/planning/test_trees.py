"""Plans of trees."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.clock import Clock
from syccl.planning import Plan, Problem
from syccl.planning.trees import SOLVED, combined_plans, routed_plans, solved_plans
from syccl.schedule.verify import verify_schedule
from syccl.solve.trees import Solver
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of, scheduled
from tests.sketch.quotient_cases import cube_mesh
from tests.strategies import RATE, cables, gpus, ring, torus, two_servers

SIZE = 4 * 15 * 1001 * 16
"""Bytes that only few powers of two cut evenly, so that few plans are made."""
IRREGULAR = {"unlike servers": two_servers(2, 3), "cube mesh": cube_mesh(), "torus": torus(2, 3)}


def busiest_s(problem: Problem, plan: Plan) -> float:
    """Seconds that the busiest link needs for what it carries."""
    quotient = problem.quotient
    kinds = [quotient.arc_class[hop.src, hop.dst] for piece in plan.pieces for hop in piece.hops]
    loads = quotient.class_weights[kinds].sum(axis=0) * problem.size_bytes / problem.chunks(plan.count)
    return float((loads / quotient.capacities).max())


def check(problem: Problem, plans: list[Plan]) -> None:
    for plan in plans:
        assert verify_schedule(scheduled(problem, plan)) == (), plan.name
        assert plan.seconds >= max(problem.bound_s, busiest_s(problem, plan)) * (1 - 1e-9)


@pytest.mark.parametrize("op", ENGINE_OPS)
@pytest.mark.parametrize("name", IRREGULAR)
def test_routed_plans_are_right_and_near_the_best_mix_of_trees(name: str, op: str) -> None:
    problem, _ = problem_of(IRREGULAR[name], op, SIZE)
    plans = list(routed_plans(problem))
    check(problem, plans)
    share = problem.size_bytes if op == "allreduce" else problem.size_bytes / problem.quotient.ranks
    best = min(busiest_s(problem, plan) for plan in plans)
    assert best <= 1.3 * problem.unit_s_per_byte * share


@pytest.mark.parametrize("op", ENGINE_OPS)
@pytest.mark.parametrize("name", IRREGULAR)
def test_a_combination_loads_no_link_more_than_the_best_routed_trees(name: str, op: str) -> None:
    problem, pricing = problem_of(IRREGULAR[name], op, SIZE)
    routed = list(routed_plans(problem))
    combined = combined_plans(problem, pricing, routed, Clock())
    check(problem, combined)
    for plan in combined:
        rivals = [busiest_s(problem, other) for other in routed if other.count == plan.count]
        assert busiest_s(problem, plan) <= min(rivals, default=np.inf) * (1 + 1e-9)


def test_small_sizes_are_not_combined() -> None:
    problem, pricing = problem_of(two_servers(2, 3), "allgather", 1 << 12)
    assert combined_plans(problem, pricing, list(routed_plans(problem)), Clock()) == []


@pytest.mark.parametrize("op", ENGINE_OPS)
@pytest.mark.parametrize("topology", [ring(5), two_servers(2, 3), torus(2, 3)], ids=["ring", "unlike servers", "torus"])
def test_solved_plans_are_right(topology: Topology, op: str) -> None:
    problem, _ = problem_of(topology, op, 1 << 14, symmetric=False)
    solver = Solver(0.1)
    plans = solved_plans(problem, list(routed_plans(problem)), solver)
    assert plans
    assert {plan.name for plan in plans} == {SOLVED}
    assert solver.solved + solver.reused > 0
    check(problem, plans)


def two_rings(latency_ps: int = 0) -> Topology:
    """Two rings of four GPUs with unlike cables, joined by two slow ones."""
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7), (4, 6)]
    inside = cables(pairs, 12 * RATE, latency_ps)
    return Topology("two rings", gpus(8), inside + cables([(0, 4), (2, 6)], RATE, latency_ps))


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_long_plans_stay_on_the_best_ground_where_little_is_left_to_gain(op: str) -> None:
    problem, _ = problem_of(two_rings(), op, 1 << 26, symmetric=False, most_hops=4000)
    assert problem.wants_many_rows
    assert len(problem.grounds) == 2
    plans = list(routed_plans(problem))
    counts = [plan.count for plan in plans]
    check(problem, plans)
    assert min(problem.gap(plan) for plan in plans if plan.count == counts[0]) <= 0.01
    assert max(counts) == counts[0] < problem.piece_counts[-1]
    assert [count for count in counts if counts.count(count) == 2] == [counts[0]] * 2
