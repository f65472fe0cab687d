from __future__ import annotations

import pytest

from syccl.baselines import baseline_times
from syccl.baselines.lanes import copies_of, lane_wiring
from syccl.baselines.ring import ring_lanes, ring_schedule
from syccl.baselines.rings import find_rings
from syccl.collective import OPS, busbw_factor
from syccl.lowering.lower import lower
from syccl.lowering.lowered import Lowered
from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import plan_tasks
from syccl.program.targets import EXECUTOR
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.dry_run import dry_run
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from tests.strategies import ring, two_servers
from tests.symmetry.clusters import grid

SIMPLE = PROTOCOLS["Simple"]


def times_of(topology, op, size_bytes, *, with_group=True):
    group = find_group(topology) if with_group else None
    return baseline_times(topology, OPS[op], islands(topology), size_bytes=size_bytes, protocol=SIMPLE, group=group)


@pytest.mark.parametrize(
    ("name", "flat_ring_gbps", "reached"),
    [
        ("a100x32", 100, 0.98),
        ("a800x32", 100, 0.98),
        ("h800x64", 8 * 200 / 7, 0.98),
        ("h100x8", 450, 0.9),
        ("dgx1-v100", 150, 0.95),
        ("torus2d-4x4", 200, 0.95),
    ],
)
@pytest.mark.parametrize("op", ["allgather", "allreduce"])
def test_rings_reach_the_flat_ring_bound_at_1_gib(name, flat_ring_gbps, reached, op):
    topology, size = load_topology(name), 1 << 30
    ring_us = times_of(topology, op, size)["ring_us"]
    busbw = size / ring_us * busbw_factor(OPS[op], topology.ranks) / 1e3
    assert reached * flat_ring_gbps <= busbw <= flat_ring_gbps * (1 + 1e-9)


def test_trees_beat_rings_between_two_servers_and_at_small_sizes_but_not_on_many_at_large():
    two, four = load_topology("a100x16"), load_topology("a100x32")
    assert (large := times_of(two, "allreduce", 64 << 20))["tree_us"] < large["ring_us"]
    assert (small := times_of(four, "allreduce", 64 << 10))["tree_us"] < small["ring_us"] / 2
    assert (large := times_of(four, "allreduce", 64 << 20))["ring_us"] < large["tree_us"]


@pytest.mark.parametrize("topology", [load_topology("dgx1-v100"), two_servers(4, 4)], ids=["dgx1", "two servers"])
def test_symmetries_change_speed_only(topology):
    size, op = 1 << 22, OPS["allgather"]
    made = ring_schedule(topology, op, islands(topology), group=find_group(topology))
    assert made is not None
    assert made.order_of_symmetry > 1
    times = times_of(topology, "allgather", size), times_of(topology, "allgather", size, with_group=False)
    assert times[0] == pytest.approx(times[1], rel=0.02)


@pytest.mark.parametrize("instances", [1, 2, 4])
@pytest.mark.parametrize("name", ["a100x16", "h100x8"])
def test_copies_take_as_long_as_all_lanes_laid_out(name, instances):
    topology, op, size = load_topology(name), OPS["allreduce"], 1 << 24
    group, parts = find_group(topology), islands(topology)
    rings = find_rings(topology, parts, group)
    assert rings is not None
    copies = copies_of(topology, rings.rate, instances)
    one = ring_lanes(topology, op, parts, group=group)
    assert one is not None
    tasks = plan_tasks(one.schedule, one.wiring)
    folded = dry_run(machine_of(one.schedule, tasks, SIMPLE, size_bytes=size, copies=copies))
    full = ring_schedule(topology, op, parts, group=group, instances=instances)
    assert full is not None
    assert full.demand.chunks == copies * one.schedule.demand.chunks
    wiring = lane_wiring(full.demand.chunks, copies * one.lanes)
    lowered = lower(full, wiring, SIMPLE, EXECUTOR, size_bytes=size)
    assert isinstance(lowered, Lowered)
    assert folded.seconds == pytest.approx(lowered.seconds)


def test_only_allreduce_has_a_tree():
    assert set(times_of(ring(4), "reducescatter", 1 << 20)) == {"ring_us"}


def test_nothing_is_said_where_there_is_no_ring():
    assert times_of(grid(1, 3), "allreduce", 1 << 20) == {}
