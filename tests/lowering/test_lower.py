"""Wirings, limits, choice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from syccl.collective import OPS, Demand, op_named
from syccl.lowering.lower import lower, program_of, wirings
from syccl.lowering.lowered import Lowered, Unfit
from syccl.lowering.tasks import Wiring, ends_of
from syccl.pipeline import Options, synthesize
from syccl.program.targets import EXECUTOR
from syccl.schedule import Schedule
from syccl.simulate.cost import PROTOCOLS, THREAD_BLOCK_RATE
from syccl.topology.catalog import load_topology
from tests.lowering.made import SIZE, counts, lowered
from tests.schedule.tiny import (
    Row,
    chain_broadcast,
    doubling_allreduce,
    line_topology,
    rail_allreduce,
    ring_allgather,
    ring_allreduce,
    schedule_of,
    star_allgather,
    star_reducescatter,
)

SIMPLE = PROTOCOLS["Simple"]
WORDS = {
    "steps": "steps in a thread block",
    "blocks": "thread blocks",
    "channels": "channels",
    "peers": "peers on a channel",
    "awaited_blocks": "awaited thread blocks",
    "nodes": "XML elements",
    "chunks": "chunks",
}


def wired(schedule: Schedule, *, size_bytes: int = SIZE, about_s: float, target=EXECUTOR) -> tuple[Wiring, ...]:
    return wirings(schedule, SIMPLE, target, size_bytes=size_bytes, about_s=about_s)


@pytest.mark.parametrize("limit", WORDS)
@pytest.mark.parametrize(
    ("schedule", "wiring"),
    [
        (star_allgather(5), Wiring(2)),
        (star_reducescatter(4), Wiring(1)),
        (doubling_allreduce(4), Wiring(1)),
        (rail_allreduce(3, 2), Wiring(2, split=True)),
    ],
    ids=["gather", "scatter", "doubling", "rail"],
)
def test_limits_are_counted_as_the_program_has_them(schedule: Schedule, wiring: Wiring, limit: str) -> None:
    needed = counts(program_of(lowered(schedule, wiring), SIMPLE, name="test"))[limit]
    enough = replace(EXECUTOR, name="tiny", **{limit: needed})
    assert lowered(schedule, wiring, target=enough).target == enough
    if needed:
        short = replace(enough, **{limit: needed - 1})
        expected = Unfit(f"{needed} {WORDS[limit]}, tiny allows {needed - 1}")
        assert lower(schedule, wiring, SIMPLE, short, size_bytes=SIZE) == expected


def test_what_is_far_too_large_is_refused_before_it_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syccl.lowering.lower.dry_run", None)
    assert lower(star_allgather(6), Wiring(1), SIMPLE, replace(EXECUTOR, blocks=3), size_bytes=SIZE) == Unfit(
        "11 thread blocks, msccl-executor-nccl allows 3"
    )


def test_a_ring_whose_connections_hold_no_message_gets_stuck_and_is_given_up() -> None:
    schedule = ring_allgather(4)
    shallow = replace(SIMPLE, depth=0)
    assert isinstance(lower(schedule, Wiring(1), SIMPLE, EXECUTOR, size_bytes=SIZE), Lowered)
    stuck = lower(schedule, Wiring(1), shallow, EXECUTOR, size_bytes=SIZE)
    assert stuck == Unfit("deadlock in the dry run", is_stuck=True)


def test_chunks_that_exceed_a_message_loop() -> None:
    once = lowered(star_allgather(4), size_bytes=4 * SIMPLE.message_bytes)
    twice = lowered(star_allgather(4), size_bytes=8 * SIMPLE.message_bytes)
    assert twice.seconds == pytest.approx(2 * once.seconds, rel=0.02)


def test_a_connection_gets_as_many_channels_as_its_bytes_need() -> None:
    schedule = star_allgather(4)
    message = SIZE / 4
    for rate, channels in ((0.5, 1), (0.9, 2), (1.9, 4), (3.0, 4), (3.5, 8)):
        about = message / (rate * THREAD_BLOCK_RATE)
        assert {channels, 2 * channels} <= {w.channels for w in wired(schedule, about_s=about)}


def test_short_programs_are_tried_on_more_channels() -> None:
    schedule = star_allgather(4)
    assert [w.channels for w in wired(schedule, about_s=1e-5, size_bytes=4096)] == [1, 2, 4, 4]
    assert [w.channels for w in wired(schedule, about_s=1e-3, size_bytes=4096)] == [1, 2, 2]


def test_long_connections_get_channels_enough_for_their_steps() -> None:
    schedule = chain_broadcast(2, 200)
    assert [w.channels for w in wired(schedule, about_s=1.0)] == [4, 8, 8]


def test_an_order_by_urgency_is_tried_too_where_ranks_are_unlike() -> None:
    assert [w.urgent for w in wired(star_allgather(4), about_s=1.0)] == [False, False, True]
    assert [w.urgent for w in wired(star_allgather(5), about_s=1.0)] == [False, False]


def test_what_most_is_still_to_come_after_goes_first() -> None:
    """Chunk 1 stops at rank 1 and is first in the schedule; chunk 0 goes on to rank 3."""
    demand = Demand(OPS["scatter"], 4, 4)
    rows: list[Row] = [(1, 0, 1, False, 0, 0), (3, 0, 1, False, 0, 1), (3, 1, 2, False, 1, 2), (3, 2, 3, False, 2, 3)]
    rows += [(2, 0, 1, False, 0, 4), (2, 1, 2, False, 1, 5)]
    schedule = schedule_of(line_topology(4), demand, rows)
    for urgent, chunks in ((False, [1, 3, 2]), (True, [3, 2, 1])):
        made = lowered(schedule, Wiring(1, urgent=urgent))
        numbers = next(order for order in made.run.order if made.tasks[order[0]].block[:2] == (0, 1))
        assert [int(schedule.transfers.chunk[made.tasks[i].row_out]) for i in numbers] == chunks


def test_sums_and_copies_are_split_only_where_messages_loop() -> None:
    large = 8 * 4 * SIMPLE.message_bytes
    slow = large / 1e8
    assert [w.split for w in wired(ring_allreduce(4), size_bytes=large, about_s=slow)] == [False, False, False, True]
    assert not any(w.split for w in wired(ring_allreduce(4), about_s=slow))
    assert not any(w.split for w in wired(ring_allgather(4), size_bytes=large, about_s=slow))


@pytest.mark.parametrize("blocks", [6, 12, 13, 24, 25, 100])
@pytest.mark.parametrize("make", [star_allgather, star_reducescatter], ids=["allgather", "reducescatter"])
def test_wirings_fit_the_multiprocessors(make, blocks: int) -> None:
    schedule, target = make(4), replace(EXECUTOR, blocks=blocks)
    found = wired(schedule, about_s=1.0, target=target)
    assert found
    for wiring in found:
        made = lower(schedule, wiring, SIMPLE, target, size_bytes=SIZE)
        if isinstance(made, Unfit):
            assert len(found) == 1
            continue
        assert counts(program_of(made, SIMPLE, name="test"))["blocks"] <= blocks
    assert len([wiring for wiring in found if not wiring.urgent]) == (2 if blocks >= 13 else 1)


def test_own_chunks_are_copied_by_blocks_enough() -> None:
    schedule = star_allgather(4)
    share_s = SIZE / 4 / THREAD_BLOCK_RATE
    assert {w.copy_blocks for w in wired(schedule, about_s=100 * share_s)} == {1}
    assert {w.copy_blocks for w in wired(schedule, about_s=2 * share_s)} == {1}
    assert {w.copy_blocks for w in wired(schedule, about_s=share_s)} == {2}
    assert {w.copy_blocks for w in wired(star_reducescatter(4), about_s=share_s)} == {1}


def test_the_quotient_is_lowered_as_fast_as_the_whole() -> None:
    from syccl.schedule import expand

    schedule = rail_allreduce(3, 2)
    assert lowered(schedule).seconds == pytest.approx(lowered(expand(schedule)).seconds, rel=0.05)


def test_connections_of_a_damaged_cluster_have_channels_for_their_own_work() -> None:
    topology, size_bytes = load_topology("a100x16", without=("nic:server0.nic0",)), 8 << 20
    made = synthesize(topology, op_named("allgather"), Options(size_bytes, want_program=True))
    for blocks in (108, 90):
        target = replace(EXECUTOR, blocks=blocks)
        wiring = wired(made.schedule, size_bytes=size_bytes, about_s=made.schedule_time_s, target=target)[0]
        ends = ends_of(made.schedule, wiring)
        rows = Counter(zip(ends.sender, ends.sender_peer, strict=True))
        assert max(rows.values()) > 2 * min(rows.values())
        channels = {end: set[int]() for end in rows}
        for rank, peer, channel in zip(ends.sender, ends.sender_peer, ends.sender_channel, strict=True):
            channels[rank, peer].add(channel)
        assert {(*end, len(used)) for end, used in channels.items()} == set(wiring.own)
        low = lower(made.schedule, wiring, SIMPLE, target, size_bytes=size_bytes)
        assert isinstance(low, Lowered), low
        assert counts(program_of(low, SIMPLE, name="test"))["blocks"] <= blocks
