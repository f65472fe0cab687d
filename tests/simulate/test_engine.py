from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.simulate.engine import run_static
from syccl.simulate.machine import Machine
from tests.simulate.machines import MB, US, Draft, serial_machines
from tests.simulate.reference import reference_run

RATE = 20e9
COPY = MB / RATE
"""Time in which a thread block moves a megabyte."""


def test_one_message_takes_bytes_over_bandwidth_then_latency_then_the_copy_of_a_slice() -> None:
    draft = Draft([10e9])
    draft.message(MB, route=draft.route((0, 1.0), latency_s=2 * US), connection="a")
    run = run_static(draft.machine())
    assert run.finish == pytest.approx([MB / 10e9, MB / 10e9 + 2 * US + COPY / 2], rel=1e-12)
    assert run.start == [0.0, 0.0]
    assert not run.stuck


def test_a_thread_block_sends_at_its_own_rate_over_a_faster_link() -> None:
    draft = Draft([300e9])
    send, _ = draft.message(MB, route=draft.route((0, 1.0)), connection="a")
    assert run_static(draft.machine()).finish[send] == pytest.approx(COPY)


def test_two_flows_share_a_link_and_the_longer_one_speeds_up() -> None:
    draft = Draft([10e9])
    route = draft.route((0, 1.0))
    short, _ = draft.message(MB, route=route, connection="a")
    long, _ = draft.message(3 * MB, route=route, connection="b")
    run = run_static(draft.machine())
    assert run.finish[short] == pytest.approx(2 * MB / 10e9)
    assert run.finish[long] == pytest.approx(4 * MB / 10e9)


def test_flows_of_different_routes_are_max_min_fair() -> None:
    draft = Draft([9e9, 15e9])
    both, first, second = draft.route((0, 1.0), (1, 1.0)), draft.route((0, 1.0)), draft.route((1, 1.0))
    sends = [draft.message(MB, route=route, connection=i)[0] for i, route in enumerate([both, first, first, second])]
    run = run_static(draft.machine())
    # 3 GB/s each on link 0; the last has 12 of link 1 until it is done.
    assert [run.finish[s] for s in sends] == pytest.approx([MB / 3e9, MB / 3e9, MB / 3e9, MB / 12e9])


def test_weights_stand_for_images_on_the_same_link() -> None:
    draft = Draft([25e9])
    send, _ = draft.message(MB, route=draft.route((0, 2.0)), connection="a")
    assert run_static(draft.machine()).finish[send] == pytest.approx(MB / 12.5e9)


def test_a_full_fifo_stalls_the_sender() -> None:
    draft = Draft([20e9], depth=2)
    route = draft.route((0, 1.0))
    blocker = draft.task(("receive", "a"), 10 * MB)
    sends = [draft.message(MB, route=route, connection="a")[0] for _ in range(3)]
    run = run_static(draft.machine())
    assert run.finish[blocker] == pytest.approx(10 * COPY)
    assert [run.start[s] for s in sends] == pytest.approx([0, COPY, 11 * COPY])


def test_deeper_fifos_stall_later() -> None:
    draft = Draft([20e9], depth=3)
    route = draft.route((0, 1.0))
    draft.task(("receive", "a"), 10 * MB)
    sends = [draft.message(MB, route=route, connection="a")[0] for _ in range(3)]
    assert run_static(draft.machine()).start[sends[2]] == pytest.approx(2 * COPY)


def test_a_late_receive_copies_the_whole_message() -> None:
    draft = Draft([20e9])
    draft.task(("receive", "a"), 5 * MB)
    _, taken = draft.message(MB, route=draft.route((0, 1.0)), connection="a")
    assert run_static(draft.machine()).finish[taken] == pytest.approx(6 * COPY)


def test_a_task_waits_for_its_prerequisites() -> None:
    draft = Draft([20e9])
    first = draft.task("a", MB)
    second = draft.task("b", 2 * MB)
    last = draft.task("c", MB, after=(first, second))
    run = run_static(draft.machine())
    assert run.start[last] == pytest.approx(2 * COPY)
    assert run.seconds == pytest.approx(3 * COPY)


@pytest.mark.parametrize(("slices", "delay"), [(1, 1.0), (2, 0.5), (4, 0.25)])
def test_a_fused_step_starts_with_the_first_slice(slices: int, delay: float) -> None:
    draft = Draft([20e9, 20e9], slices=slices)
    first, second = draft.route((0, 1.0), latency_s=US), draft.route((1, 1.0), latency_s=US)
    draft.task("a", MB, route=first, sends="ab")
    fused = draft.task("b", MB, route=second, sends="bc", receives="ab")
    last = draft.task("c", MB, receives="bc")
    run = run_static(draft.machine())
    assert run.start[fused] == pytest.approx(delay * COPY + US)
    assert run.finish[fused] == pytest.approx((1 + delay) * COPY + US)
    assert run.finish[last] == pytest.approx((1 + 2 * delay) * COPY + 2 * US)


def test_a_fused_step_does_not_end_before_its_slow_input_has_arrived() -> None:
    draft = Draft([5e9, 20e9])
    draft.task("a", MB, route=draft.route((0, 1.0)), sends="ab")
    fused = draft.task("b", MB, route=draft.route((1, 1.0)), sends="bc", receives="ab")
    draft.task("c", MB, receives="bc")
    assert run_static(draft.machine()).finish[fused] == pytest.approx(4 * COPY + COPY / 2)


