from __future__ import annotations

import pytest
from hypothesis import given

from syccl.simulate.dry_run import dry_run
from syccl.simulate.engine import run_static
from syccl.simulate.machine import Machine, recorded
from tests.simulate.machines import MB, US, Draft, serial_machines

COPY = MB / 20e9


def test_the_most_urgent_task_goes_first() -> None:
    draft = Draft([20e9])
    route = draft.route((0, 1.0))
    sends = [draft.message(MB, route=route, connection="a", priority=p)[0] for p in (1.0, 3.0, 2.0)]
    run = dry_run(draft.machine())
    assert run.order[0] == (sends[1], sends[2], sends[0])


def test_equal_tasks_go_in_order_of_number() -> None:
    draft = Draft([20e9])
    tasks = [draft.task("a", MB) for _ in range(4)]
    assert dry_run(draft.machine()).order == (tuple(tasks),)


def test_a_block_takes_what_can_start_now_over_what_is_more_urgent() -> None:
    draft = Draft([20e9])
    slow = draft.task("other", MB)
    urgent = draft.task("a", MB, priority=9.0, after=(slow,))
    ready = draft.task("a", 2 * MB)
    run = dry_run(draft.machine())
    assert run.order[1] == (ready, urgent)
    assert run.seconds == pytest.approx(3 * COPY)


def test_receives_come_in_the_order_in_which_the_sender_sent() -> None:
    draft = Draft([20e9])
    route = draft.route((0, 1.0))
    gate = draft.task("gate", MB)
    late = draft.task("s", MB, route=route, sends="c", after=(gate,))
    early = draft.task("s", MB, route=route, sends="c")
    take_late = draft.task("r", MB, receives="c", incoming=late, priority=5.0)
    take_early = draft.task("r", MB, receives="c", incoming=early)
    run = dry_run(draft.machine())
    assert run.order[1:] == ((early, late), (take_early, take_late))


def test_a_send_waits_for_a_slot_and_other_work_goes_on() -> None:
    draft = Draft([20e9], depth=1)
    route = draft.route((0, 1.0))
    gate = draft.task("gate", 5 * MB)
    first = draft.task("s", MB, route=route, sends="c", priority=9.0)
    second = draft.task("s", MB, route=route, sends="c", priority=9.0)
    filler = draft.task("s", MB)
    draft.task("r", MB, receives="c", incoming=first, after=(gate,))
    draft.task("r", MB, receives="c", incoming=second)
    run = dry_run(draft.machine())
    assert run.order[1] == (first, filler, second)
    assert run.start[second] == pytest.approx(6 * COPY)


def test_a_lock_is_held_by_one_task_at_a_time_and_its_order_is_recorded() -> None:
    draft = Draft([100e9, 100e9])
    takes = []
    for name, latency_s in (("slow", 5 * US), ("fast", 0.0)):
        route = draft.route((len(takes), 1.0), latency_s=latency_s)
        send = draft.task(("s", name), MB, route=route, sends=name)
        takes.append(draft.task(("r", name), MB, receives=name, incoming=send, lock="sum"))
    run = dry_run(draft.machine())
    slow, fast = takes
    assert run.lock_order == ((fast, slow),)
    # The fast receive follows its message at a slice's distance; the slow one then copies a whole message.
    assert run.finish[fast] == pytest.approx(1.5 * COPY)
    assert run.start[slow] == pytest.approx(1.5 * COPY)
    assert run.finish[slow] == pytest.approx(2.5 * COPY)


def test_a_waiting_lock_lets_the_block_do_other_work() -> None:
    draft = Draft([1.0])
    draft.task("a", 3 * MB, lock="sum")
    locked = draft.task("b", MB, lock="sum", priority=1.0)
    other = draft.task("b", MB)
    run = dry_run(draft.machine())
    assert run.order[1] == (other, locked)
    assert run.start[locked] == pytest.approx(3 * COPY)


def ring(pieces: int, depth: int) -> Machine:
    """Four blocks that each pass ``pieces`` pieces of their own once around, every step fused."""
    draft = Draft([20e9] * 4, depth=depth)
    routes = [draft.route((i, 1.0)) for i in range(4)]
    for piece in range(pieces):
        for root in range(4):
            sender = draft.task(root, MB, route=routes[root], sends=root, priority=-piece)
            for hop in range(1, 4):
                at = (root + hop) % 4
                out = {"route": routes[at], "sends": at} if hop < 3 else {}
                sender = draft.task(  # type: ignore[misc]
                    at, MB, receives=(at - 1) % 4, incoming=sender, priority=-piece, **out
                )
    return draft.machine()


@pytest.mark.parametrize("pieces", [1, 2, 4, 8])
def test_a_ring_of_forwarded_messages_keeps_a_bubble_and_never_locks_up(pieces: int) -> None:
    run = dry_run(ring(pieces, depth=2))
    assert not run.stuck
    assert run.seconds >= 3 * pieces * COPY


def test_a_deadlock_is_reported_not_raised() -> None:
    draft = Draft([20e9])
    first = draft.task("a", MB, after=(1,))
    second = draft.task("b", MB, after=(0,))
    assert dry_run(draft.machine()).stuck == (first, second)


@given(serial_machines())
def test_a_recorded_order_does_not_deadlock(machine: Machine) -> None:
    run = dry_run(machine)
    if not run.stuck:
        assert sorted(task for tasks in run.order for task in tasks) == list(range(len(machine.block)))
        assert not run_static(recorded(machine, run)).stuck


@given(serial_machines())
def test_a_recorded_order_without_forwarding_takes_the_recorded_times(machine: Machine) -> None:
    run = dry_run(machine)
    again = run_static(recorded(machine, run))
    forwards = any(out >= 0 and taken >= 0 for out, taken in zip(machine.sends, machine.receives, strict=True))
    if not (run.stuck or forwards or machine.overheads):
        assert again.finish == pytest.approx(run.finish, rel=1e-9, abs=1e-15)


def test_recording_turns_locks_into_prerequisites() -> None:
    draft = Draft([1.0])
    tasks = [draft.task(name, MB, lock="sum") for name in "abc"]
    machine = draft.machine()
    run = dry_run(machine)
    fixed = recorded(machine, run)
    assert run.lock_order == (tuple(tasks),)
    assert fixed.prerequisites == [[], [tasks[0]], [tasks[1]]]
    assert run_static(fixed).finish == pytest.approx(run.finish)
