from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.program.semantics import buffer_chunks, is_collective, is_split, results, shared_offsets
from tests.program.programs import direct_allgather

PROGRAM = direct_allgather(2, 2)
BOTH = 0b11


def of(collective: str):
    return replace(PROGRAM, collective=collective)


@pytest.mark.parametrize(
    ("collective", "buffers", "offsets", "wanted"),
    [
        ("allreduce", (4, 4), (0, 0), [(0, BOTH), (1, BOTH), (2, BOTH), (3, BOTH)]),
        ("allgather", (2, 4), (2, 0), [(0, 1), (1, 1), (0, 2), (1, 2)]),
        ("reducescatter", (4, 2), (0, 2), [(2, BOTH), (3, BOTH)]),
        ("alltoall", (4, 4), (0, 0), [(2, 1), (3, 1), (2, 2), (3, 2)]),
        ("broadcast", (4, 4), (0, 0), [(0, 1), (1, 1), (2, 1), (3, 1)]),
        ("reduce", (4, 4), (0, 0), []),
        ("gather", (2, 4), (2, 0), []),
        ("scatter", (4, 2), (0, 2), [(2, 1), (3, 1)]),
        ("custom", (4, 4), (0, 0), []),
    ],
)
def test_rank_one_of_two_with_four_chunks_and_root_zero(
    collective: str, buffers: tuple[int, int], offsets: tuple[int, int], wanted: list[tuple[int, int]]
) -> None:
    program = of(collective)
    assert is_collective(collective)
    assert buffer_chunks(program) == buffers
    assert shared_offsets(program, 1) == offsets
    assert results(program, 1, 0) == wanted


def test_the_root_holds_sum_or_all_parts() -> None:
    assert results(of("reduce"), 1, 1) == [(0, BOTH), (1, BOTH), (2, BOTH), (3, BOTH)]
    assert results(of("gather"), 1, 1) == [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert results(of("broadcast"), 0, 1) == [(0, 2), (1, 2), (2, 2), (3, 2)]


def test_collectives_that_are_cut_by_ranks() -> None:
    split = [name for name in ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast") if is_split(name)]
    assert split == ["allgather", "reducescatter", "alltoall"]
    assert not is_collective("sendrecv")
