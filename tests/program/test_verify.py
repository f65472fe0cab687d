from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.findings import Finding, errors
from syccl.program.ir import Program, Step, StepType
from syccl.program.replay import replay_findings
from syccl.program.verify import MOST, verify_program
from tests.program.programs import (
    Builder,
    allpairs_allreduce,
    direct_allgather,
    direct_alltoall,
    direct_reducescatter,
    i,
    mutated,
    o,
    ring_allreduce,
    rooted,
    s,
    two_level_allgather,
    with_block,
    with_rank,
)

GOOD = {
    "direct allgather": direct_allgather(3, 2),
    "two ranks": direct_allgather(2),
    "one rank": direct_allgather(1),
    "ring allreduce": ring_allreduce(4, 2),
    "allpairs allreduce": allpairs_allreduce(4),
    "direct reducescatter": direct_reducescatter(4, 2),
    "two level allgather": two_level_allgather(2, 2, 2),
    "direct alltoall": replace(direct_alltoall(3, 2), in_place=False),
    "broadcast": rooted("broadcast", 3, 1),
    "reduce": rooted("reduce", 3, 2),
    "gather": rooted("gather", 3, 0, 2),
    "scatter": rooted("scatter", 3, 1, 2),
}


def rules(found: tuple[Finding, ...]) -> set[str]:
    return {finding.rule for finding in errors(found)}


def steps_of(program: Program) -> list[tuple[int, int, int]]:
    return [
        (rank.rank, place, index)
        for rank in program.ranks
        for place, block in enumerate(rank.blocks)
        for index in range(len(block.steps))
    ]


