"""Baselines: orders and levels that their papers imply, and communication shifted apart."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from syccl.topology.catalog import find_topology
from syccl.traffic import Load, flows_of, simulate
from syccl.traffic.baselines import balanced_levels, bssi_order, distance_levels, sebf_order, shifts_s
from syccl.traffic.compress import pooled_levels
from syccl.traffic.jobs import Job
from syccl.traffic.outcome import played
from syccl.traffic.policies import Mix, Policy, decide


def test_four_jobs_on_two_levels() -> None:
    """Figure of the Crux paper (section 4.3): Sincronia puts {1} above {2, 3, 4}, Varys {1, 2} above {3, 4}."""
    loads = [Load(1, 0, {link: seconds}) for link, seconds in ((0, 1.0), (0, 2.0), (1, 3.0), (1, 4.0))]
    assert pooled_levels(bssi_order(loads), 2) == [0, 1, 1, 1]
    assert balanced_levels(sebf_order(loads), 2) == [0, 0, 1, 1]


def total_s(loads: Sequence[Load], order: Sequence[int]) -> float:
    """Sum of the times at which coflows end that are served in an order, link by link."""
    busy: dict[int, float] = {}
    total = 0.0
    for job in order:
        for link, seconds in loads[job].link_s.items():
            busy[link] = busy.get(link, 0.0) + seconds
        total += max(busy[link] for link in loads[job].link_s)
    return total


def test_the_order_of_sincronia_is_within_twice_the_best() -> None:
    """Its primal-dual order is a 2-approximation where links are served in one order; it is usually near 1."""
    chance, ratios = random.Random(3), []
    for _ in range(60):
        loads = [
            Load(1, 0, {link: chance.choice((0.5, 1.0, 2.0)) for link in chance.sample(range(4), chance.randint(1, 3))})
            for _ in range(6)
        ]
        best = min(total_s(loads, order) for order in itertools.permutations(range(6)))
        ratios.append(total_s(loads, bssi_order(loads)) / best)
    assert max(ratios) <= 2
    assert sum(ratios) / len(ratios) <= 1.1


def test_on_one_link_both_orders_are_shortest_first() -> None:
    loads = [Load(1, 0, {0: seconds}) for seconds in (3.0, 1.0, 2.0)]
    assert bssi_order(loads) == sebf_order(loads) == [1, 2, 0]


@pytest.mark.parametrize("jobs", range(1, 9))
@pytest.mark.parametrize("levels", range(1, 9))
def test_balanced_levels_hold_equally_many(jobs: int, levels: int) -> None:
    found = balanced_levels(range(jobs), levels)
    counts = [found.count(level) for level in range(levels)]
    assert found == sorted(found)
    assert max(counts) - min(counts[: min(jobs, levels)]) <= 1


def test_flows_that_go_farther_have_the_higher_level() -> None:
    topology = find_topology("a100x32")
    flows = [flows_of(topology, ranks, {(0, 1): 1e9}) for ranks in ((0, 1), (2, 10), (3, 11))]
    assert distance_levels(flows, 8) == [1, 0, 0]
    assert distance_levels(flows, 1) == [0, 0, 0]


def test_jobs_that_fit_beside_each_other_in_time_are_shifted_apart() -> None:
    loads = [Load(1, 0, {0: 1.0}), Load(1.2, 0, {0: 0.8})]
    shifted = [replace(load, arrival_s=shift) for load, shift in zip(loads, shifts_s(loads), strict=True)]
    slow, apart = simulate(loads, 200), simulate(shifted, 200)
    assert [done.mean_iteration_s for done in apart] == pytest.approx([2.0, 2.0], rel=0.02)
    assert sum(done.computed_s for done in apart) > sum(done.computed_s for done in slow)
    assert shifts_s([Load(1, 0, {0: 1.0}), Load(1, 0, {1: 1.0})]) == [0.0, 0.0]


def test_a_job_that_waits_holds_its_gpus_from_its_arrival() -> None:
    topology = find_topology("a100x32")
    jobs = tuple(Job(name, ranks, 1.0, 1e15, 0.0, 2.0, 5, None, ()) for name, ranks in (("a", (0, 8)), ("b", (2, 10))))
    mix = Mix(topology, jobs, tuple(flows_of(topology, job.ranks, {(0, 1): 25e9}) for job in jobs))
    decision = replace(decide(mix, Policy("ecmp")), shift_s=(0.5, 0.0))
    waited, other = played(mix, decision, until_s=100.0).progress
    assert (waited.completion_s, other.completion_s) == pytest.approx((10.5, 10.0))
    assert (waited.held_s, other.held_s) == pytest.approx((10.5, 10.0))
    assert played(mix, decision, until_s=2.25).progress[0].held_s == pytest.approx(0.25)
    assert played(mix, decision, until_s=1.0).progress[0].held_s == 0
