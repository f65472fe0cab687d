from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import FindingsError, InputError
from syccl.program import Program
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.program_time import ProgramTime, simulate_program
from syccl.symmetry import trivial_group
from tests import strategies
from tests.simulate import programs
from tests.simulate.programs import T, block, program, step

MIB = 1 << 20
COPY = MIB / 20e9
RATE, ALPHA = 10_000_000_000, 1e-6
LINE = strategies.ring(2, rate=RATE, latency_ps=1_000_000)
SWITCH = strategies.one_switch(4, rate=RATE, latency_ps=500_000)


def seconds(given_program: Program, size_bytes: int = MIB) -> float:
    return simulate_program(given_program, LINE, size_bytes=size_bytes).seconds


def test_one_message_over_one_link() -> None:
    time = simulate_program(programs.one_message(), LINE, size_bytes=MIB)
    assert time.seconds == pytest.approx(MIB / RATE + ALPHA + COPY / 2)
    assert time.link_bytes.tolist() == [MIB, 0]
    assert time.bottleneck == 0
    assert time.utilisation[0] == pytest.approx(MIB / RATE / time.seconds)
    assert (time.iterations, time.quotient) == (1, False)


def test_a_local_copy_runs_at_the_thread_block_rate_and_loads_no_link() -> None:
    time = simulate_program(program([block(0, [step(T.COPY, 3)])], [], chunks=4), LINE, size_bytes=4 * MIB)
    assert time.seconds == pytest.approx(3 * COPY)
    assert time.bottleneck is None
    assert not time.link_bytes.any()


def test_an_empty_program_takes_no_time() -> None:
    time = simulate_program(program([], []), LINE, size_bytes=MIB)
    assert (time.seconds, time.bottleneck) == (0.0, None)


def test_a_step_of_many_chunks_travels_in_as_few_messages_as_fit() -> None:
    # Two messages of 2 MiB: the receive follows half a message behind.
    given_program = programs.one_message(4, chunks=4)
    assert seconds(given_program, 4 * MIB) == pytest.approx(4 * MIB / RATE + ALPHA + COPY)
    # One message of 4 chunks.
    assert seconds(given_program, MIB) == pytest.approx(MIB / RATE + ALPHA + COPY / 2)


def test_a_large_chunk_loops_and_its_parts_are_pipelined() -> None:
    time = simulate_program(programs.one_message(), LINE, size_bytes=6 * MIB)
    assert time.iterations == 3
    assert time.seconds == pytest.approx(6 * MIB / RATE + ALPHA + COPY)
    assert time.link_bytes.tolist() == [6 * MIB, 0]


def test_a_dependency_delays_a_step() -> None:
    copy = block(0, [step(T.COPY), step(T.COPY, publishes=True)])
    waits = block(1, [step(T.COPY, depends=(0, 1))])
    assert seconds(program([copy, waits], [])) == pytest.approx(3 * COPY)


def test_a_later_publishing_step_releases_a_dependency() -> None:
    copy = block(0, [step(T.COPY), step(T.COPY, publishes=True), step(T.COPY, publishes=True)])
    waits = block(1, [step(T.COPY, depends=(0, 0))])
    assert seconds(program([copy, waits], [])) == pytest.approx(3 * COPY)


def test_a_no_op_adds_its_dependency_to_the_next_real_step() -> None:
    slow = block(0, [step(T.COPY), step(T.COPY), step(T.COPY, publishes=True)])
    quick = block(1, [step(T.COPY, publishes=True)])
    waits = block(2, [step(T.NOP, depends=(0, 2)), step(T.COPY, depends=(1, 0))])
    assert seconds(program([slow, quick, waits], [])) == pytest.approx(4 * COPY)


def test_a_step_of_no_chunks_moves_nothing_but_publishes() -> None:
    flag = block(0, [step(T.COPY), step(T.COPY, 0, publishes=True)])
    waits = block(1, [step(T.COPY, depends=(0, 1))])
    assert seconds(program([flag, waits], [])) == pytest.approx(2 * COPY)
    silent = programs.one_message(0)
    assert seconds(silent) == 0.0


def test_flags_hold_in_every_iteration() -> None:
    first = block(0, [step(T.COPY, publishes=True)])
    second = block(1, [step(T.COPY, depends=(0, 0))])
    # 3 iterations of 2 MiB: the second block runs one iteration behind the first.
    assert seconds(program([first, second], []), 6 * MIB) == pytest.approx(4 * 2 * COPY)


