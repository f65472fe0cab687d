from __future__ import annotations

from dataclasses import replace

from syccl.program.columns import BUFFERS, TYPES, columns
from syccl.program.ir import Buffer, StepType
from syccl.program.msccl_xml import read_xml, write_xml
from tests.program.programs import allpairs_allreduce, direct_allgather, with_rank


def test_columns_hold_the_steps_in_order() -> None:
    table = columns(allpairs_allreduce(3))
    assert table.first.tolist() == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert [TYPES[code] for code in table.type[8:12]] == [StepType.COPY, StepType.NOP, StepType.REDUCE, StepType.REDUCE]
    assert table.depends_block[8:12].tolist() == [-1, 0, 1, -1]
    assert table.depends_step[8:12].tolist() == [-1, 1, 1, -1]
    assert [BUFFERS[code] for code in table.src_buffer[8:12]] == [
        *(Buffer.INPUT, Buffer.INPUT),
        *(Buffer.SCRATCH, Buffer.SCRATCH),
    ]
    assert table.publishes[8:12].tolist() == [False, False, False, True]
    assert table.index[8:12].tolist() == [0, 1, 2, 3]
    assert table.rank.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_places_are_told_with_their_lines() -> None:
    program = direct_allgather(2)
    assert columns(program).where(2) == "rank 0 tb 1 step 1"
    read = columns(read_xml(write_xml(program), source="x"))
    assert read.where(2) == "rank 0 tb 1 step 1 (line 8)"
    assert read.name(2) == "tb 1 step 1 (r)"


def test_a_program_without_steps_has_empty_columns() -> None:
    program = direct_allgather(1)
    table = columns(with_rank(program, 0, replace(program.ranks[0], blocks=())))
    assert len(table.type) == len(table.block) == 0
    assert table.first.tolist() == [0]