@pytest.mark.parametrize("program", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("protocol", ["Simple", "LL", "LL128"])
def test_right_programs_have_no_errors(program: Program, protocol: str) -> None:
    assert errors(verify_program(replace(program, protocol=protocol))) == ()


@pytest.mark.parametrize("name", ["direct allgather", "ring allreduce", "allpairs allreduce", "two level allgather"])
def test_deleting_any_step_is_found(name: str) -> None:
    program = GOOD[name]
    for rank, block, index in steps_of(program):
        less = mutated(program, rank, block, lambda steps, index=index: steps[:index] + steps[index + 1 :])
        assert errors(verify_program(less)), (rank, block, index)


def test_removing_a_dependence_is_a_race() -> None:
    program = allpairs_allreduce(3)
    local = program.ranks[1].blocks[2]
    assert [step.type.value for step in local.steps] == ["cpy", "nop", "re", "re"]
    free = mutated(program, 1, 2, lambda steps: [steps[0], steps[1]._replace(depends=steps[2].depends), *steps[2:]])
    found = errors(verify_program(free))
    assert rules(found) == {"race"}
    assert "rank 1 s[0]: tb 0 step 1 (r) writes it, tb 2 step 2 (re) reads it" in found[0].message


def test_a_dependence_on_the_step_before_is_a_race() -> None:
    program = mutated(allpairs_allreduce(3), 0, 0, lambda steps: [steps[0]._replace(has_dependents=True), *steps[1:]])
    early = mutated(
        program, 0, 2, lambda steps: [s._replace(depends=(0, 0)) if s.depends == (0, 1) else s for s in steps]
    )
    assert rules(verify_program(early)) == {"race"}


def test_a_later_published_step_releases_a_dependence_too() -> None:
    program = allpairs_allreduce(3)

    def late(steps: list[Step]) -> list[Step]:
        return [steps[0], steps[1]._replace(has_dependents=False), *steps[2:3], steps[3]._replace(has_dependents=True)]

    found = errors(verify_program(mutated(program, 0, 0, late)))
    assert rules(found) == {"deadlock"}
    assert "rank 0 tb 0 step 2" in found[0].message

    def earlier(steps: list[Step]) -> list[Step]:
        published = steps[1]._replace(has_dependents=False)
        return [steps[0], published, Step(StepType.COPY, s(0), s(0), 0, None, True), *steps[2:]]

    assert errors(verify_program(mutated(program, 0, 0, earlier))) == ()


def test_a_dependence_that_nobody_publishes_hangs() -> None:
    program = mutated(
        allpairs_allreduce(3), 2, 1, lambda steps: [step._replace(has_dependents=False) for step in steps]
    )
    found = errors(verify_program(program))
    assert rules(found) == {"deadlock"}
    assert "tb 1 to publish step 1 or a later one" in found[0].message


def test_two_blocks_that_wait_for_each_other_hang() -> None:
    program = direct_allgather(3)
    for mine, other in ((1, 2), (2, 1)):
        program = mutated(
            program,
            0,
            mine,
            lambda steps, other=other: [steps[0]._replace(depends=(other, 0), has_dependents=True), steps[1]],
        )
    found = errors(verify_program(program))
    assert [finding.rule for finding in found] == ["deadlock"]
    assert "rank 0 tb 1 step 0 (s) waits for a dependence from rank 0 tb 2 step 0 (s)" in found[0].message


@pytest.mark.parametrize(("protocol", "most"), [("Simple", 2), ("LL", 8), ("LL128", 8)])
def test_sends_before_receives_must_fit_in_the_fifo(protocol: str, most: int) -> None:
    def exchange(messages: int) -> Program:
        b = Builder("alltoall", 2, 2 * messages, protocol=protocol)
        for r in range(2):
            b.add((r, -1, -1, 0), "cpy", src=i(r * messages), dst=o(r * messages), cnt=messages)
            for k in range(messages):
                b.add((r, 1 - r, 1 - r, 0), "s", src=i((1 - r) * messages + k))
            for k in range(messages):
                b.add((r, 1 - r, 1 - r, 0), "r", dst=o((1 - r) * messages + k))
        return b.build(in_place=False)

    assert errors(verify_program(exchange(most))) == ()
    found = errors(verify_program(exchange(most + 1)))
    assert rules(found) == {"deadlock"}
    assert f"a {protocol} connection holds {most} messages" in found[0].message


def whole_exchange(cnt: int, **changes: object) -> Program:
    b = Builder("alltoall", 2, 2 * cnt)
    for r in range(2):
        b.add((r, -1, -1, 0), "cpy", src=i(r * cnt), dst=o(r * cnt), cnt=cnt)
        b.add((r, 1 - r, 1 - r, 0), "s", src=i((1 - r) * cnt), cnt=cnt)
        b.add((r, 1 - r, 1 - r, 0), "r", dst=o((1 - r) * cnt), cnt=cnt)
    return replace(b.build(in_place=False), **changes)


def test_split_steps_limit_the_size_of_the_call() -> None:
    program = whole_exchange(4)
    (warning,) = verify_program(program)
    assert (warning.severity, warning.rule) == ("warning", "size")
    # 8 chunks of 1 MiB: two to a message of 2 MiB, two messages in the FIFO.
    assert "deadlocks above 8MiB per call" in warning.message
    assert verify_program(program, size_bytes=8 * 2**20) == ()
    assert rules(verify_program(program, size_bytes=8 * 2**20 + 8)) == {"deadlock"}
    assert verify_program(replace(program, max_bytes=8 * 2**20)) == ()
    assert verify_program(replace(program, max_bytes=8 * 2**20 + 1)) == (warning,)
    assert rules(verify_program(replace(program, min_bytes=16 * 2**20))) == {"deadlock"}


def test_small_counts_run_at_every_size() -> None:
    assert verify_program(whole_exchange(2)) == ()
    assert verify_program(whole_exchange(2), size_bytes=2**40) == ()


def test_a_value_counted_twice_is_found() -> None:
    program = allpairs_allreduce(3)
    twice = mutated(program, 0, 2, lambda steps: [*steps[:-1], steps[-1]._replace(src=s(0))])
    found = errors(verify_program(twice))
    assert found[0].rule == "reduction"
    assert "adds input chunk 0 of rank 1 to input chunk 0 of ranks 0, 1" in found[0].message


def test_a_chunk_in_the_wrong_slot_is_found() -> None:
    program = direct_allgather(3)
    swapped = mutated(program, 1, 1, lambda steps: [steps[0], steps[1]._replace(dst=o(2))])
    swapped = mutated(swapped, 1, 2, lambda steps: [steps[0], steps[1]._replace(dst=o(0))])
    found = errors(verify_program(swapped))
    assert rules(found) == {"wrong"}
    assert "o[0] holds input chunk 0 of rank 2, not input chunk 0 of rank 0" in found[0].message


def test_reading_memory_that_nothing_wrote_is_found() -> None:
    program = direct_allgather(2)
    program = with_rank(program, 0, replace(program.ranks[0], scratch_chunks=1))
    found = errors(verify_program(mutated(program, 0, 1, lambda steps: [steps[0]._replace(src=s(0)), steps[1]])))
    assert found[0].rule == "uninitialised"
    assert "reads s[0], which nothing has written" in found[0].message


def test_output_may_hold_the_input_only_in_place() -> None:
    program = mutated(direct_allgather(2), 0, 1, lambda steps: [steps[0]._replace(src=o(0)), steps[1]])
    assert errors(verify_program(replace(program, out_of_place=False))) == ()
    found = errors(verify_program(program))
    assert rules(found) == {"race"}
    assert all(finding.message.endswith("(out of place)") for finding in found)


def test_alltoall_straight_into_place_is_wrong_only_in_place() -> None:
    program = direct_alltoall(3)
    ordered = replace(program, in_place=False)
    assert errors(verify_program(ordered)) == ()
    # Sending i[q] before receiving into o[q], which is the same chunk in place, is right too.
    assert errors(verify_program(program)) == ()

    def receive_first(steps: list[Step]) -> list[Step]:
        return [steps[1], steps[0]]

    late = mutated(program, 0, 1, receive_first)
    assert errors(verify_program(replace(late, in_place=False))) == ()
    assert {finding.rule for finding in errors(verify_program(late))} == {"wrong"}


def test_writing_the_input_out_of_place_is_a_warning() -> None:
    b = Builder("allreduce", 2, 2)
    for r in range(2):
        b.add((r, 1 - r, 1 - r, 0), "s", src=i(1 - r))
        b.add((r, 1 - r, 1 - r, 0), "rrcs", src=i(r), dst=i(r))
        b.add((r, 1 - r, 1 - r, 0), "r", dst=i(1 - r))
    assert verify_program(b.build(out_of_place=False)) == ()
    found = verify_program(b.build(in_place=False))
    assert {finding.rule for finding in found if finding.severity == "warning"} == {"input"}


def round_trip(*, through: bool) -> Program:
    """Rank 0 sends o[1] in one thread block and overwrites it in another, after the answer or before it."""
    b = Builder("custom", 2, 2, scratch=1)
    b.add((0, 1, -1, 0), "cpy", src=i(0), dst=o(1))
    b.add((0, 1, -1, 0), "s", src=o(1))
    answer = (1, 0, 0, 0) if through else (1, -1, 0, 0)
    b.add(answer, "r", dst=o(0))
    b.add(answer if through else (1, 0, -1, 0), "s", src=i(0))
    b.add((0, -1, 1, 0), "r", dst=o(1))
    return b.build(in_place=False)


def test_an_answer_from_another_rank_orders_two_thread_blocks() -> None:
    assert errors(verify_program(round_trip(through=True))) == ()
    assert rules(verify_program(round_trip(through=False))) == {"race"}


def test_order_through_another_rank_is_told_where_no_fence_is_issued() -> None:
    assert "round-trip" not in {finding.rule for finding in verify_program(round_trip(through=True))}
    found = verify_program(replace(round_trip(through=True), protocol="LL"))
    assert ("note", "round-trip") in [(finding.severity, finding.rule) for finding in found]


@pytest.mark.parametrize("root", [0, 2])
def test_the_root_is_found_and_told(root: int) -> None:
    for collective in ("broadcast", "reduce", "gather", "scatter"):
        found = verify_program(rooted(collective, 3, root))
        assert [(finding.severity, finding.rule) for finding in found] == [("warning", "root")]
        assert found[0].message.startswith(f"the root is rank {root};")


def test_results_on_ranks_that_are_not_the_root_are_a_warning() -> None:
    program = rooted("reduce", 3, 0)
    extra = mutated(program, 1, 0, lambda steps: [Step(StepType.COPY, i(0), o(0), 1), *steps])
    found = verify_program(replace(extra, in_place=False))
    assert [finding.rule for finding in found] == ["root", "root-buffer"]
    assert found[1].where == "rank 1 tb 0 step 0"


def first_step(**changes: object) -> Callable[[Program], Program]:
    return lambda program: mutated(program, 0, 1, lambda steps: [steps[0]._replace(**changes), *steps[1:]])


def first_block(**changes: object) -> Callable[[Program], Program]:
    return lambda program: with_block(program, 0, 1, replace(program.ranks[0].blocks[1], **changes))


def first_rank(**changes: object) -> Callable[[Program], Program]:
    return lambda program: with_rank(program, 0, replace(program.ranks[0], **changes))


def whole(**changes: object) -> Callable[[Program], Program]:
    return lambda program: replace(program, **changes)


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        (whole(collective="allsum"), "collective", "'allsum' is unknown"),
        (whole(protocol="simple"), "protocol", "use one of Simple, LL, LL128"),
        (whole(chunks=0), "chunks", "nchunksperloop is 0"),
        (whole(chunks=4), "chunks", "needs a multiple of 3"),
        (whole(channels=0), "limit", "allowed: 1..32"),
        (first_block(recv=-1), "unmatched", "no thread block of the peer receives"),
        (whole(ranks=direct_allgather(3).ranks[1:]), "ranks", "0..n-1 in order"),
        (whole(in_place=False, out_of_place=False), "flags", "never select"),
        (whole(min_bytes=9, max_bytes=8), "flags", "below minBytes"),
        (first_block(id=2), "structure", "duplicate thread block id 2"),
        (first_block(id=7), "structure", "not 0..n-1"),
        (first_block(send=0), "structure", "the rank itself"),
        (first_block(send=3), "structure", "out of range"),
        (first_block(recv=-2), "structure", "out of range"),
        (first_block(channel=-1), "structure", "invalid channel -1"),
        (first_block(channel=32), "structure", "invalid channel 32"),
        (first_block(channel=1), "structure", "never connected"),
        (first_block(send=2), "connection", "shares (send peer 2, channel 0)"),
        (first_block(send=-1), "structure", "sends, but its thread block has no such peer"),
        (first_rank(scratch_chunks=-1), "structure", "must not be negative"),
        (first_step(src=i(1)), "bounds", "src i[1] is out of range; i has 1 chunks"),
        (first_step(src=i(-1)), "bounds", "src i[-1] is out of range"),
        (first_step(src=s(0)), "bounds", "s has 0 chunks"),
        (first_step(cnt=2), "bounds", "i[0..1]"),
        (first_step(cnt=72), "limit", "cnt 72; allowed: 0..71"),
        (first_step(cnt=-1), "limit", "cnt -1"),
        (first_step(cnt=0), "unmatched", "unmatched receive on 0->1 channel 0"),
        (first_step(depends=(5, 0)), "dependence", "the rank has tb 0..2"),
        (first_step(depends=(2, -1)), "dependence", "waits for step -1"),
        (first_step(type=StepType.COPY), "unmatched", "unmatched receive"),
        (first_rank(output_chunks=2), "bounds", "o_chunks is 2"),
    ],
)
def test_a_broken_rule_is_found(change: Callable[[Program], Program], rule: str, words: str) -> None:
    found = [finding for finding in errors(verify_program(change(direct_allgather(3)))) if finding.rule == rule]
    assert any(words in finding.message for finding in found), found


