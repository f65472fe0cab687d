from __future__ import annotations

import pytest

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.schedule.verify import verify_schedule
from syccl.topology.catalog import load_topology
from tests.strategies import one_switch, ring, torus, two_servers

MIB = 1 << 20


def over_bound(topology, op: str, size_bytes: int, *, root: int = 0) -> float:
    made = synthesize(topology, op_named(op), Options(size_bytes=size_bytes, want_program=False), root=root)
    assert verify_schedule(made.schedule) == ()
    assert made.bound.seconds <= made.schedule_time_s * (1 + 1e-9)
    return made.schedule_time_s / made.bound.seconds


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
@pytest.mark.parametrize("name", ["dgx1-v100", "torus2d-4x4"])
def test_packed_trees_fill_the_links_at_large_sizes(name, op):
    assert over_bound(load_topology(name), op, 1024 * MIB, root=5) <= 1.02


@pytest.mark.parametrize("topology", [ring(5), one_switch(6), torus(3, 3), two_servers(4, 2)])
@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_small_clusters_are_near_the_bound_at_large_sizes(topology, op):
    assert over_bound(topology, op, 256 * MIB, root=1) <= 1.05


@pytest.mark.parametrize(
    ("name", "op", "kib", "root", "most"),
    [
        ("a100x32", "broadcast", 64, 13, 1.08),
        ("a100x32", "reduce", 16, 31, 1.08),
        ("h800x64", "reduce", 64, 20, 1.08),
        ("torus2d-4x4", "broadcast", 1, 3, 1.01),
        ("h100x8", "broadcast", 1024, 5, 1.10),
    ],
)
def test_trees_on_a_timetable_are_near_the_bound_where_latency_counts(name, op, kib, root, most):
    assert over_bound(load_topology(name), op, kib << 10, root=root) <= most


def test_sums_of_transfers_with_two_latencies_are_as_near_the_bound_from_every_root() -> None:
    topology = load_topology("a100x32")
    made = synthesize(topology, op_named("reduce"), Options(size_bytes=64 << 10, want_program=False), root=13)
    assert made.schedule_time_s < 1.08 * made.bound.seconds


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
@pytest.mark.parametrize("name", ["h800x64", "a100x32"])
def test_without_time_the_root_sends_all_only_as_often_as_there_are_levels(name, op):
    topology = load_topology(name)
    made = synthesize(topology, op_named(op), Options(64 * MIB, want_program=False, time_limit_s=0.0), root=5)
    assert verify_schedule(made.schedule) == ()
    levels = (topology.ranks - 1).bit_length()
    per_level_s = 64 * MIB / topology.link_rates.min() + made.bound.latency_s
    assert made.hit_time_limit
    assert made.schedule_time_s <= 2 * levels * per_level_s


@pytest.mark.parametrize(("op", "most"), [("reduce", 1.75), ("scatter", 1.05)])
def test_rooted_collectives_of_many_ranks(op, most):
    assert over_bound(torus(10, 13), op, 64 * MIB, root=7) <= most
