from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.baselines.plans import closed_form_plans
from syccl.collective import OPS
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from tests.strategies import LATENCY_PS, RATE, damaged, one_switch, ring, symmetric_topologies, topologies
from tests.symmetry.clusters import servers

SIZE = 1 << 14
ALPHA_S = LATENCY_PS * 1e-12


def plans_of(topology, op, size_bytes=SIZE):
    return closed_form_plans(topology, OPS[op], islands(topology), size_bytes=size_bytes, group=find_group(topology))


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("allgather", {"direct", "net_first", "ring"}),
        ("reducescatter", {"direct", "net_first", "ring"}),
        ("allreduce", {"direct", "net_first", "local_net", "ring", "tree"}),
    ],
)
def test_clusters_of_servers_have_all_plans_and_all_verify(op, names):
    plans = plans_of(load_topology("a100x32"), op)
    assert set(plans) == names
    assert all(plan.maker == name for name, plan in plans.items())
    assert {name: verify_schedule(plan) for name, plan in plans.items()} == dict.fromkeys(names, ())


@pytest.mark.parametrize("op", ["allgather", "reducescatter"])
def test_direct_on_a_switch_sends_all_shards_one_after_the_other(op):
    plan = plans_of(one_switch(6), op)["direct"]
    expected = 5 * (SIZE / 6 / RATE) + ALPHA_S
    assert schedule_time(plan, size_bytes=SIZE).seconds == pytest.approx(expected)


def test_allreduce_on_a_switch_takes_its_closed_forms():
    plans = plans_of(one_switch(4), "allreduce")
    direct, two_steps = (schedule_time(plans[name], size_bytes=SIZE).seconds for name in ("direct", "local_net"))
    assert direct == pytest.approx(3 * SIZE / RATE + ALPHA_S)
    assert two_steps == pytest.approx(2 * (3 * SIZE / 4 / RATE + ALPHA_S))


def test_latencies_of_staged_plans_on_four_servers():
    topology = load_topology("a100x32")
    gather, reduce = plans_of(topology, "allgather", 32), plans_of(topology, "allreduce", 32)
    times = {name: schedule_time(plan, size_bytes=32).seconds * 1e6 for name, plan in (gather | reduce).items()}
    assert schedule_time(gather["direct"], size_bytes=32).seconds * 1e6 == pytest.approx(2.4, rel=0.01)
    assert schedule_time(gather["net_first"], size_bytes=32).seconds * 1e6 == pytest.approx(2.4 + 0.7, rel=0.01)
    assert times["local_net"] == pytest.approx(0.7 + 2.4 + 0.7, rel=0.02)


def test_reducescatter_takes_as_long_as_the_allgather_that_it_reverses():
    topology = load_topology("a100x32")
    gather, scatter = plans_of(topology, "allgather"), plans_of(topology, "reducescatter")
    for name in ("direct", "net_first"):
        times = [schedule_time(plans[name], size_bytes=SIZE).seconds for plans in (gather, scatter)]
        assert times[0] == pytest.approx(times[1], rel=0.01)


def test_unequal_servers_lack_the_plans_that_pair_ranks_off():
    topology = servers([7, 8], [0, 0])
    assert set(plans_of(topology, "allreduce")) == {"direct", "ring", "tree"}
    for op in ("allgather", "reducescatter"):
        plans = plans_of(topology, op)
        assert set(plans) == {"direct", "net_first", "ring"}
        assert all(verify_schedule(plan) == () for plan in plans.values())


def test_hops_that_do_not_exist_rule_a_plan_out():
    assert set(plans_of(ring(5), "allgather")) == {"ring"}
    assert plans_of(one_switch(4), "broadcast") == {}
    assert plans_of(ring(1), "allreduce") == {}


@given(
    topology=st.one_of(topologies(max_gpus=5), symmetric_topologies(), damaged()),
    op=st.sampled_from(["allgather", "reducescatter", "allreduce"]),
)
def test_plans_verify_on_any_topology(topology, op):
    for plan in plans_of(topology, op).values():
        assert verify_schedule(plan) == ()