def test_counts_must_agree_on_both_ends() -> None:
    program = mutated(
        direct_allgather(2, 2), 1, 1, lambda steps: [steps[0], *(steps[1]._replace(cnt=1, dst=o(k)) for k in (0, 1))]
    )
    found = errors(verify_program(program))
    assert rules(found) == {"count"}
    assert "count mismatch on 0->1 channel 0: cnt 2 sent, 1+1 received" in found[0].message


def test_extra_sends_and_receives_are_unmatched() -> None:
    more = mutated(direct_allgather(2), 0, 1, lambda steps: [*steps, steps[0]])
    assert (
        "unmatched send on 0->1 channel 0: 2 messages are sent, 1 received" in errors(verify_program(more))[0].message
    )


def test_a_nop_must_be_followed_by_a_step_with_a_dependence() -> None:
    program = allpairs_allreduce(3)
    open_chain = mutated(program, 0, 2, lambda steps: [*steps[:2], steps[2]._replace(depends=None), steps[3]])
    assert rules(verify_program(open_chain)) == {"nop"}


def test_nops_that_runtimes_drop_or_lose_are_warnings() -> None:
    nop = Step(StepType.NOP, i(0), i(0), 0)

    def more(steps: list[Step]) -> list[Step]:
        return [*steps, nop._replace(depends=(0, 1), has_dependents=True)]

    found = verify_program(mutated(allpairs_allreduce(3), 0, 2, more))
    assert [(finding.severity, finding.rule) for finding in found] == [("warning", "nop"), ("warning", "nop")]


