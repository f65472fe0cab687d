from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.baselines.lanes import lane_wiring
from syccl.baselines.ring import ring_schedule
from syccl.collective import OPS, busbw_factor
from syccl.lowering.lower import lower, program_of
from syccl.lowering.lowered import Lowered
from syccl.program.targets import EXECUTOR
from syccl.program.verify import verify_program
from syccl.schedule import expand
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from tests.strategies import LATENCY_PS, RATE, damaged, one_switch, ring, symmetric_topologies, topologies, two_servers

SIMPLE = PROTOCOLS["Simple"]
RING_OPS = ("allgather", "reducescatter", "allreduce")


def ring_of(topology, op, instances=1):
    return ring_schedule(topology, OPS[op], islands(topology), group=find_group(topology), instances=instances)


@pytest.mark.parametrize("op", RING_OPS)
@pytest.mark.parametrize("topology", [one_switch(5), ring(5, one_way=True)], ids=["switch", "one-way ring"])
def test_one_ring_takes_as_long_as_its_closed_form(topology, op):
    size, n = 5 << 20, 5
    hop_s = size / n / RATE + LATENCY_PS * 1e-12
    steps = (n - 1) * (2 if op == "allreduce" else 1)
    made = ring_of(topology, op)
    assert made is not None
    assert schedule_time(made, size_bytes=size).seconds == pytest.approx(steps * hop_s)


@pytest.mark.parametrize("op", RING_OPS)
@pytest.mark.parametrize("name", ["a100x32", "h800x64", "h100x8", "dgx1-v100", "torus2d-4x4"])
def test_bundled_clusters_get_rings_that_verify_in_compressed_form(name, op):
    made = ring_of(load_topology(name), op)
    assert made is not None
    assert verify_schedule(made) == ()
    assert made.order_of_symmetry >= 4


@pytest.mark.parametrize("op", RING_OPS)
@pytest.mark.parametrize("name", ["a100x16", "dgx1-v100"])
def test_compressed_and_explicit_rings_verify_and_take_equally_long(name, op):
    made = ring_of(load_topology(name), op, instances=2)
    assert made is not None
    explicit = expand(made)
    assert verify_schedule(explicit) == ()
    times = [schedule_time(form, size_bytes=1 << 24).seconds for form in (made, explicit)]
    assert times[0] == pytest.approx(times[1])


def test_the_ring_of_four_servers_reaches_the_flat_ring_bound():
    topology, size = load_topology("a100x32"), 1 << 30
    made = ring_of(topology, "allreduce", instances=4)
    assert made is not None
    seconds = schedule_time(made, size_bytes=size).seconds
    assert size / seconds * busbw_factor(OPS["allreduce"], 32) / 1e9 == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize("op", RING_OPS)
@pytest.mark.parametrize(
    "topology", [load_topology("a100x16"), load_topology("dgx1-v100"), two_servers(4, 3)], ids=["a100", "dgx1", "4+3"]
)
def test_programs_of_rings_verify_and_run_as_lowered(topology, op):
    made, size = ring_of(topology, op, instances=2), 1 << 22
    assert made is not None
    wiring = lane_wiring(made.demand.chunks, made.demand.chunks // topology.ranks)
    lowered = lower(made, wiring, SIMPLE, EXECUTOR, size_bytes=size)
    assert isinstance(lowered, Lowered)
    program = program_of(lowered, SIMPLE, name="ring")
    assert verify_program(program, size_bytes=size) == ()
    assert simulate_program(program, topology, size_bytes=size).seconds == pytest.approx(lowered.seconds)


@pytest.mark.parametrize("op", RING_OPS)
@given(topology=st.one_of(topologies(max_gpus=6), symmetric_topologies(), damaged()))
def test_rings_verify_on_any_topology(op, topology):
    made = ring_of(topology, op)
    assert made is None or verify_schedule(made) == ()


def test_other_collectives_have_no_ring():
    assert ring_of(one_switch(4), "alltoall") is None
