"""Messages that become one step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import syccl.lowering.lower
from syccl.collective import OPS, Demand
from syccl.lowering.lowered import Lowered
from syccl.lowering.tasks import Wiring
from syccl.program import Buffer, Program, StepType
from syccl.schedule import Schedule
from syccl.simulate.cost import PROTOCOLS, chunk_loop
from syccl.simulate.program_time import simulate_program
from tests.lowering.made import SIZE, complaints, lowered, program
from tests.schedule.tiny import (
    Row,
    block_rotation,
    line_topology,
    rotation,
    schedule_of,
    star_allgather,
    star_reducescatter,
    switch_topology,
)


def halves_to_all(ranks: int, pieces: int) -> Schedule:
    """On one switch every rank sends all pieces of its block to each other rank."""
    topology = switch_topology(ranks)
    rows: list[Row] = [(piece, 0, k, False, 0, k * pieces + piece) for k in range(1, ranks) for piece in range(pieces)]
    demand = Demand(OPS["allgather"], ranks, ranks * pieces)
    return schedule_of(topology, demand, rows, block_rotation(topology, ranks, ranks * pieces))


def chain(pieces: int, ranks: int = 3) -> Schedule:
    """Pieces of a broadcast follow each other along a line."""
    rows: list[Row] = [(piece, k, k + 1, False, k, k + 2 * piece) for piece in range(pieces) for k in range(ranks - 1)]
    return schedule_of(line_topology(ranks), Demand(OPS["broadcast"], ranks, pieces), rows)


def gather_and_pass(pieces: int) -> Schedule:
    """Rank 1 passes on the pieces of a broadcast in reverse, so that the first to leave arrives last."""
    rows: list[Row] = [(piece, 0, 1, False, 0, piece) for piece in range(pieces)]
    rows += [(piece, 1, 2, False, 1, 2 * pieces - piece) for piece in range(pieces)]
    return schedule_of(line_topology(3), Demand(OPS["broadcast"], 3, pieces), rows)


def costly(schedule: Schedule) -> Schedule:
    """The same on machines whose steps cost time."""
    return replace(schedule, topology=replace(schedule.topology, profile="generic"))


def unmerged(monkeypatch: pytest.MonkeyPatch, schedule: Schedule, wiring: Wiring) -> Lowered:
    with monkeypatch.context() as patch:
        patch.setattr(syccl.lowering.lower, "merged", lambda plain, *_, **__: plain)
        return lowered(schedule, wiring)


def counts_of(made: Program) -> Counter[int]:
    return Counter(
        step.cnt
        for rank in made.ranks
        for block in rank.blocks
        for step in block.steps
        if step.type is not StepType.COPY
    )


@pytest.mark.parametrize("pieces", [2, 3, 5])
def test_what_is_sent_at_once_to_one_rank_is_one_step(pieces: int) -> None:
    made = program(costly(halves_to_all(4, pieces)))
    assert counts_of(made) == {pieces: 4 * 3 * 2}
    assert complaints(made) == []


def test_pieces_that_are_passed_on_one_by_one_stay_apart() -> None:
    made = lowered(costly(chain(4)))
    into_the_middle = [task.cnt for task in made.tasks if task.block.rank == 1 and task.block.recv == 0]
    assert into_the_middle == [1, 1, 1, 1]


def test_nothing_becomes_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    for schedule in (chain(6), gather_and_pass(4), halves_to_all(3, 4), star_allgather(4), star_reducescatter(4)):
        for wiring in (Wiring(1), Wiring(2), Wiring(2, run=8)):
            plain = unmerged(monkeypatch, schedule, wiring)
            made = lowered(schedule, wiring)
            assert made.seconds <= plain.seconds
            assert len(made.tasks) <= len(plain.tasks)


def test_where_steps_cost_time_the_program_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = costly(halves_to_all(4, 8))
    plain = unmerged(monkeypatch, schedule, Wiring(1))
    assert lowered(schedule, Wiring(1)).seconds < 0.75 * plain.seconds


def test_no_step_becomes_more_than_one_message() -> None:
    pieces, size_bytes = 8, 4 * 8 * (1 << 20)
    made = lowered(costly(halves_to_all(4, pieces)), size_bytes=size_bytes)
    most = chunk_loop(size_bytes / (4 * pieces), PROTOCOLS["Simple"]).chunks_per_message
    assert most == 2
    assert {task.cnt for task in made.tasks if task.type is not StepType.COPY} == {1, 2}


def test_blocks_with_two_ends_keep_their_steps() -> None:
    made = lowered(costly(halves_to_all(4, 4)), Wiring(1, paired=True))
    assert all(task.cnt == 1 for task in made.tasks if task.type is not StepType.COPY)


def test_chunks_that_a_symmetry_tears_apart_are_not_merged() -> None:
    ranks, pieces = 3, 2
    topology = switch_topology(ranks)
    rows: list[Row] = [(piece, 0, k, False, 0, k) for k in (1, 2) for piece in range(pieces)]

    def swapped(chunk: int) -> int:
        """Rank 1's pieces are those of rank 0 the other way round, rank 2's are in order again."""
        rank, piece = divmod(chunk, pieces)
        return (rank + 1) % ranks * pieces + (piece if rank == 2 else 1 - piece)

    demand = Demand(OPS["allgather"], ranks, ranks * pieces)
    torn = schedule_of(topology, demand, rows, rotation(topology, ranks, swapped, ranks * pieces))
    made = program(costly(torn))
    assert counts_of(made) == {1: 2 * ranks * (ranks - 1) * pieces}
    assert complaints(made) == []


@given(
    st.integers(2, 5),
    st.integers(1, 6),
    st.sampled_from([Wiring(1), Wiring(2), Wiring(2, run=2), Wiring(3, run=8)]),
    st.sampled_from(["Simple", "LL", "LL128"]),
)
def test_merged_programs_are_right(ranks: int, pieces: int, wiring: Wiring, protocol: str) -> None:
    made = program(costly(halves_to_all(ranks, pieces)), wiring, protocol=protocol)
    assert complaints(made) == []
    moved = np.zeros((ranks, ranks * pieces), dtype=int)
    for rank in made.ranks:
        for block in rank.blocks:
            for step in block.steps:
                if step.type in {StepType.RECV, StepType.COPY} and step.dst.buffer is Buffer.OUTPUT:
                    moved[rank.rank, step.dst.offset : step.dst.offset + step.cnt] += 1
    assert (moved == 1).all()


def test_the_simulator_of_files_agrees() -> None:
    schedule = costly(halves_to_all(4, 5))
    made = lowered(schedule)
    told = simulate_program(program(schedule), schedule.topology, size_bytes=SIZE)
    assert told.seconds == pytest.approx(made.seconds)