@given(st.integers(2, 8), st.integers(1, 3))
def test_a_pipelined_ring_of_fused_steps_has_its_closed_form(ranks: int, slices: int) -> None:
    draft = Draft([10e9] * ranks, slices=slices)
    routes = [draft.route((i, 1.0), latency_s=US) for i in range(ranks)]
    steps = 2 * ranks - 1
    for rank in range(ranks):
        for step in range(steps):
            sends = {"route": routes[rank], "sends": rank} if step < steps - 1 else {}
            receives = {"receives": (rank - 1) % ranks} if step > 0 else {}
            draft.task(rank, MB, **sends, **receives)  # type: ignore[arg-type]
    run = run_static(draft.machine())
    # A block sends back to back, but whole messages have to arrive first; the last receive copies one message.
    sending = (steps - 1) * MB / 10e9
    stall = 0.0 if slices > 1 else (steps - 2) * US
    assert run.seconds == pytest.approx(sending + stall + max(COPY, US + COPY / slices))


def test_a_receive_without_a_send_is_stuck_and_so_is_what_follows() -> None:
    draft = Draft([20e9])
    lost = draft.task("a", MB, receives="nobody")
    after = draft.task("a", MB)
    free = draft.task("b", MB)
    run = run_static(draft.machine())
    assert run.stuck == (lost, after)
    assert run.finish[lost] != run.finish[lost]
    assert run.finish[free] == run.seconds == pytest.approx(COPY)


def test_a_message_that_nobody_takes_blocks_the_sender_when_the_fifo_is_full() -> None:
    draft = Draft([20e9], depth=2)
    route = draft.route((0, 1.0))
    sends = [draft.task("a", MB, route=route, sends="ab") for _ in range(3)]
    assert run_static(draft.machine()).stuck == (sends[2],)


def test_everybody_sending_before_receiving_deadlocks_beyond_the_depth() -> None:
    def stuck(messages: int) -> bool:
        draft = Draft([20e9, 20e9], depth=2)
        routes = [draft.route((0, 1.0)), draft.route((1, 1.0))]
        for rank in range(2):
            for _ in range(messages):
                draft.task(rank, MB, route=routes[rank], sends=rank)
            for _ in range(messages):
                draft.task(rank, MB, receives=1 - rank)
        return bool(run_static(draft.machine()).stuck)

    assert [stuck(n) for n in (1, 2, 3)] == [False, False, True]


def test_nothing_to_do_takes_no_time() -> None:
    run = run_static(Draft([1.0]).machine())
    assert (run.seconds, run.start, run.stuck) == (0.0, [], ())


def test_a_message_costs_the_overheads_of_both_ends_and_the_launch() -> None:
    draft = Draft([10e9])
    draft.message(MB, route=draft.route((0, 1.0), latency_s=2 * US), connection="a")
    plain = run_static(draft.machine())
    sender_s, receiver_s, launch_s = 3 * US, 1 * US, 7 * US
    charged = run_static(replace(draft.machine(), overheads=[sender_s, receiver_s], launch_s=launch_s))
    assert charged.start == [launch_s, launch_s]
    assert charged.seconds == pytest.approx(plain.seconds + launch_s + sender_s, rel=1e-12)
    late = run_static(replace(draft.machine(), overheads=[0.0, 1.0]))
    assert late.seconds == pytest.approx(1.0 + COPY, rel=1e-12)


def test_steps_of_one_block_add_up_their_overheads() -> None:
    draft = Draft([])
    for _ in range(4):
        draft.task("block", MB)
    charged = run_static(replace(draft.machine(), overheads=[2 * US] * 4, local_rate=RATE / 2))
    assert charged.seconds == pytest.approx(4 * (2 * US + 2 * COPY), rel=1e-12)


@given(serial_machines(), st.integers(0, 100))
def test_an_overhead_never_makes_a_program_end_before_its_bytes_could(machine: Machine, task: int) -> None:
    overheads = list(machine.overheads) or [0.0] * len(machine.block)
    overheads[task % len(overheads)] += 50 * US
    run = run_static(replace(machine, overheads=overheads))
    assert not run.stuck
    last = task % len(overheads)
    assert run.finish[last] >= run.start[last] + 50 * US


@given(serial_machines())
def test_the_engine_agrees_with_the_reference(machine: Machine) -> None:
    start, finish = reference_run(machine)
    run = run_static(machine)
    assert len(finish) == len(machine.block)
    assert not run.stuck
    assert run.finish == pytest.approx([finish[i] for i in range(len(finish))], rel=1e-6, abs=1e-12)
    assert run.start == pytest.approx([start[i] for i in range(len(start))], rel=1e-6, abs=1e-12)


@given(serial_machines())
def test_no_link_carries_more_than_its_bandwidth(machine: Machine) -> None:
    carried = [0.0] * len(machine.capacities)
    for route, size in zip(machine.route, machine.size, strict=True):
        if route >= 0:
            for resource, weight in machine.routes[route].uses:
                carried[resource] += weight * size
    seconds = run_static(machine).seconds
    assert all(b <= seconds * c * (1 + 1e-9) for b, c in zip(carried, machine.capacities, strict=True))


@given(serial_machines(), st.integers(2, 3))
def test_iterations_equal_the_program_written_out(machine: Machine, iterations: int) -> None:
    n = len(machine.block)
    written = replace(
        machine,
        block=list(machine.block) * iterations,
        size=list(machine.size) * iterations,
        route=list(machine.route) * iterations,
        sends=list(machine.sends) * iterations,
        receives=list(machine.receives) * iterations,
        prerequisites=[[k * n + i for i in tasks] for k in range(iterations) for tasks in machine.prerequisites],
        overheads=list(machine.overheads) * iterations,
    )
    assert run_static(machine, iterations=iterations).finish == run_static(written).finish
