from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.program.columns import columns
from syccl.program.dataflow import SPOILED, UNSET, Values, likely_root, run, wrong_outputs
from syccl.program.ir import Program
from syccl.program.matching import match
from syccl.program.memory import memory, operands
from syccl.program.order import execute, split
from tests.program.programs import direct_allgather, direct_reducescatter, ring_allreduce, rooted


def memory_after(program: Program, *, in_place: bool) -> tuple[list[int], list[list[int]]]:
    table = columns(program)
    matching, _ = match(program, table)
    parts = split(table, matching, chunks=1, depth=2)
    order, _ = execute(parts)
    where = memory(program, in_place=in_place)
    flow = run(program, where, operands(table, parts, where), order)
    assert not flow.unset
    assert not flow.clashes
    return flow.memory, where.base.tolist()


def test_values_in_words() -> None:
    values = Values(direct_allgather(4))
    two_of_four = 0b0101 << values.bits | 3
    assert values.describe(two_of_four) == "input chunk 3 of ranks 0, 2"
    assert values.describe(0b1000 << values.bits | 1) == "input chunk 1 of rank 3"
    assert values.describe(0b1111 << values.bits) == "input chunk 0 of all ranks"
    assert values.describe(UNSET) == "nothing"
    assert values.describe(SPOILED) == "the result of a wrong step"


def test_an_allgather_leaves_every_share_in_its_place() -> None:
    after, base = memory_after(direct_allgather(2), in_place=False)
    bits = Values(direct_allgather(2)).bits
    assert base == [[0, 1, 3], [3, 4, 6]]
    assert after == [1 << bits, 1 << bits, 2 << bits, 2 << bits, 1 << bits, 2 << bits]
    after, base = memory_after(direct_allgather(2), in_place=True)
    assert base == [[0, 0, 2], [3, 2, 4]]
    assert after == [1 << bits, 2 << bits] * 2


def test_a_reducescatter_leaves_sums_of_all_ranks() -> None:
    program = direct_reducescatter(3)
    bits = Values(program).bits
    after, base = memory_after(program, in_place=True)
    assert [after[base[rank][1]] for rank in range(3)] == [0b111 << bits | rank for rank in range(3)]


@pytest.mark.parametrize("in_place", [True, False])
def test_wrong_outputs_are_listed_by_rank(in_place: bool) -> None:
    program = ring_allreduce(3)
    after, base = memory_after(program, in_place=in_place)
    where = memory(program, in_place=in_place)
    assert wrong_outputs(program, where, after, 0) == []
    after[base[1][1] + 2] = UNSET
    (wrong,) = wrong_outputs(program, where, after, 0)
    assert (wrong.rank, wrong.output, wrong.held) == (1, 2, UNSET)


def test_the_likely_root_is_the_one_with_fewest_wrong_outputs() -> None:
    for root in range(3):
        program = replace(rooted("scatter", 3, root), in_place=False)
        after, _ = memory_after(program, in_place=False)
        assert likely_root(program, memory(program, in_place=False), after) == root
