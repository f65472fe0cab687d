"""Busiest ports first."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.solve.list_schedule import JobShop
from syccl.solve.pressed import pressed_schedule

ENTRIES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 9)), max_size=14)


def exchange(entries, latency=0.0):
    """Transfers (sender, receiver, seconds) between ports 0-3 and 4-7."""
    uses = [[(u, float(s)), (4 + v, float(s))] for u, v, s in entries]
    return JobShop(uses, [latency] * len(uses), [[] for _ in uses])


def busiest(entries):
    loads = {}
    for u, v, s in entries:
        loads[u] = loads.get(u, 0) + s
        loads[4 + v] = loads.get(4 + v, 0) + s
    return max(loads.values(), default=0)


@given(ENTRIES)
def test_no_port_has_two_transfers_at_once_and_none_idles_for_nothing(entries):
    shop = exchange(entries)
    timing = pressed_schedule(shop)
    spans = {}
    for job, uses in enumerate(shop.uses):
        for port, seconds in uses:
            spans.setdefault(port, []).append((timing.start_s[job], timing.start_s[job] + seconds))
    for port in spans.values():
        port.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(port))
    # Open shop: work that could start is never left waiting, so twice the load is enough.
    assert busiest(entries) <= timing.makespan_s <= max(1, 2 * busiest(entries))


def test_equal_transfers_between_all_take_no_longer_than_the_load():
    entries = [(u, v, 1) for u in range(4) for v in range(4)] * 3
    assert pressed_schedule(exchange(entries)).makespan_s == 12


def test_the_port_with_most_to_do_goes_first():
    timing = pressed_schedule(exchange([(0, 0, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1)]))
    assert timing.makespan_s == 3
    assert timing.start_s[0] > 0 or timing.start_s[1] > 0


def test_what_a_busy_port_waits_for_goes_first():
    shop = JobShop([[(0, 1.0)], [(0, 1.0)], [(1, 5.0)]], [0.0] * 3, [[], [], [1]])
    assert pressed_schedule(shop).start_s == [1.0, 0.0, 1.0]


def test_nothing_takes_no_time():
    assert pressed_schedule(JobShop([], [], [])).makespan_s == 0.0


def test_latency_is_added_to_what_arrives_last():
    assert pressed_schedule(exchange([(0, 0, 2)], latency=0.5)).makespan_s == pytest.approx(2.5)
