"""The first answer."""

from __future__ import annotations

from hypothesis import given

from syccl.optimize.choice import Way, holds
from syccl.optimize.status import Status
from syccl.solve.greedy import soonest_first
from tests.optimize.test_choice import problems, way


def test_what_is_done_soonest_goes_first_and_rivals_wait() -> None:
    found = soonest_first([[way(7), way(9, on=1)], [way(5)]])
    assert (found.ways, found.starts, found.makespan) == ((1, 0), (0, 0), 9)


def test_a_broadcast_over_one_port_each_doubles_every_round() -> None:
    item = {rank: rank - 1 for rank in range(1, 8)}
    items = [
        [Way(item.get(src, -1), 0, ((src, 1), (100 + dst, 1)), 0) for src in range(8) if src != dst]
        for dst in range(1, 8)
    ]
    assert soonest_first(items).makespan == 3


def test_what_waits_for_itself_cannot_be_done() -> None:
    found = soonest_first([[way(3)], [way(1, after=2)], [way(1, after=1)]])
    assert (found.status, found.ways) == (Status.GAVE_UP, ())


def test_nothing_to_do_takes_no_time() -> None:
    assert soonest_first([]).makespan == 0


@given(problems())
def test_it_is_an_answer(items: list[list[Way]]) -> None:
    found = soonest_first(items)
    assert found.status is Status.FEASIBLE
    assert holds(items, found)
