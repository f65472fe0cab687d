from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS, Demand
from syccl.errors import InternalError
from syccl.schedule import Schedule, expand
from syccl.simulate.schedule_time import schedule_time
from syccl.topology import Kind, Link, Node, Topology
from tests.schedule import tiny

M = 10**6
"""Bytes of a chunk; a link of the tiny topologies takes 1 ms for it."""
T, ALPHA = 1e-3, 1e-6


def seconds(schedule: Schedule, chunk_bytes: int = M) -> float:
    return schedule_time(schedule, size_bytes=chunk_bytes * schedule.demand.chunks).seconds


def test_one_link_takes_latency_plus_bytes_over_bandwidth() -> None:
    result = schedule_time(tiny.chain_broadcast(2, 1), size_bytes=M)
    assert result.seconds == pytest.approx(ALPHA + T, rel=1e-12)
    assert result.start_s.tolist() == [0.0]
    assert result.finish_s.tolist() == [result.seconds]
    assert result.link_busy_s == pytest.approx([T, 0.0])
    assert result.bottleneck == 0


def test_a_route_costs_its_slowest_link_and_all_its_latencies() -> None:
    nodes = (Node("a", Kind.GPU), Node("s", Kind.SWITCH), Node("b", Kind.GPU))
    topology = Topology("two", nodes, (Link(0, 1, 10**9, 10**6), Link(1, 2, 5 * 10**8, 3 * 10**6)))
    schedule = tiny.schedule_of(topology, Demand(OPS["broadcast"], 2, 1), [(0, 0, 1, False, 0, 0)])
    result = schedule_time(schedule, size_bytes=M)
    assert result.seconds == pytest.approx(4 * ALPHA + 2 * T, rel=1e-12)
    assert result.link_busy_s == pytest.approx([T, 2 * T])
    assert result.bottleneck == 1


@pytest.mark.parametrize(("ranks", "chunks"), [(2, 5), (4, 3), (6, 8)])
def test_a_chain_pipelines_its_chunks(ranks: int, chunks: int) -> None:
    expected = (ranks - 1) * (ALPHA + T) + (chunks - 1) * T
    assert seconds(tiny.chain_broadcast(ranks, chunks)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [tiny.star_allgather, tiny.star_reducescatter, tiny.star_alltoall])
def test_a_star_on_a_switch_pays_latency_once(make) -> None:
    assert seconds(make(6)) == pytest.approx(2 * ALPHA + 5 * T, rel=1e-12)


def test_ring_allgather_and_allreduce_pay_every_step() -> None:
    assert seconds(tiny.ring_allgather(5)) == pytest.approx(4 * (ALPHA + T), rel=1e-12)
    assert seconds(tiny.ring_allreduce(5)) == pytest.approx(8 * (ALPHA + T), rel=1e-12)


def test_both_directions_of_a_torus_ring_run_at_once() -> None:
    result = schedule_time(tiny.two_way_ring_allgather(6), size_bytes=12 * M)
    assert result.seconds == pytest.approx(5 * (ALPHA + T), rel=1e-12)
    assert result.link_busy_s == pytest.approx([5 * T] * 12)


def test_copies_of_one_transfer_share_a_nic_evenly() -> None:
    topology = tiny.shared_nic_topology()
    demand = Demand(OPS["alltoall"], 4, 4)
    rows = [(2, 0, 2, False, 0, 7), (7, 1, 3, False, 0, 7)]
    result = schedule_time(tiny.schedule_of(topology, demand, rows), size_bytes=4 * M)
    assert result.finish_s == pytest.approx([4 * ALPHA + 2 * T] * 2, rel=1e-12)
    apart = [(2, 0, 2, False, 0, 7), (7, 1, 3, False, 0, 8)]
    result = schedule_time(tiny.schedule_of(topology, demand, apart), size_bytes=4 * M)
    assert result.finish_s == pytest.approx([4 * ALPHA + T, 4 * ALPHA + 2 * T], rel=1e-12)


def test_copies_wait_for_the_last_of_them() -> None:
    rows = [(0, 0, 1, False, 0, 0), (0, 1, 2, False, 1, 1), (1, 0, 1, False, 0, 1)]
    schedule = tiny.schedule_of(tiny.line_topology(3), Demand(OPS["broadcast"], 3, 2), rows)
    assert schedule_time(schedule, size_bytes=2 * M).start_s == pytest.approx([0, ALPHA + T, ALPHA + T], rel=1e-12)


def test_rows_of_one_stage_do_not_wait_for_each_other() -> None:
    assert seconds(tiny.doubling_allreduce(8)) == pytest.approx(3 * (2 * ALPHA + T), rel=1e-12)


