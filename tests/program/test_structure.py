from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.findings import SEVERITIES, errors
from syccl.program.columns import columns
from syccl.program.ir import Program
from syccl.program.structure import MAX_CHUNKS, block_findings, header_findings, trailing_nops
from syccl.program.targets import EXECUTOR, MSCCL
from syccl.program.verify import verify_program
from tests.program.programs import allpairs_allreduce, direct_allgather, mutated, with_rank
from tests.program.test_msccl_xml import programs


def with_small_buffers(program: Program, chunks: int) -> Program:
    ranks = tuple(
        replace(rank, input_chunks=99, output_chunks=99, scratch_chunks=abs(rank.scratch_chunks) % 90)
        for rank in program.ranks
    )
    return replace(program, chunks=chunks * program.size, channels=32, ranks=ranks)


@given(programs(), st.sampled_from([None, 1, 2**30]), st.integers(1, 8))
def test_any_program_gets_a_verdict(program: Program, size_bytes: int | None, chunks: int) -> None:
    for given_program in (replace(program, chunks=min(program.chunks, 9)), with_small_buffers(program, chunks)):
        for finding in verify_program(given_program, size_bytes=size_bytes):
            assert finding.severity in SEVERITIES
            assert "\n" not in str(finding)


def test_programs_beyond_all_memory_are_not_run() -> None:
    huge = replace(direct_allgather(2), chunks=MAX_CHUNKS)
    assert [finding.rule for finding in header_findings(huge)] == ["chunks"]
    assert [finding.rule for finding in errors(verify_program(huge))] == ["chunks"]


@pytest.mark.parametrize(("field", "real"), [("input_chunks", 1), ("output_chunks", 2)])
def test_stated_buffer_sizes_that_do_not_fit_the_collective_are_a_warning(field: str, real: int) -> None:
    program = direct_allgather(2)
    for stated in (0, real):
        assert not list(block_findings(with_rank(program, 0, replace(program.ranks[0], **{field: stated}))))
    (found,) = block_findings(with_rank(program, 0, replace(program.ranks[0], **{field: real + 1})))
    assert (found.severity, found.where) == ("warning", "rank 0")
    assert f"is {real + 1}, but allgather has {real}" in found.message


def test_elements_of_a_rank_are_limited() -> None:
    copy = direct_allgather(2).ranks[0].blocks[0]
    many = tuple(replace(copy, id=k, steps=copy.steps * 63) for k in range(63))
    program = direct_allgather(2)
    just = replace(program.ranks[0], blocks=many)
    assert not any("XML elements" in finding.message for finding in block_findings(with_rank(program, 0, just)))
    over = replace(just, blocks=(*many, replace(copy, id=63, steps=copy.steps * 62)))
    assert "4098 XML elements; the runtime's parser keeps 4095" in [
        finding.message for finding in block_findings(with_rank(program, 0, over))
    ]


def test_steps_are_limited_by_the_runtime_that_a_program_is_for() -> None:
    nop = allpairs_allreduce(3).ranks[0].blocks[2].steps[1]
    for steps, severities in ((64, ("", "", "")), (65, ("warning", "error", "")), (257, ("error", "error", "error"))):
        program = mutated(direct_allgather(2), 0, 0, lambda old, steps=steps: [*old, *[nop] * (steps - len(old))])
        for target, severity in zip((None, EXECUTOR, MSCCL), severities, strict=True):
            found = [finding.severity for finding in verify_program(program, target=target) if finding.rule == "limit"]
            assert found == [severity] * bool(severity)


def test_peers_of_a_channel_are_limited() -> None:
    found = [finding for finding in verify_program(direct_allgather(34)) if finding.rule == "limit"]
    assert found[0].message == "33 thread blocks send on channel 0; at most 32"
    assert not errors(verify_program(direct_allgather(33)))


def test_only_nops_after_the_last_real_step_are_trailing() -> None:
    program = allpairs_allreduce(3)
    nop = program.ranks[0].blocks[2].steps[1]
    longer = mutated(program, 0, 2, lambda steps: [*steps, nop, nop])
    trailing = trailing_nops(columns(longer))
    first = int(columns(longer).first[2])
    assert trailing.nonzero()[0].tolist() == [first + 4, first + 5]
