from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from syccl.program.columns import columns
from syccl.program.ir import Program
from syccl.program.matching import match
from syccl.program.order import chunks_per_message, circle, execute, split
from tests.program.programs import Builder, direct_allgather, i, o, ring_allreduce


def parts_of(program: Program, *, chunks: int = 1, depth: int | None = 2):
    table = columns(program)
    matching, found = match(program, table)
    assert not found
    return split(table, matching, chunks=chunks, depth=depth)


@st.composite
def exchanges(draw: st.DrawFn) -> Program:
    """Two or three ranks with random orders of sends and receives of random counts, all matched, some waiting."""
    ranks = draw(st.integers(2, 3))
    b = Builder("custom", ranks, 12)
    for pair in range(draw(st.integers(1, 4))):
        a = draw(st.integers(0, ranks - 1))
        c = (a + draw(st.integers(1, ranks - 1))) % ranks
        counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        fused = draw(st.booleans())
        for count in counts:
            back = (c, a, a, pair) if fused else (c, -1, a, pair)
            b.add((a, c, c if fused else -1, pair), "s", src=i(0), cnt=count)
            b.add(back, "r", dst=o(0), cnt=count)
        if fused:
            for count in counts:
                b.add((c, a, a, pair), "s", src=i(0), cnt=count)
                b.add((a, c, c, pair), "r", dst=o(0), cnt=count)
    for key in list(b.steps):
        b.steps[key] = draw(st.permutations(b.steps[key])) if draw(st.booleans()) else b.steps[key]
    return b.build(in_place=False)


@given(exchanges(), st.integers(1, 4))
def test_a_program_that_ends_in_small_messages_ends_in_larger_ones(program: Program, depth: int) -> None:
    table = columns(program)
    matching, found = match(program, table)
    assume(not found)
    ends = [not execute(split(table, matching, chunks=chunks, depth=depth))[1] for chunks in (1, 2, 3, 4)]
    assert ends == sorted(ends)


@given(exchanges())
def test_orders_obey_every_wait(program: Program) -> None:
    table = columns(program)
    matching, found = match(program, table)
    assume(not found)
    parts = split(table, matching, chunks=1, depth=2)
    order, stuck = execute(parts)
    place = {part: k for k, part in enumerate(order)}
    for part in order:
        for column in (parts.depends, parts.takes, parts.slot):
            assert column[part] < 0 or place[int(column[part])] < place[part]
    assert bool(stuck) == (len(order) < len(parts.step))
    if stuck:
        waits = circle(parts, stuck)
        assert len(waits) >= 1
        for (_, awaited, _), (nearest, _, _) in zip(waits, [*waits[1:], waits[0]], strict=True):
            assert parts.block[awaited] == parts.block[nearest]
            assert nearest <= awaited


def test_steps_are_split_into_messages() -> None:
    parts = parts_of(direct_allgather(2, 5), chunks=2)
    assert parts.step.tolist() == [k for k in range(6) for _ in range(3)]
    assert parts.chunk.tolist() == [0, 2, 4] * 6
    assert parts.takes[6:9].tolist() == [12, 13, 14]
    assert parts.slot[3:6].tolist() == [-1, -1, 15]


def test_a_ring_ends_with_one_message_a_connection_only_if_not_all_send_first() -> None:
    assert execute(parts_of(ring_allreduce(4), depth=2))[1] == []
    assert execute(parts_of(ring_allreduce(4), depth=1))[1] != []


def test_chunks_per_message_follow_the_protocol_and_the_size() -> None:
    program = direct_allgather(8)
    assert chunks_per_message(program, 8 * 2**20) == 2
    assert chunks_per_message(program, 16 * 2**20) == 1
    assert chunks_per_message(program, 2**40) == 1
    assert chunks_per_message(program, 8) == 71