def test_a_flag_that_nobody_publishes_is_a_deadlock_that_names_the_step() -> None:
    copy = block(0, [step(T.COPY)])
    waits = block(7, [step(T.COPY), step(T.COPY, depends=(0, 0))])
    with pytest.raises(FindingsError, match=r"deadlocks at 1MiB: .*rank 0 thread block 7 step 1 \(cpy\)$"):
        seconds(program([copy, waits], []))


def test_a_dependency_on_a_missing_block_is_a_deadlock() -> None:
    with pytest.raises(FindingsError, match="deadlocks"):
        seconds(program([block(0, [step(T.COPY, depends=(5, 0))])], []))


def test_sending_several_messages_before_receiving_hangs_only_at_large_sizes() -> None:
    kinds = [T.SEND, T.RECV]
    both = program(
        [block(0, [step(kind, 3) for kind in kinds], send=1, recv=1)],
        [block(0, [step(kind, 3) for kind in kinds], send=0, recv=0)],
        chunks=3,
    )
    assert seconds(both, MIB) > 0
    with pytest.raises(FindingsError, match=r"rank 0 thread block 0 step 0 \(s\); rank 1 thread block 0 step 0"):
        seconds(both, 6 * MIB)
    with pytest.raises(FindingsError, match=r"and 3 more thread blocks$"):
        simulate_program(programs.ring_allreduce(8, cnt=3), strategies.ring(8), size_bytes=48 * MIB)
    deeper = simulate_program(both, LINE, size_bytes=6 * MIB, protocol=PROTOCOLS["LL128"])
    assert deeper.iterations == 4


