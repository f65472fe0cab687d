from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from syccl.errors import InputError
from syccl.findings import errors
from syccl.program.ir import Program
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay, replay_findings, replay_matches
from tests.program.programs import allpairs_allreduce, direct_allgather, i, mutated, o, ring_allreduce, rooted
from tests.program.test_verify import GOOD, whole_exchange

ROOTS = {"broadcast": 1, "reduce": 2, "gather": 0, "scatter": 1}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("chunks", [1, 71])
def test_right_programs_give_the_right_numbers_from_their_file(name: str, dtype: str, chunks: int) -> None:
    program = read_xml(write_xml(GOOD[name]), source=name)
    for seed in range(3):
        options = {"seed": seed, "root": ROOTS.get(name, 0), "chunks_per_message": chunks}
        assert replay_findings(program, dtype=dtype, chunk_elements=2, **options) == ()


def test_an_allreduce_of_two_ranks_by_hand() -> None:
    done = replay(ring_allreduce(2), in_place=False, chunk_elements=3)
    total = done.inputs[0] + done.inputs[1]
    assert total.shape == (2, 3)
    assert np.array_equal(done.outputs[0], total)
    assert np.array_equal(done.outputs[1], total)
    assert np.array_equal(done.inputs[0], done.inputs_after[0])
    assert done.stuck == ()


def test_the_same_seed_gives_the_same_run() -> None:
    one, two, other = (replay(ring_allreduce(3), in_place=True, seed=seed) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(one.outputs, two.outputs, strict=True))
    assert not np.array_equal(one.inputs[0], other.inputs[0])


def test_in_place_calls_share_memory() -> None:
    done = replay(direct_allgather(2), in_place=True)
    assert np.shares_memory(done.outputs[1], done.inputs_after[1])
    done = replay(direct_allgather(2), in_place=False)
    assert not np.shares_memory(done.outputs[1], done.inputs_after[1])


def test_a_missing_dependence_shows_in_some_interleaving() -> None:
    program = allpairs_allreduce(3)
    free = mutated(program, 1, 2, lambda steps: [steps[0], steps[1]._replace(depends=steps[2].depends), *steps[2:]])
    outcomes = {replay_matches(free, seed=seed) for seed in range(40)}
    assert outcomes == {True, False}
    assert {replay_matches(program, seed=seed) for seed in range(40)} == {True}


def test_a_wrong_slot_is_named() -> None:
    program = mutated(direct_allgather(3), 1, 1, lambda steps: [steps[0], steps[1]._replace(dst=o(2))])
    found = replay_findings(program, in_place=False)
    assert [(finding.rule, finding.where) for finding in found] == [("wrong", "rank 1")]


def test_a_hang_names_the_thread_blocks() -> None:
    program = whole_exchange(4)
    assert replay_matches(program)
    found = replay_findings(program, chunks_per_message=1)
    assert found[0].rule == "deadlock"
    assert "2 thread blocks hang: rank 0 tb 1 step 0, rank 1 tb 1 step 0" in found[0].message


def test_a_changed_input_is_a_warning_out_of_place() -> None:
    program = mutated(direct_allgather(2), 0, 1, lambda steps: [*steps[:1], steps[1]._replace(dst=i(0))])
    found = replay_findings(program, in_place=False)
    assert ("warning", "input", "rank 0") in [(finding.severity, finding.rule, finding.where) for finding in found]


def test_the_wrong_root_does_not_match() -> None:
    program = rooted("broadcast", 3, 1)
    assert replay_matches(program, root=1)
    assert not replay_matches(program, root=0)


def test_only_the_kinds_of_call_that_a_program_is_for_are_run() -> None:
    program = mutated(direct_allgather(2), 0, 1, lambda steps: [steps[0]._replace(src=o(0)), steps[1]])
    assert replay_matches(replace(program, out_of_place=False))
    assert replay_findings(replace(program, out_of_place=False), in_place=False) == ()
    assert not all(replay_matches(program, in_place=False, seed=seed) for seed in range(20))


@pytest.mark.parametrize(
    ("program", "dtype", "message"),
    [
        (direct_allgather(2), "float16", "choose int64 or float32"),
        (mutated(direct_allgather(2), 0, 0, lambda steps: [steps[0]._replace(src=i(1))]), "int64", r"i\[1\.\.1\]"),
        (
            mutated(direct_allgather(2, 2), 0, 1, lambda steps: [steps[0]._replace(cnt=1), steps[1]]),
            "int64",
            "a message of 1 chunks meets a receive of 2",
        ),
    ],
    ids=["dtype", "bounds", "counts"],
)
def test_what_cannot_be_run_is_refused(program: Program, dtype: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(program, in_place=False, dtype=dtype)


def test_replay_takes_only_errors_for_a_mismatch() -> None:
    program = mutated(direct_allgather(2), 0, 1, lambda steps: [*steps, steps[1]._replace(type=steps[0].type)])
    assert errors(replay_findings(program)) == ()
    assert replay_matches(program)
