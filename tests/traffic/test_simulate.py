"""Jobs in time: worked examples, fairness, and what must hold for any jobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.traffic import Load, simulate
from syccl.traffic.simulate import contending, speeds


@pytest.mark.parametrize(("levels", "iterations", "busy"), [((0, 1), [300, 300], 0.375), ((1, 0), [200, 600], 5 / 12)])
def test_priority_decides_who_iterates_on_a_shared_link(
    levels: tuple[int, int], iterations: list[int], busy: float
) -> None:
    """Example 1 of Crux (SIGCOMM 2024, section 4.2): 37.5 % or 41.7 % of both jobs' equal numbers of GPUs compute."""
    found = simulate([Load(2, 0, {0: 2.0}, levels[0]), Load(1, 0, {0: 1.0}, levels[1])], 1200)
    assert [done.iterations for done in found] == iterations
    assert sum(done.computed_s for done in found) / 2400 == pytest.approx(busy, rel=2e-3)


@pytest.mark.parametrize(("levels", "idle_s"), [((0, 1), 7), ((1, 0), 6)])
def test_overlap_hides_communication(levels: tuple[int, int], idle_s: float) -> None:
    """Example 2 of Crux: the GPUs of job 2 idle 7 s of 13 when job 1 goes first, else 6 s."""
    found = simulate([Load(4, 0.5, {0: 1.0}, levels[0]), Load(2, 0.5, {0: 3.0}, levels[1])], 13)
    assert 13 - found[1].computed_s == pytest.approx(idle_s)


@pytest.mark.parametrize("levels", [(0, 1), (1, 0)])
def test_orders_of_the_second_example_differ_at_the_start_only(levels: tuple[int, int]) -> None:
    """Job 2 ends in the moment in which job 1 begins to send, and is not held up by it."""
    found = simulate([Load(4, 0.5, {0: 1.0}, levels[0]), Load(2, 0.5, {0: 3.0}, levels[1])], 4000)
    assert (2 * found[0].computed_s + 12 * found[1].computed_s) / 14 / 4000 == pytest.approx(4 / 7, rel=2e-3)


def test_jobs_of_one_level_slow_down_alike_and_the_rest_goes_to_others() -> None:
    shares = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert speeds([0, 0, 0], shares).tolist() == [0.5, 0.5, 0.5]
    assert speeds([0, 0, 1], shares).tolist() == [0.5, 0.5, 0.5]
    assert speeds([1, 0, 1], shares).tolist() == [0.0, 1.0, 0.0]
    assert speeds([0, 0], np.array([[1.0, 0.25], [0.0, 1.0]])).tolist() == pytest.approx([0.8, 0.8])


def test_jobs_without_a_full_link_in_common_are_apart() -> None:
    loads = [Load(1, 0, {0: 1.0, 1: 0.2}), Load(1, 0, {1: 0.2, 2: 1.0}), Load(1, 0, {2: 0.5})]
    assert contending(loads) == [[0], [1, 2]]
    assert simulate(loads, 100)[0] == simulate(loads[:1], 100)[0]


def test_a_job_completes_and_leaves_the_link() -> None:
    loads = [Load(1, 0, {0: 1.0}, 0, 0.0, 3), Load(1, 0, {0: 1.0}, 1, 0.5)]
    first, second = simulate(loads, 10.5)
    assert (first.completion_s, first.iterations, first.held_s) == (6.0, 3, 6.0)
    assert second.completion_s is None
    assert second.mean_iteration_s >= loads[1].iteration_alone_s


@st.composite
def jobs(draw: st.DrawFn) -> list[Load]:
    times = st.sampled_from([0.5, 1.0, 1.5, 2.0])
    links = st.dictionaries(st.integers(0, 3), times, min_size=1)
    load = st.builds(
        Load, times, st.sampled_from([0.0, 0.5]), links, st.integers(0, 2), times, st.sampled_from([None, 5])
    )
    return draw(st.lists(load, min_size=1, max_size=5))


@settings(max_examples=60, deadline=None)
@given(jobs())
def test_no_link_carries_more_than_it_can_and_nobody_is_faster_than_alone(loads: list[Load]) -> None:
    until_s = 40.0
    found = simulate(loads, until_s)
    for link in range(4):
        busy = sum(load.link_s.get(link, 0.0) * done.rounds for load, done in zip(loads, found, strict=True))
        assert busy <= until_s * (1 + 1e-6)
    for load, done in zip(loads, found, strict=True):
        alone = simulate([load], until_s)[0]
        assert done.iterations <= alone.iterations
        assert done.rounds <= alone.rounds + 1e-6
        assert done.iterations <= done.rounds + 1e-6
        assert 0 <= done.computed_s <= done.held_s + 1e-6


def test_the_highest_level_is_as_fast_as_alone() -> None:
    loads = [Load(1, 0.5, {0: 1.0}, 0), Load(1, 0, {0: 3.0, 1: 2.0}, 1), Load(0.5, 0, {1: 1.0}, 1)]
    assert simulate(loads, 100)[0].iterations == simulate(loads[:1], 100)[0].iterations