def test_protocols_with_flags_put_more_on_the_wire() -> None:
    for name, factor in (("LL", 2.0), ("LL128", 16 / 15)):
        time = simulate_program(programs.one_message(protocol=name), LINE, size_bytes=MIB // 64)
        assert time.link_bytes[0] == pytest.approx(factor * MIB / 64)
        assert time.seconds == pytest.approx(factor * MIB / 64 * (1 / RATE + 1 / 20e9) + ALPHA)


@given(st.integers(2, 6), st.integers(1, 3))
def test_a_ring_allreduce_has_its_closed_form(ranks: int, channels: int) -> None:
    topology = strategies.one_switch(ranks, rate=RATE, latency_ps=500_000)
    size = ranks * channels * MIB
    time = simulate_program(programs.ring_allreduce(ranks, channels=channels), topology, size_bytes=size)
    steps = 2 * (ranks - 1)
    per_step = MIB * channels / RATE
    assert time.seconds == pytest.approx(steps * per_step + max(COPY, ALPHA + COPY / 2))
    assert time.link_bytes == pytest.approx(np.full(2 * ranks, steps * channels * MIB))


def test_a_direct_exchange_is_limited_by_its_links_or_by_its_blocks() -> None:
    size = 4 * MIB
    narrow = simulate_program(programs.direct_allgather(4), SWITCH, size_bytes=size)
    assert narrow.seconds == pytest.approx(COPY + 3 * MIB / RATE + ALPHA + COPY / 2)
    wide = strategies.one_switch(4, rate=100 * RATE, latency_ps=500_000)
    time = simulate_program(programs.direct_allgather(4), wide, size_bytes=size)
    assert time.seconds == pytest.approx(COPY + COPY + ALPHA + COPY / 2)


def cases() -> list[tuple[str, Program]]:
    return [
        ("ring", programs.ring_allreduce(4)),
        ("three rings", programs.ring_allreduce(4, channels=3)),
        ("direct", programs.direct_allgather(4, pieces=3)),
        ("direct, blocks numbered differently", programs.direct_allgather(4, pieces=3, relabel=True)),
    ]


def same(quotient: ProgramTime, explicit: ProgramTime) -> bool:
    return (
        quotient.quotient
        and not explicit.quotient
        and quotient.seconds == pytest.approx(explicit.seconds, rel=1e-9)
        and quotient.link_bytes == pytest.approx(explicit.link_bytes, rel=1e-9)
        and quotient.bottleneck == explicit.bottleneck
        and quotient.iterations == explicit.iterations
    )


@pytest.mark.parametrize("size", [4096, 12 * MIB, 96 * MIB])
@pytest.mark.parametrize(("name", "given_program"), cases(), ids=[name for name, _ in cases()])
def test_the_quotient_gives_the_time_of_the_explicit_program(name: str, given_program: Program, size: int) -> None:
    for topology in (SWITCH, strategies.mesh(4)):
        explicit = simulate_program(given_program, topology, size_bytes=size)
        for by in (1, 2):
            group = programs.rotation(topology, by)
            assert same(simulate_program(given_program, topology, size_bytes=size, group=group), explicit)


@pytest.mark.parametrize("nics", [1, 2, 4])
@pytest.mark.parametrize("given_program", [programs.direct_allgather(8, pieces=2), programs.ring_allreduce(8)])
def test_the_quotient_shares_nics_between_images(given_program: Program, nics: int) -> None:
    topology = strategies.two_servers(4, nics=nics)
    group = programs.server_swap(topology)
    assert group.order == 2
    explicit = simulate_program(given_program, topology, size_bytes=32 * MIB)
    assert same(simulate_program(given_program, topology, size_bytes=32 * MIB, group=group), explicit)


def test_a_program_that_the_group_does_not_keep_is_simulated_rank_by_rank() -> None:
    given_program = programs.direct_allgather(4)
    explicit = simulate_program(given_program, SWITCH, size_bytes=MIB)
    first, *rest = given_program.ranks
    longer = replace(first, blocks=(*first.blocks[:-1], replace(first.blocks[-1], steps=(), recv=-1)))
    shorter = replace(rest[0], blocks=tuple(replace(b, steps=()) if b.send == 0 else b for b in rest[0].blocks))
    ranks = (longer, *rest) if first.blocks[-1].recv != 1 else (longer, shorter, *rest[1:])
    lopsided = replace(given_program, ranks=ranks)
    time = simulate_program(lopsided, SWITCH, size_bytes=MIB, group=programs.rotation(SWITCH))
    assert not time.quotient
    assert time.link_bytes.sum() == explicit.link_bytes.sum() - 2 * MIB / 4


def test_the_trivial_group_means_no_quotient() -> None:
    group = trivial_group(SWITCH)
    assert not simulate_program(programs.ring_allreduce(4), SWITCH, size_bytes=MIB, group=group).quotient


@given(st.sampled_from(cases()), st.integers(1, 64 * MIB))
def test_bytes_are_conserved_and_no_link_is_over_full(case: tuple[str, Program], size: int) -> None:
    time = simulate_program(case[1], SWITCH, size_bytes=size)
    chunks = sum(s.cnt for rank in case[1].ranks for b in rank.blocks for s in b.steps if s.type.sends)
    assert time.link_bytes.sum() == pytest.approx(2 * chunks * size / case[1].chunks)
    assert (time.link_bytes / SWITCH.link_rates <= time.seconds * (1 + 1e-9)).all()
    assert time.utilisation.max() <= 1 + 1e-9


def test_ranks_without_a_route_are_named() -> None:
    line = strategies.ring(4)
    with pytest.raises(InputError, match=r"rank 0 sends to rank 2, but in topology 'ring4'"):
        simulate_program(programs.ring_allreduce(4, stride=2), line, size_bytes=MIB)


def test_another_number_of_ranks_is_refused() -> None:
    with pytest.raises(InputError, match=r"is for 2 ranks, topology 'switch4' has 4"):
        simulate_program(programs.one_message(), SWITCH, size_bytes=MIB)


@pytest.mark.parametrize(("chunks", "size", "complaint"), [(0, MIB, "0 chunks"), (1, 0, "for 0 bytes")])
def test_nothing_to_move_is_refused(chunks: int, size: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        simulate_program(programs.one_message(chunks=chunks), LINE, size_bytes=size)


def test_two_blocks_on_one_connection_are_refused() -> None:
    twice = program([block(0, [step(T.SEND)], send=1), block(3, [step(T.SEND)], send=1)], [])
    with pytest.raises(InputError, match=r"rank 0: thread blocks 0 and 3 both own the connection 0->1 on channel 0"):
        simulate_program(twice, LINE, size_bytes=MIB)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="unknown protocol 'Fast'"):
        simulate_program(programs.one_message(protocol="Fast"), LINE, size_bytes=MIB)
