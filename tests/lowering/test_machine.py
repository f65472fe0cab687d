"""Tasks as a machine."""

from __future__ import annotations

import itertools

import pytest

from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import Wiring, plan_tasks
from syccl.schedule import Schedule, expand
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.dry_run import dry_run
from syccl.simulate.machine import Machine
from tests.schedule.tiny import (
    COMPRESSED,
    EXPLICIT,
    LATENCY_PS,
    RATE,
    chain_broadcast,
    rail_allreduce,
    star_allgather,
    star_reducescatter,
)

SIZE = 1 << 14
ALPHA_S = LATENCY_PS * 1e-12


def machine(schedule: Schedule, wiring: Wiring | None = None, *, protocol: str = "Simple", copies: int = 1) -> Machine:
    tasks = plan_tasks(schedule, wiring or Wiring(1))
    return machine_of(schedule, tasks, PROTOCOLS[protocol], size_bytes=SIZE, copies=copies)


def test_a_link_orbit_is_one_resource_and_copies_load_it_together() -> None:
    quotient = machine(star_allgather(4))
    assert quotient.capacities == [RATE, RATE]
    assert {route.uses for route in quotient.routes} == {((0, 1.0), (1, 1.0))}
    assert [route.latency_s for route in quotient.routes] == pytest.approx([2 * ALPHA_S] * 3)


def test_links_that_several_copies_share_are_loaded_by_all_of_them() -> None:
    schedule = rail_allreduce(3, 2)
    sizes = {}
    links = schedule.symmetry.group.links.min(axis=0).tolist()
    for link in links:
        sizes[link] = sizes.get(link, 0) + 1
    made = machine(schedule)
    uses = sorted(weight for route in made.routes for _, weight in route.uses)
    assert uses == sorted(6 / sizes[links[link]] for route in schedule.routes for link in route)


def test_every_message_takes_its_bytes_on_the_wire_and_copies_only_their_own() -> None:
    for name, factor in (("Simple", 1.0), ("LL", 2.0), ("LL128", 16 / 15)):
        made = machine(star_allgather(4), protocol=name)
        sizes = {
            (send >= 0 or take >= 0): size
            for send, take, size in zip(made.sends, made.receives, made.size, strict=True)
        }
        assert sizes == {True: pytest.approx(SIZE / 4 * factor), False: pytest.approx(SIZE / 4)}
        assert (made.depth, made.slices) == (PROTOCOLS[name].depth, PROTOCOLS[name].slices)


def test_receives_take_what_the_same_row_sends() -> None:
    schedule = rail_allreduce(3, 2)
    tasks = plan_tasks(schedule, Wiring(2))
    made = machine(schedule, Wiring(2))
    for i, task in enumerate(tasks):
        if task.row_in >= 0:
            sender = made.incoming[i]
            assert tasks[sender].row_out == task.row_in
            assert made.receives[i] == made.sends[sender]


def test_rows_of_lower_order_go_first() -> None:
    schedule = star_allgather(4)
    made = machine(schedule)
    tasks = plan_tasks(schedule, Wiring(1))
    order = schedule.transfers.order.tolist()
    assert [made.priority[i] for i, task in enumerate(tasks) if task.row_out >= 0] == [
        -float(order[task.row_out]) for task in tasks if task.row_out >= 0
    ]


def test_several_copies_of_a_program_share_the_links_and_the_data() -> None:
    one, two = machine(star_allgather(4)), machine(star_allgather(4), copies=2)
    assert two.capacities == [capacity / 2 for capacity in one.capacities]
    assert two.size == [size / 2 for size in one.size]


def test_a_chain_takes_its_closed_form_message_by_message() -> None:
    # Slices are handed on separately, so each of the two further hops adds the time of one slice.
    run = dry_run(machine(chain_broadcast(4, 1)))
    assert not run.stuck
    assert run.seconds >= SIZE / RATE + 3 * ALPHA_S


@pytest.mark.parametrize("name", [*COMPRESSED, *EXPLICIT])
def test_no_schedule_gets_stuck_and_the_quotient_is_as_fast_as_the_whole(name: str) -> None:
    schedule = (COMPRESSED | EXPLICIT)[name]()
    run, whole = dry_run(machine(schedule)), dry_run(machine(expand(schedule)))
    assert run.stuck == whole.stuck == ()
    if name != "star_broadcast":
        assert run.seconds == pytest.approx(whole.seconds)


def test_sums_under_one_lock_run_one_after_the_other() -> None:
    schedule = star_reducescatter(4)
    run = dry_run(machine(schedule))
    (sums,) = run.lock_order
    assert len(sums) == 3
    assert all(run.finish[a] <= run.start[b] for a, b in itertools.pairwise(sums))