def test_a_nop_without_dependence_shifts_the_numbers_of_later_steps() -> None:
    nop = Step(StepType.NOP, i(0), i(0), 0)
    shifted = mutated(allpairs_allreduce(3), 0, 0, lambda steps: [nop, *steps])
    assert errors(verify_program(shifted)) == ()
    counted = mutated(
        shifted, 0, 2, lambda steps: [s._replace(depends=(0, 2)) if s.depends == (0, 1) else s for s in steps]
    )
    assert "deadlock" in rules(verify_program(counted))


def reductions(count: int, **last: object) -> Program:
    """One rank that adds ``count`` scratch chunks to its output in a row."""
    b = Builder("custom", 1, 1, scratch=count)
    b.add((0, -1, -1, 0), "cpy", src=i(0), dst=o(0))
    for k in range(count):
        b.add((0, -1, -1, 0), "cpy", src=i(0), dst=s(k))
    for k in range(count):
        b.add((0, -1, -1, 0), "re", src=s(k), dst=o(0))
    return mutated(b.build(in_place=False), 0, 0, lambda steps: [*steps[:-1], steps[-1]._replace(**last)])


def test_at_most_sixteen_reductions_are_fused() -> None:
    assert errors(verify_program(reductions(16))) == ()
    assert errors(verify_program(reductions(20))) == ()
    two_chains = mutated(
        reductions(20), 0, 0, lambda steps: [*steps[:22], steps[22]._replace(has_dependents=True), *steps[23:]] * 2
    )
    found = errors(verify_program(two_chains))
    assert rules(found) == {"limit"}
    assert "more than 16 reductions are fused from tb 0 step 64 (re) on" in found[0].message


