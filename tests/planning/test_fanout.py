from __future__ import annotations

import pytest

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.schedule.verify import verify_schedule
from syccl.topology.catalog import load_topology
from tests.strategies import one_switch, ring

KIB = 1 << 10


def made_of(topology, op: str, size_bytes: int, *, root: int = 0):
    made = synthesize(topology, op_named(op), Options(size_bytes=size_bytes, want_program=False), root=root)
    assert verify_schedule(made.schedule) == ()
    assert made.bound.seconds <= made.schedule_time_s * (1 + 1e-9)
    return made


@pytest.mark.parametrize("size_kib", [1, 64, 256, 1024, 4096, 65536])
@pytest.mark.parametrize("op", ["scatter", "gather"])
def test_parts_arrive_near_the_bound_at_every_size(op, size_kib):
    made = made_of(load_topology("a100x32"), op, size_kib * KIB, root=9)
    assert made.schedule_time_s <= 1.04 * made.bound.seconds


@pytest.mark.parametrize("op", ["scatter", "gather"])
@pytest.mark.parametrize("topology", [one_switch(6), ring(5)])
def test_every_root_serves_small_clusters(topology, op):
    times = [made_of(topology, op, 1024 * KIB, root=root).schedule_time_s for root in range(topology.ranks)]
    assert max(times) <= 1.05 * min(times)
