"""From transfers to tasks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from syccl.collective import OPS, Demand
from syccl.lowering.tasks import Block, Task, Wiring, ends_of, input_offset, output_offset, plan_tasks, wants
from syccl.program import Buffer, Slot, StepType
from syccl.schedule import Schedule, expand
from tests.schedule.tiny import (
    COMPRESSED,
    EXPLICIT,
    chain_broadcast,
    doubling_allreduce,
    line_topology,
    rail_allreduce,
    ring_allgather,
    ring_allreduce,
    schedule_of,
    star_allgather,
    star_reducescatter,
    switch_topology,
)


def kinds(tasks: tuple[Task, ...]) -> Counter[str]:
    return Counter(task.type.value for task in tasks)


def sends(tasks: tuple[Task, ...]) -> dict[int, Task]:
    return {task.row_out: task for task in tasks if task.row_out >= 0}


def receives(tasks: tuple[Task, ...]) -> dict[int, Task]:
    return {task.row_in: task for task in tasks if task.row_in >= 0}


@pytest.mark.parametrize("name", [*COMPRESSED, *EXPLICIT])
def test_each_row_is_sent_once_and_received_once(name: str) -> None:
    schedule = (COMPRESSED | EXPLICIT)[name]()
    for fuse in (False, True):
        tasks = plan_tasks(schedule, Wiring(2, fuse=fuse))
        rows = list(range(len(schedule.transfers)))
        assert sorted(task.row_out for task in tasks if task.row_out >= 0) == rows
        assert sorted(task.row_in for task in tasks if task.row_in >= 0) == rows


def test_only_representatives_get_tasks() -> None:
    schedule = star_allgather(5)
    assert {task.block.rank for task in plan_tasks(schedule, Wiring(1))} == {0}
    assert {task.block.rank for task in plan_tasks(expand(schedule), Wiring(1))} == {0, 1, 2, 3, 4}
    assert len(plan_tasks(expand(schedule), Wiring(1))) == 5 * len(plan_tasks(schedule, Wiring(1)))


def test_a_block_is_one_end_of_a_connection() -> None:
    tasks = plan_tasks(star_allgather(4), Wiring(1))
    assert kinds(tasks) == {"s": 3, "r": 3, "cpy": 1}
    assert {task.block for task in tasks if task.type is StepType.SEND} == {Block(0, p, -1, 0) for p in (1, 2, 3)}
    assert {task.block for task in tasks if task.type is StepType.RECV} == {Block(0, -1, p, 0) for p in (1, 2, 3)}


def test_what_is_received_goes_to_its_place_and_on_from_there() -> None:
    tasks = plan_tasks(ring_allgather(3), Wiring(1))
    first, second = (receives(tasks)[row] for row in (0, 1))
    assert (first.dst, second.dst) == (Slot(Buffer.OUTPUT, 2), Slot(Buffer.OUTPUT, 1))
    assert (sends(tasks)[0].src, sends(tasks)[1].src) == (Slot(Buffer.INPUT, 0), Slot(Buffer.OUTPUT, 2))
    assert sends(tasks)[1].after == (tasks.index(first),)


def test_forwarded_connections_are_fused() -> None:
    assert kinds(plan_tasks(ring_allgather(4), Wiring(1, fuse=True))) == {"s": 1, "rcs": 2, "r": 1, "cpy": 1}
    assert kinds(plan_tasks(ring_allreduce(4), Wiring(1, fuse=True))) == {
        "s": 1, "rrs": 2, "rrcs": 1, "rcs": 2, "r": 1,
    }  # fmt: skip
    assert {task.block for task in plan_tasks(ring_allreduce(4), Wiring(1, fuse=True))} == {Block(0, 1, 3, 0)}


def test_a_sum_that_is_added_to_later_is_stored_when_it_is_forwarded() -> None:
    # Rank 1 adds rank 0's part and swaps with rank 2; both pass the whole on to rank 0 or keep it.
    rows = [(0, 0, 1, True, 0, 0), (0, 1, 2, True, 1, 1), (0, 2, 1, True, 1, 2), (0, 1, 0, False, 2, 3)]
    schedule = schedule_of(line_topology(3), Demand(OPS["allreduce"], 3, 1), rows)
    tasks = plan_tasks(schedule, Wiring(1, fuse=True))
    assert receives(tasks)[0].type is StepType.RECV_REDUCE_COPY_SEND


def test_connections_with_several_readers_are_not_fused() -> None:
    rows = [(0, 0, 1, False, 0, 0), (0, 1, 2, False, 1, 1), (0, 1, 3, False, 1, 2)]
    schedule = schedule_of(switch_topology(4), Demand(OPS["broadcast"], 4, 1), rows)
    assert kinds(plan_tasks(schedule, Wiring(1, fuse=True))) == {"s": 3, "r": 3, "cpy": 1}


def test_rows_of_a_connection_are_dealt_over_the_channels() -> None:
    ends = ends_of(chain_broadcast(3, 4), Wiring(2))
    dealt = {}
    for sender, channel in zip(ends.sender, ends.sender_channel, strict=True):
        dealt.setdefault(sender, []).append(channel)
    assert dealt == {0: [0, 1, 0, 1], 1: [0, 1, 0, 1]}
    assert ends.sender_channel == ends.receiver_channel


@pytest.mark.parametrize("channels", [1, 2, 3, 8])
def test_a_connection_may_have_channels_of_its_own_number(channels: int) -> None:
    ends = ends_of(chain_broadcast(3, 8), Wiring(1, own=((0, 1, channels), (1, 2, 2))))
    used = {rank: [c for r, c in zip(ends.sender, ends.sender_channel, strict=True) if r == rank] for rank in (0, 1)}
    assert used == {0: [i % channels for i in range(8)], 1: [0, 1] * 4}
    assert ends.sender_channel == ends.receiver_channel


def test_sums_and_copies_have_channels_of_their_own_when_split() -> None:
    schedule = ring_allreduce(4)
    ends = ends_of(schedule, Wiring(2, split=True))
    for reduce, channel in zip(schedule.transfers.reduce.tolist(), ends.sender_channel, strict=True):
        assert channel in ({0, 1} if reduce else {2, 3})


def test_lanes_give_each_chunk_its_channel() -> None:
    schedule = chain_broadcast(3, 4)
    ends = ends_of(schedule, Wiring(lanes=(0, 1, 1, 2)))
    assert ends.sender_channel == [(0, 1, 1, 2)[chunk] for chunk in schedule.transfers.chunk.tolist()]


def test_both_ends_of_a_row_are_seen_from_representatives() -> None:
    schedule = rail_allreduce(3, 2)
    ends = ends_of(schedule, Wiring(1))
    assert set(ends.sender) == set(ends.receiver) == {0}
    full = expand(schedule).transfers
    images = set(zip(full.src.tolist(), full.dst.tolist(), full.chunk.tolist(), strict=True))
    for row in range(len(schedule.transfers)):
        assert (0, ends.sender_peer[row], ends.sender_chunk[row]) in images
        assert (ends.receiver_peer[row], 0, ends.receiver_chunk[row]) in images


def test_sums_into_one_place_share_a_lock_and_the_first_starts_from_the_input() -> None:
    tasks = plan_tasks(star_reducescatter(4), Wiring(1))
    sums = [task for task in tasks if task.type is StepType.RECV_REDUCE_COPY]
    assert len(sums) == 3
    assert {task.lock for task in sums} == {0}
    assert {(task.src, task.dst) for task in sums} == {(Slot(Buffer.INPUT, 0), Slot(Buffer.OUTPUT, 0))}


def test_a_single_sum_needs_no_lock() -> None:
    assert {task.lock for task in plan_tasks(ring_allreduce(4), Wiring(1))} == {-1}


def test_partial_sums_that_are_sent_on_lie_in_scratch() -> None:
    # Recursive doubling: each rank keeps what it sent until it is sent, so no two stages share a place.
    tasks = plan_tasks(doubling_allreduce(4), Wiring(1))
    sums = [task for task in tasks if task.type is StepType.RECV_REDUCE_COPY and task.block.rank == 0]
    assert [(task.src, task.dst) for task in sums] == [
        (Slot(Buffer.INPUT, 0), Slot(Buffer.SCRATCH, 0)),
        (Slot(Buffer.SCRATCH, 0), Slot(Buffer.OUTPUT, 0)),
    ]


def test_the_result_is_written_when_all_sends_of_the_input_are_over() -> None:
    # In place the output is the input, which stage 0 sends and stage 1 overwrites.
    tasks = plan_tasks(doubling_allreduce(4), Wiring(1))
    for rank in range(4):
        mine = [i for i, task in enumerate(tasks) if task.block.rank == rank]
        (last,) = [i for i in mine if tasks[i].dst.buffer is Buffer.OUTPUT and tasks[i].row_in >= 0]
        first_send = next(i for i in mine if tasks[i].src.buffer is Buffer.INPUT and tasks[i].row_out >= 0)
        assert first_send in tasks[last].after


def test_a_finished_copy_waits_for_all_sends_but_the_one_that_it_proves() -> None:
    # Rank 0 gives its part to 1 and 2, which both form the sum; 1 sends it back while 0 may still be sending to 2.
    rows = [
        (0, 0, 1, True, 0, 0), (0, 0, 2, True, 0, 1), (0, 1, 2, True, 0, 2), (0, 2, 1, True, 0, 3),
        (0, 1, 0, False, 1, 4),
    ]  # fmt: skip
    schedule = schedule_of(switch_topology(3), Demand(OPS["allreduce"], 3, 1), rows)
    tasks = plan_tasks(schedule, Wiring(1))
    by_row = sends(tasks)
    assert set(receives(tasks)[4].after) == {tasks.index(by_row[0]), tasks.index(by_row[1])}
    single = plan_tasks(ring_allreduce(4), Wiring(1))
    assert all(task.after == () for task in single if task.type is StepType.RECV)


@pytest.mark.parametrize(("copy_blocks", "runs"), [(1, [4]), (2, [2, 2]), (3, [2, 2]), (4, [1, 1, 1, 1])])
def test_own_chunks_are_copied_in_runs_over_the_copy_blocks(copy_blocks: int, runs: list[int]) -> None:
    schedule = many_chunks(2, 8)
    copies = [t for t in plan_tasks(schedule, Wiring(1, copy_blocks=copy_blocks)) if t.type is StepType.COPY]
    of_rank = [task for task in copies if task.block.rank == 1]
    assert [task.cnt for task in of_rank] == runs
    assert [task.block.serial for task in of_rank] == [i % copy_blocks for i in range(len(runs))]
    assert of_rank[0].src == Slot(Buffer.INPUT, 0)
    assert of_rank[0].dst == Slot(Buffer.OUTPUT, 4)


def test_no_message_has_more_chunks_than_the_runtime_takes() -> None:
    copies = [t for t in plan_tasks(many_chunks(2, 300), Wiring(1)) if t.type is StepType.COPY]
    assert [task.cnt for task in copies if task.block.rank == 0] == [71, 71, 8]


def many_chunks(ranks: int, chunks: int) -> Schedule:
    per_rank = chunks // ranks
    rows = [(c, c // per_rank, 1 - c // per_rank, False, 0, c) for c in range(chunks)]
    return schedule_of(line_topology(2), Demand(OPS["allgather"], ranks, chunks), rows)


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [
        ("allgather", [0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5]),
        ("reducescatter", [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]),
        ("allreduce", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ("broadcast", [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ("gather", [0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5]),
        ("scatter", [0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]),
    ],
)
def test_offsets_are_those_of_the_collective(op: str, inputs: list[int], outputs: list[int]) -> None:
    demand = Demand(OPS[op], 3, 6)
    assert [input_offset(demand, chunk) for chunk in range(6)] == inputs
    assert [output_offset(demand, chunk) for chunk in range(6)] == outputs


def test_alltoall_sorts_the_output_by_sender() -> None:
    demand = Demand(OPS["alltoall"], 3, 3)
    for sender, receiver in np.ndindex(3, 3):
        chunk = sender * 3 + receiver
        assert input_offset(demand, chunk) == receiver
        assert output_offset(demand, chunk) == sender
        assert [wants(demand, rank, chunk) for rank in range(3)] == [rank == receiver for rank in range(3)]