def test_fused_reductions_must_have_one_count() -> None:
    found = errors(verify_program(reductions(3, cnt=0)))
    assert rules(found) == {"fusion"}


def test_long_thread_blocks_are_for_one_runtime_only() -> None:
    def longer(count: int) -> tuple[Finding, ...]:
        copy = Step(StepType.COPY, i(0), o(0), 1)
        return verify_program(mutated(direct_allgather(2), 0, 0, lambda steps: [*steps, *[copy] * (count - 1)]))

    assert longer(64) == ()
    assert [(finding.severity, finding.rule) for finding in longer(65)] == [("warning", "limit")]
    assert [(finding.severity, finding.rule) for finding in longer(257)] == [("error", "limit")]


def test_thread_block_ids_beyond_a_signed_byte_cannot_be_waited_for() -> None:
    b = Builder("custom", 1, 130)
    for k in range(129):
        last = b.add((0, -1, -1, k), "cpy", src=i(k), dst=o(k))
    b.add((0, -1, -1, 200), "cpy", src=i(129), dst=o(129), after=last)
    program = b.build(in_place=False)
    blocks = tuple(replace(block, channel=0) for block in program.ranks[0].blocks)
    found = errors(verify_program(with_rank(replace(program, channels=1), 0, replace(program.ranks[0], blocks=blocks))))
    assert [finding.rule for finding in found] == ["limit"]
    assert "waits for tb 128" in found[0].message


