"""What is to be planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.planning.problem import MAX_CHUNKS, make_plan
from syccl.planning.trees import routed_plans
from syccl.sketch.model import Piece, out_tree
from tests.problems import problem_of
from tests.strategies import LATENCY_PS, RATE, mesh, one_switch, ring, torus, two_servers


@pytest.mark.parametrize("topology", [torus(2, 3), torus(3, 4), mesh(6), one_switch(5)], ids=lambda t: t.name)
@pytest.mark.parametrize("size_bytes", [12 << 10, 4 << 20])
def test_allreduce_is_cut_into_powers_of_two_that_divide_the_elements(topology, size_bytes: int) -> None:
    problem, _ = problem_of(topology, "allreduce", size_bytes)
    assert problem.piece_counts
    for count in problem.piece_counts:
        chunks = problem.chunks(count)
        assert chunks == count * problem.group.order
        assert chunks & (chunks - 1) == 0
        assert problem.elements % chunks == 0


@pytest.mark.parametrize("op", ["allgather", "reducescatter"])
def test_shards_are_cut_into_powers_of_two_that_divide_them(op: str) -> None:
    problem, _ = problem_of(torus(2, 3), op, 6 * 4 * 40)
    assert problem.piece_counts == (1, 2, 4, 8)
    assert [problem.chunks(count) for count in problem.piece_counts] == [6, 12, 24, 48]


def test_sizes_that_shards_never_meet_are_cut_by_any_power_of_two_but_never_into_less_than_elements() -> None:
    problem, _ = problem_of(mesh(3), "allgather", 3 * 4 * 5 + 4)
    assert problem.elements % 3
    assert problem.piece_counts == (1, 2, 4)


def test_where_latency_rules_few_pieces_are_enough() -> None:
    assert problem_of(one_switch(4), "allgather", 1 << 14)[0].piece_counts == (1, 2, 4, 8)
    assert max(problem_of(one_switch(4), "allgather", 1 << 26)[0].piece_counts) > 8


def test_chunks_stay_within_the_offsets_of_runtimes() -> None:
    problem, _ = problem_of(ring(2), "allgather", 1 << 30)
    assert max(map(problem.chunks, problem.piece_counts)) <= MAX_CHUNKS


def test_programs_limit_the_pieces_and_one_piece_is_always_tried() -> None:
    problem, _ = problem_of(one_switch(4), "allgather", 1 << 26)
    hops = 2 * 3 * 16
    assert replace(problem, most_hops=hops).piece_counts[-1] == 16
    assert replace(problem, most_hops=hops - 1).piece_counts[-1] == 8
    assert replace(problem, most_hops=1).piece_counts == (1,)


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_rows_are_the_hops_of_a_plan_of_trees(op: str) -> None:
    problem, _ = problem_of(two_servers(2, 3), op, 1 << 14)
    for plan in routed_plans(problem):
        assert sum(len(piece.hops) for piece in plan.pieces) == problem.rows(plan.count)


@pytest.mark.parametrize(
    ("topology", "grounds"),
    [(two_servers(4), 1), (one_switch(4), 1), (ring(5), 1), (two_servers(2, 3), 1), (two_servers(2, 1), 2)],
    ids=["alike", "switch", "ring", "unlike servers", "irregular"],
)
def test_irregular_islands_are_also_planned_without_islands(topology, grounds: int) -> None:
    problem, _ = problem_of(topology, "allgather", 1 << 14)
    assert len(problem.grounds) == grounds
    assert problem.grounds[0] is problem.ground
    assert len(problem.grounds[-1].islands) == (1 if grounds == 2 else len(problem.islands))


def test_a_plan_takes_the_time_of_its_list_schedule() -> None:
    problem, _ = problem_of(one_switch(5), "allgather", 1 << 20)
    star = Piece(0, out_tree(0, dict.fromkeys(range(1, 5), 0)), "star")
    plan = make_plan(problem, "two stars", (star, star), 2)
    assert plan.seconds == pytest.approx(4 * (1 << 20) / 5 / RATE + LATENCY_PS * 1e-12)
