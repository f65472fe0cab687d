"""Job shops with known answers."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.solve.list_schedule import JobShop, Timing, list_schedule, mirrored_schedule, tails


def makespan(shop: JobShop, priority: list[float] | None = None) -> float:
    return list_schedule(shop, priority or tails(shop)).makespan_s


def flow_shop(jobs: list[tuple[float, float]]) -> JobShop:
    """Every job passes machine 0, then machine 1."""
    uses, after = [], []
    for i, (first, second) in enumerate(jobs):
        uses += [[(0, first)], [(1, second)]]
        after += [[], [2 * i]]
    return JobShop(uses, [0.0] * len(uses), after)


@st.composite
def shops(draw: st.DrawFn) -> tuple[JobShop, list[float]]:
    n = draw(st.integers(0, 8))
    seconds = st.integers(0, 4).map(float)
    uses = [
        sorted(draw(st.dictionaries(st.integers(0, 3), seconds, max_size=3)).items()) for _ in range(n)
    ]  # fmt: skip
    latency = [float(draw(st.integers(0, 3))) for _ in range(n)]
    after = [sorted(draw(st.sets(st.integers(0, i - 1), max_size=2))) if i else [] for i in range(n)]
    return JobShop(uses, latency, after), [float(draw(st.integers(0, 5))) for _ in range(n)]


def test_nothing_to_do_takes_no_time() -> None:
    assert list_schedule(JobShop([], [], []), []) == Timing([], 0.0)


def test_jobs_of_one_machine_run_one_after_the_other_and_latencies_overlap() -> None:
    shop = JobShop([[(0, 2.0)]] * 3, [5.0] * 3, [[]] * 3)
    timing = list_schedule(shop, [0.0, 2.0, 1.0])
    assert timing.start_s == [4.0, 0.0, 2.0]
    assert timing.makespan_s == 3 * 2 + 5


def test_a_chain_takes_the_sum_of_its_durations() -> None:
    shop = JobShop([[(i, 1.0 + i)] for i in range(4)], [0.5] * 4, [[], [0], [1], [2]])
    assert makespan(shop) == 1 + 2 + 3 + 4 + 4 * 0.5
    assert tails(shop) == [12.0, 10.5, 8.0, 4.5]


def test_pipelined_jobs_keep_the_second_machine_busy() -> None:
    assert makespan(flow_shop([(1.0, 3.0)] * 5)) == 1 + 5 * 3
    assert makespan(flow_shop([(3.0, 1.0)] * 5)) == 5 * 3 + 1


def test_johnsons_order_of_a_flow_shop_is_found_by_its_priorities() -> None:
    jobs = [(3.0, 2.0), (1.0, 4.0), (5.0, 1.0), (2.0, 3.0)]
    shop = flow_shop(jobs)
    best = min(
        makespan(shop, [-float(order.index(i // 2)) for i in range(8)]) for order in itertools.permutations(range(4))
    )
    assert best == 12.0  # Johnson's rule: 1, 3, 0, 2
    assert makespan(shop, [-float([1, 3, 0, 2].index(i // 2)) for i in range(8)]) == best


def test_a_job_starts_when_all_its_machines_are_free() -> None:
    shop = JobShop([[(0, 3.0)], [(1, 1.0)], [(0, 1.0), (1, 1.0)]], [0.0] * 3, [[], [], []])
    timing = list_schedule(shop, [3.0, 2.0, 1.0])
    assert timing.start_s == [0.0, 0.0, 3.0]


def test_a_waiting_job_does_not_hold_a_machine_back() -> None:
    shop = JobShop([[(0, 3.0)], [(0, 1.0), (1, 1.0)], [(1, 2.0)]], [0.0] * 3, [[], [], []])
    assert list_schedule(shop, [3.0, 2.0, 1.0]).start_s == [0.0, 3.0, 0.0]


def test_machines_are_given_back_each_at_its_own_time() -> None:
    shop = JobShop([[(0, 1.0), (1, 4.0)], [(0, 1.0)], [(1, 1.0)]], [0.0] * 3, [[], [], []])
    assert list_schedule(shop, [3.0, 2.0, 1.0]).start_s == [0.0, 1.0, 4.0]


def test_the_last_input_to_start_need_not_be_the_last_to_arrive() -> None:
    shop = JobShop([[(0, 1.0)], [(0, 1.0)], [(1, 1.0)]], [9.0, 0.0, 0.0], [[], [], [0, 1]])
    assert list_schedule(shop, [2.0, 1.0, 0.0]).start_s[2] == 10.0


@given(shops())
def test_starts_keep_to_inputs_and_machines(made: tuple[JobShop, list[float]]) -> None:
    shop, priority = made
    timing = list_schedule(shop, priority)
    for job, before in enumerate(shop.after):
        assert all(timing.start_s[job] >= timing.start_s[b] + shop.duration_s(b) for b in before)
    for resource in range(4):
        spans = sorted(
            (timing.start_s[job], timing.start_s[job] + seconds)
            for job, uses in enumerate(shop.uses)
            for r, seconds in uses
            if r == resource and seconds
        )
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    ends = [timing.start_s[job] + shop.duration_s(job) for job in range(len(shop.uses))]
    assert timing.makespan_s == max(ends, default=0.0)


@given(shops())
def test_no_job_waits_without_a_reason(made: tuple[JobShop, list[float]]) -> None:
    shop, priority = made
    timing = list_schedule(shop, priority)
    for job, start in enumerate(timing.start_s):
        arrivals = [timing.start_s[b] + shop.duration_s(b) for b in shop.after[job]]
        machines = {resource for resource, _ in shop.uses[job]}
        releases = [
            timing.start_s[other] + seconds
            for other, uses in enumerate(shop.uses)
            for resource, seconds in uses
            if resource in machines
        ]
        assert start in {0.0, *arrivals, *releases}


@given(shops())
def test_the_makespan_is_between_its_simple_bounds(made: tuple[JobShop, list[float]]) -> None:
    shop, priority = made
    load = [sum(s for uses in shop.uses for r, s in uses if r == resource) for resource in range(4)]
    longest = max(tails(shop), default=0.0)
    total = sum(shop.duration_s(job) for job in range(len(shop.uses)))
    assert max([longest, *load]) <= makespan(shop, priority) + 1e-9
    assert makespan(shop, priority) <= total + 1e-9


def test_the_duration_of_a_job_is_its_longest_use_and_its_latency() -> None:
    shop = JobShop([[(0, 1.0), (1, 4.0)], []], [0.5, 0.25], [[], []])
    assert [shop.duration_s(job) for job in (0, 1)] == pytest.approx([4.5, 0.25])


@given(shops())
def test_a_makespan_of_interest_does_not_change_a_schedule_that_keeps_it(case) -> None:
    shop, priority = case
    for crowded_first in (False, True):
        free = list_schedule(shop, priority, crowded_first=crowded_first)
        assert list_schedule(shop, priority, crowded_first=crowded_first, within_s=free.makespan_s) == free
        if free.makespan_s > 0:
            short = list_schedule(shop, priority, crowded_first=crowded_first, within_s=free.makespan_s * 0.99)
            assert short.makespan_s == math.inf


def test_the_crowded_machine_goes_first() -> None:
    shop = JobShop([[(0, 1.0), (1, 1.0)], [(1, 1.0), (2, 1.0)], [(2, 1.0)], [(2, 1.0)]], [0.0] * 4, [[]] * 4)
    assert list_schedule(shop, [1.0, 0.0, 0.0, 0.0]).makespan_s == 3.0
    assert list_schedule(shop, [9.0, 0.0, 0.0, 0.0], crowded_first=True).start_s[1] == 0.0


@given(shops())
def test_the_mirror_image_is_a_schedule(case) -> None:
    shop, _ = case
    timing = mirrored_schedule(shop)
    end = [timing.start_s[job] + shop.duration_s(job) for job in range(len(shop.uses))]
    assert timing.makespan_s == max(end, default=0.0)
    for job, after in enumerate(shop.after):
        assert all(end[before] <= timing.start_s[job] for before in after)
    spans = [(r, timing.start_s[j], timing.start_s[j] + s) for j, uses in enumerate(shop.uses) for r, s in uses if s]
    for (r, _, until), (q, begin, _) in itertools.pairwise(sorted(spans)):
        assert r != q or until <= begin


def test_the_mirror_image_of_a_tree_of_sums_takes_as_long_as_the_tree_of_copies() -> None:
    copies = JobShop([[(0, 2.0)], [(1, 1.0)], [(1, 1.0)]], [0.5] * 3, [[], [0], [0]])
    sums = JobShop([[(1, 1.0)], [(1, 1.0)], [(0, 2.0)]], [0.5] * 3, [[], [], [0, 1]])
    assert mirrored_schedule(sums).makespan_s == makespan(copies) == 5.0
