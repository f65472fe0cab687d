"""Plans of staged sketches."""

from __future__ import annotations

import pytest

from syccl.planning.staged import staged_plans
from syccl.schedule.verify import verify_schedule
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of, scheduled
from tests.sketch.quotient_cases import rails
from tests.strategies import mesh, one_switch, ring, two_servers

CLUSTERS = {
    "switch": one_switch(4),
    "mesh": mesh(3),
    "servers": two_servers(2),
    "rails": rails(3, per_server=2),
    "unlike servers": two_servers(2, 3),
}


@pytest.mark.parametrize("op", ENGINE_OPS)
@pytest.mark.parametrize("name", CLUSTERS)
def test_sketches_alone_and_mixed_are_right(name: str, op: str) -> None:
    problem, _ = problem_of(CLUSTERS[name], op, 48 << 10)
    plans = staged_plans(problem)
    assert plans
    assert len({(plan.name, plan.count) for plan in plans}) == len(plans)
    for plan in plans:
        assert verify_schedule(scheduled(problem, plan)) == (), plan.name
        assert plan.seconds >= problem.bound_s * (1 - 1e-9)


def test_sketches_that_unlike_servers_cannot_follow_are_left_out() -> None:
    problem, _ = problem_of(two_servers(2, 3), "allreduce", 1 << 8)
    names = {plan.name for plan in staged_plans(problem) if plan.count == 1}
    assert "exchange, all to all" in names
    assert "all to all, exchange" not in names


@pytest.mark.parametrize("topology", [ring(5), ring(3, one_way=True)], ids=["ring", "one way"])
def test_clusters_without_joined_islands_have_none(topology: Topology) -> None:
    assert staged_plans(problem_of(topology, "allgather", 48 << 10)[0]) == []


def test_a_mix_has_as_many_pieces_of_each_sketch_as_its_name_says() -> None:
    problem, _ = problem_of(two_servers(4), "allgather", 1 << 16)
    for plan in staged_plans(problem):
        if plan.count > 1:
            said = {part.split(" x ")[1]: int(part.split(" x ")[0]) for part in plan.name.split(" + ")}
            kinds = [piece.kind for piece in plan.pieces]
            assert said == {kind: kinds.count(kind) // problem.roots for kind in set(kinds)}
            assert sum(said.values()) == plan.count
