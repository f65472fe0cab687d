"""Plans of alltoall."""

from __future__ import annotations

import pytest

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.planning.exchange import exchange_plans
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay_findings
from syccl.schedule.verify import verify_schedule
from syccl.symmetry.automorphisms import find_group
from syccl.topology.catalog import load_topology
from tests.problems import posed, scheduled
from tests.strategies import one_switch, ring, torus, two_servers

ROUNDING = 1 + 1e-9
TOPOLOGIES = {"ring": ring(5), "switch": one_switch(4), "torus": torus(3, 3), "servers": two_servers(3, 2)}
ALLTOALL = op_named("alltoall")


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_programs_give_the_right_numbers_out_of_place(name):
    made = synthesize(TOPOLOGIES[name], ALLTOALL, Options(size_bytes=1 << 20))
    program = read_xml(write_xml(made.program), source="made")
    assert not program.in_place
    assert replay_findings(program, in_place=False) == ()
    assert made.bound.seconds <= made.schedule_time_s * ROUNDING


@pytest.mark.parametrize("name", ["a100x32", "h800x64", "torus2d-4x4", "dgx1-v100"])
@pytest.mark.parametrize("size", [64 << 20, 1 << 30])
def test_bundled_clusters_reach_the_bound_at_large_sizes(name, size):
    made = synthesize(load_topology(name), ALLTOALL, Options(size, want_program=False))
    assert made.schedule_time_s <= 1.01 * made.bound.seconds


@pytest.mark.parametrize("size", [1 << k for k in range(10, 21)])
def test_mixes_of_relays_reach_the_bound_on_rails_where_latency_counts(size):
    made = synthesize(load_topology("h800x64"), ALLTOALL, Options(size, want_program=False))
    assert made.schedule_time_s <= 1.01 * made.bound.seconds


def test_hundreds_of_ranks_are_planned_by_one_of_them():
    topology = load_topology("h800x512")
    problem = posed(topology, find_group(topology), op="alltoall", size_bytes=1 << 17)
    best = min(exchange_plans(problem), key=lambda plan: plan.seconds)
    assert best.seconds <= 1.01 * problem.bound_s
    assert {piece.root for piece in best.pieces} == {0}


@pytest.mark.parametrize("size", [1 << 12, 64 << 20])
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_plan_is_right(name, size):
    problem = posed(TOPOLOGIES[name], find_group(TOPOLOGIES[name]), op="alltoall", size_bytes=size)
    plans = list(exchange_plans(problem))
    assert plans
    for plan in plans:
        assert verify_schedule(scheduled(problem, plan)) == ()
        assert plan.seconds >= problem.bound_s * (1 - 1e-9)


def test_odd_numbers_of_pieces_are_for_schedules_alone():
    made = synthesize(load_topology("dgx1-v100"), ALLTOALL, Options(1 << 30, want_program=False))
    assert made.demand.chunks == 3 * 8
    assert synthesize(load_topology("dgx1-v100"), ALLTOALL, Options(1 << 30)).demand.chunks % 3


def test_paths_are_not_routed_one_by_one_where_those_of_a_flow_fill_the_links():
    topology = torus(3, 4)
    problem = posed(topology, find_group(topology), op="alltoall", size_bytes=1 << 30)
    plans = list(exchange_plans(problem))
    flows = {plan.count: plan for plan in plans if plan.name == "paths of a flow"}
    full = {count for count, plan in flows.items() if plan.timed.shop.busiest_s <= 1.002 * problem.bound_s}
    assert full
    assert full < flows.keys()
    assert {plan.count for plan in plans if plan.name != "paths of a flow"} == flows.keys() - full
    assert min(plan.seconds for plan in plans) <= 1.01 * problem.bound_s
