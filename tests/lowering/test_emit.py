"""From ordered tasks to a program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from syccl.lowering.emit import dependencies
from syccl.lowering.tasks import Wiring
from syccl.program import Buffer, Program, RankProgram, Step, StepType, ThreadBlock
from syccl.schedule import Schedule, expand
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.program_time import simulate_program
from tests.lowering.made import SIZE, complaints, lowered, program
from tests.schedule.tiny import (
    COMPRESSED,
    EXPLICIT,
    doubling_allreduce,
    rail_allreduce,
    ring_allreduce,
    star_allgather,
    star_alltoall,
    star_reducescatter,
)

SCHEDULES = {
    name: make for name, make in (COMPRESSED | EXPLICIT).items() if name not in {"star_broadcast", "star_alltoall"}
}
"""Without a group that fixes a rank, which cannot be lowered compressed, and what cannot be done in place."""


def steps(made: Program) -> Iterator[tuple[RankProgram, ThreadBlock, int, Step]]:
    for rank in made.ranks:
        for block in rank.blocks:
            for i, step in enumerate(block.steps):
                yield rank, block, i, step


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_programs_are_proved_and_compute_the_right_numbers(name: str, fuse: bool) -> None:
    schedule = SCHEDULES[name]()
    assert complaints(program(schedule, Wiring(1, fuse=fuse))) == []


def test_an_exchange_of_everything_is_right_out_of_place() -> None:
    assert complaints(replace(program(star_alltoall(4)), in_place=False)) == []


@pytest.mark.parametrize("wiring", [Wiring(2), Wiring(3, copy_blocks=2), Wiring(1, split=True), Wiring(2, split=True)])
def test_programs_on_several_channels_are_right(wiring: Wiring) -> None:
    for schedule in (rail_allreduce(3, 2), expand(rail_allreduce(2, 2)), star_allgather(5)):
        assert complaints(program(schedule, wiring)) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_program_names_its_protocol(protocol: str) -> None:
    made = program(star_allgather(4), protocol=protocol)
    assert (made.protocol, made.name, made.collective, made.chunks) == (protocol, "test", "allgather", 4)
    assert complaints(made) == []


@pytest.mark.parametrize("name", SCHEDULES)
def test_lifted_and_explicit_programs_do_the_same_work(name: str) -> None:
    schedule = SCHEDULES[name]()
    lifted, explicit = program(schedule), program(expand(schedule))
    work = [
        sorted(
            (rank.rank, block.send, block.recv, step.type.value, step.dst.buffer.value, step.cnt)
            for rank, block, _, step in steps(made)
            if step.type is not StepType.NOP
        )
        for made in (lifted, explicit)
    ]
    assert work[0] == work[1]


@pytest.mark.parametrize("name", SCHEDULES)
def test_blocks_that_others_wait_for_come_first(name: str) -> None:
    made = program(SCHEDULES[name](), Wiring(2))
    for rank in made.ranks:
        awaited = {step.depends[0] for block in rank.blocks for step in block.steps if step.depends}
        assert [block.id for block in rank.blocks] == list(range(len(rank.blocks)))
        assert awaited == set(range(len(awaited)))


@pytest.mark.parametrize("name", SCHEDULES)
def test_exactly_the_awaited_steps_raise_a_flag(name: str) -> None:
    made = program(SCHEDULES[name](), Wiring(2))
    awaited = {(rank.rank, *step.depends) for rank, _, _, step in steps(made) if step.depends}
    assert awaited == {(rank.rank, block.id, i) for rank, block, i, step in steps(made) if step.has_dependents}


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_step_waits_for_its_own_block_and_no_ops_carry_further_dependencies(name: str) -> None:
    for _, block, i, step in steps(program(SCHEDULES[name](), Wiring(2))):
        assert not step.depends or step.depends[0] != block.id
        if step.type is StepType.NOP:
            assert step.depends
            assert step.cnt == 0
            assert i + 1 < len(block.steps)
            assert block.steps[i + 1].depends


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_dependency_follows_from_the_others(name: str) -> None:
    made = lowered(SCHEDULES[name](), Wiring(2))
    kept = dependencies(made.tasks, made.run)
    before: list[set[int]] = [set(task.after) for task in made.tasks]
    for sequence in made.run.lock_order:
        for first, second in itertools.pairwise(sequence):
            before[second].add(first)
    sequences = made.run.order

    def reached(start: int, given: list[list[int]]) -> set[int]:
        """Tasks that are over when ``start`` begins."""
        place = {task: (b, i) for b, sequence in enumerate(sequences) for i, task in enumerate(sequence)}
        seen: set[int] = set()
        todo = [start]
        while todo:
            task = todo.pop()
            b, i = place[task]
            for other in (*given[task], *sequences[b][:i]):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    for task, needs in enumerate(before):
        assert needs <= reached(task, kept)
    for task, needs in enumerate(kept):
        for need in needs:
            fewer = [[n for n in given if (t, n) != (task, need)] for t, given in enumerate(kept)]
            direct = set(fewer[task]) | set().union(*(before[n] for n in fewer[task]))
            assert need not in direct


def without(made: Program, rank: int, block: int, step: int) -> Program:
    """The program in which one step no longer waits; in a chain of no-ops it waits for the same as its neighbour."""

    def changed(b: ThreadBlock) -> ThreadBlock:
        old, neighbour = b.steps[step], None
        if old.type is StepType.NOP:
            neighbour = b.steps[step + 1].depends
        elif step and b.steps[step - 1].type is StepType.NOP:
            neighbour = b.steps[step - 1].depends
        new = old._replace(depends=neighbour)
        return replace(b, steps=(*b.steps[:step], new, *b.steps[step + 1 :]))

    ranks = list(made.ranks)
    blocks = ranks[rank].blocks
    ranks[rank] = replace(ranks[rank], blocks=tuple(changed(b) if b.id == block else b for b in blocks))
    return replace(made, ranks=tuple(ranks))


@pytest.mark.parametrize(
    "schedule",
    [ring_allreduce(3), doubling_allreduce(4), star_reducescatter(4), rail_allreduce(2, 2)],
    ids=["ring", "doubling", "star", "rail"],
)
def test_a_program_that_forgets_a_dependency_is_found_out(schedule: Schedule) -> None:
    made = program(schedule)
    assert complaints(made) == []
    waits = [(block.id, i) for rank, block, i, step in steps(made) if rank.rank == 0 and step.depends]
    assert waits
    for block, i in waits:
        assert set(complaints(without(made, 0, block, i))) & {"race", "wrong"}


def test_the_first_sum_starts_from_the_input_and_later_ones_add_in_place() -> None:
    for rank in program(star_reducescatter(4)).ranks:
        sums = [step for block in rank.blocks for step in block.steps if step.type is StepType.RECV_REDUCE_COPY]
        assert sorted(step.src.buffer.value for step in sums) == ["i", "o", "o"]
        assert {step.dst for step in sums} == {sums[0].dst}


def test_scratch_is_as_large_as_what_is_used() -> None:
    made = program(doubling_allreduce(4))
    for rank in made.ranks:
        used = [
            slot.offset for block in rank.blocks for step in block.steps for slot in (step.src, step.dst)
            if slot.buffer is Buffer.SCRATCH
        ]  # fmt: skip
        assert rank.scratch_chunks == max(used) + 1
    assert {rank.scratch_chunks for rank in program(star_allgather(4)).ranks} == {0}


def test_buffers_have_the_sizes_of_the_collective() -> None:
    sizes = {
        name: program(SCHEDULES[name]()).ranks[0] for name in ("star_allgather", "star_reducescatter", "ring_allreduce")
    }
    assert {name: (rank.input_chunks, rank.output_chunks) for name, rank in sizes.items()} == {
        "star_allgather": (1, 5),
        "star_reducescatter": (4, 1),
        "ring_allreduce": (4, 4),
    }


def test_blocks_keep_the_order_of_the_recorded_run() -> None:
    schedule = star_allgather(5)
    made = lowered(schedule)
    blocks = sorted({task.block for task in made.tasks})
    order = {block: [made.tasks[i].row_out for i in tasks] for block, tasks in zip(blocks, made.run.order, strict=True)}
    assert all(rows == sorted(rows) for rows in order.values())


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_program_takes_the_time_of_its_recorded_run(name: str) -> None:
    schedule = SCHEDULES[name]()
    seconds = simulate_program(program(schedule), schedule.topology, size_bytes=SIZE).seconds
    assert seconds == pytest.approx(lowered(schedule).seconds)