def test_many_findings_of_a_rule_are_counted() -> None:
    program = mutated(direct_allgather(2), 0, 0, lambda steps: [steps[0]._replace(src=i(9))] * (MOST + 5))
    found = errors(verify_program(program))
    assert len(found) == MOST + 1
    assert found[-1].message == "5 more of this kind"


@st.composite
def changed_programs(draw: st.DrawFn) -> Program:
    """A right program with one or two steps moved, redirected, freed or dropped."""
    program = draw(st.sampled_from([*GOOD.values()]))
    for _ in range(draw(st.integers(1, 2))):
        places = steps_of(program)
        if not places:
            break
        rank, block, index = draw(st.sampled_from(places))
        program = mutated(program, rank, block, lambda steps, index=index: draw(changed_steps(steps, index)))
    return program


@st.composite
def changed_steps(draw: st.DrawFn, steps: list[Step], index: int) -> list[Step]:
    step = steps[index]
    offset = st.integers(0, 3)
    change = draw(st.sampled_from(["free", "swap", "source", "target", "drop", "wait", "type"]))
    if change == "free":
        steps[index] = step._replace(depends=None)
    elif change == "swap":
        other = draw(st.integers(0, len(steps) - 1))
        steps[index], steps[other] = steps[other], step
    elif change == "source":
        steps[index] = step._replace(src=draw(st.sampled_from([i, o, s]))(draw(offset)))
    elif change == "target":
        steps[index] = step._replace(dst=draw(st.sampled_from([i, o, s]))(draw(offset)))
    elif change == "drop":
        del steps[index]
    elif change == "wait":
        steps[index] = step._replace(depends=(draw(offset), draw(offset)))
    else:
        steps[index] = step._replace(type=draw(st.sampled_from(StepType)))
    return steps


def root_of(found: tuple[Finding, ...]) -> int:
    told = [finding.message for finding in found if finding.rule == "root"]
    return int(told[0].split("rank ")[1].split(";")[0]) if told else 0


@given(changed_programs(), st.integers(0, 2**16), st.sampled_from([1, 2, 71]))
def test_what_verify_accepts_computes_the_right_numbers(program: Program, seed: int, chunks: int) -> None:
    if not errors(verify_program(program, size_bytes=2**40 if chunks == 1 else 1)):
        root = root_of(verify_program(program))
        assert errors(replay_findings(program, seed=seed, root=root, chunks_per_message=chunks)) == ()


@given(changed_programs(), st.integers(0, 2**16))
def test_wrong_results_and_hangs_show_in_numbers_too(program: Program, seed: int) -> None:
    found = rules(verify_program(program, size_bytes=1))
    certain = {"wrong", "reduction", "uninitialised", "deadlock"}
    if found <= certain and found & {"wrong", "deadlock"}:
        root = root_of(verify_program(program))
        assert errors(replay_findings(program, seed=seed, root=root)) != ()


def test_what_is_wrong_in_one_kind_of_custom_call_only_is_a_warning() -> None:
    b = Builder("custom", 2, 2)
    for r in range(2):
        b.add((r, 1 - r, -1, 0), "s", src=i(0))
        b.add((r, -1, 1 - r, 0), "r", dst=o(0))
    found = verify_program(b.build())
    assert {(finding.severity, finding.rule) for finding in found} == {("warning", "race")}
    assert all(finding.message.endswith("(in place)") for finding in found)