@pytest.mark.parametrize("name", tiny.COMPRESSED)
def test_compressed_and_explicit_forms_agree(name: str) -> None:
    compressed = tiny.COMPRESSED[name]()
    explicit = expand(compressed)
    short, long = (schedule_time(s, size_bytes=997 * s.demand.chunks) for s in (compressed, explicit))
    copies = compressed.order_of_symmetry
    assert long.seconds == pytest.approx(short.seconds, rel=1e-12)
    assert long.start_s == pytest.approx(np.repeat(short.start_s, copies), rel=1e-12)
    assert long.finish_s == pytest.approx(np.repeat(short.finish_s, copies), rel=1e-12)
    assert long.link_busy_s == pytest.approx(short.link_busy_s, rel=1e-12)
    assert long.bottleneck == short.bottleneck


@given(st.randoms(use_true_random=False), st.integers(3, 6))
def test_compressed_and_explicit_forms_agree_for_any_tree(random, ranks: int) -> None:
    topology, chunks = tiny.shared_nic_topology(ranks), 2 * ranks
    step = np.array([(i + 4) % (4 * ranks) for i in range(4 * ranks)] + [4 * ranks], dtype=np.int32)
    group = tiny.Group.generated(topology, (step,))
    images = [[(c + 2 * e) % chunks for c in range(chunks)] for e in range(ranks)]
    symmetry = tiny.Symmetry(group, np.array(images, dtype=np.int32))
    rows: list[tiny.Row] = []
    for chunk in (0, 1):
        depth = {chunk: 0}
        for rank in random.sample(sorted(set(range(2 * ranks)) - {chunk}), 2 * ranks - 1):
            parent = random.choice(sorted(depth))
            depth[rank] = depth[parent] + 1
            shift = 2 * random.randrange(ranks)
            image = [(value + shift) % chunks for value in (chunk, parent, rank)]
            rows.append((*image, False, depth[parent], 2 * len(depth) + chunk))
    compressed = tiny.schedule_of(topology, Demand(OPS["allgather"], 2 * ranks, chunks), rows, symmetry)
    short, long = (schedule_time(s, size_bytes=997 * chunks) for s in (compressed, expand(compressed)))
    assert long.finish_s == pytest.approx(np.repeat(short.finish_s, ranks), rel=1e-12)
    assert long.link_busy_s == pytest.approx(short.link_busy_s, rel=1e-12)


def test_time_is_never_below_any_link_or_chain() -> None:
    for make in (tiny.COMPRESSED | tiny.EXPLICIT).values():
        result = schedule_time(make(), size_bytes=M)
        assert result.seconds > result.link_busy_s.max()
        assert (result.finish_s > result.start_s).all()


def test_nothing_to_send_takes_no_time() -> None:
    topology = Topology("one", (Node("g", Kind.GPU),), ())
    empty = tiny.schedule_of(topology, Demand(OPS["allreduce"], 1, 1), [])
    result = schedule_time(empty, size_bytes=M)
    assert result.seconds == 0.0
    assert result.bottleneck is None


@pytest.mark.parametrize("order", [0, -1])
def test_an_order_against_the_data_is_our_bug(order: int) -> None:
    schedule = tiny.altered(tiny.ring_allgather(4), 1, order=order)
    for form in (schedule, expand(schedule)):
        with pytest.raises(InternalError, match=r"1->2\) has order"):
            schedule_time(form, size_bytes=M)


def test_a_permutation_that_does_not_keep_links_is_our_bug() -> None:
    schedule = tiny.star_allgather(3)
    group = tiny.Group(schedule.topology, (np.array([3, 1, 2, 0], dtype=np.int32),), schedule.symmetry.group.elements)
    broken = replace(schedule, symmetry=tiny.Symmetry(group, schedule.symmetry.chunks))
    with pytest.raises(InternalError, match="does not keep its links"):
        schedule_time(broken, size_bytes=M)


def test_sixteen_thousand_rows_are_timed_quickly() -> None:
    schedule = expand(tiny.star_allgather(126))
    rows = schedule.transfers
    shuffled = np.argsort(np.arange(len(rows)) * 7919 % len(rows)).astype(np.int32)
    begin = time.process_time()
    schedule_time(replace(schedule, transfers=replace(rows, order=shuffled)), size_bytes=M)
    assert time.process_time() - begin < 1.0


def test_a_rail_fabric_is_timed_in_the_quotient() -> None:
    schedule = tiny.rail_allreduce(16, 8)
    result = schedule_time(schedule, size_bytes=128 * M)
    assert result.finish_s.shape == (254,)
    assert result.link_busy_s.max() == pytest.approx(2 * 112 * T)
    assert result.seconds == pytest.approx(schedule_time(expand(schedule), size_bytes=128 * M).seconds, rel=1e-12)
