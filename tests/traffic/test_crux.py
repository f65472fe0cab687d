"""Crux: the worked examples of its paper, and what it decides against all that could be decided."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from syccl.topology.model import Kind, Link, Node, Topology
from syccl.traffic import Flow, Load, flows_of, link_seconds, simulate
from syccl.traffic.compress import compress, contention, first_levels, inner_weight
from syccl.traffic.crux import correction, intensities, priorities, select_paths

RATE = 10**9
Flows = Sequence[Sequence[Flow]]


def two_spines(servers: int = 4) -> Topology:
    """A GPU on each leaf, every leaf on both spines."""
    nodes = [Node(f"gpu{i}", Kind.GPU, f"s{i}") for i in range(servers)]
    nodes += [Node(f"leaf{i}", Kind.SWITCH) for i in range(servers)] + [Node(f"spine{i}", Kind.SWITCH) for i in (0, 1)]
    pairs = [(i, servers + i) for i in range(servers)]
    pairs += [(servers + i, 2 * servers + spine) for i in range(servers) for spine in (0, 1)]
    links = [Link(*ends, RATE, 0) for a, b in pairs for ends in ((a, b), (b, a))]
    return Topology("two-spines", tuple(nodes), tuple(links))


def test_the_correction_of_the_first_worked_example() -> None:
    """Section 4.2: J1 computes 2 s and sends 2 s, J2 1 s and 1 s; the link carries 6/3 or 4/6 s of 12: k = 3/2."""
    one, two = Load(2, 0, {0: 2.0}), Load(1, 0, {0: 1.0})
    assert correction(one, two) == pytest.approx(1.5, rel=0.02)
    assert intensities([one, two], [10, 5]) == [5, 5]
    assert priorities([one, two], [5, 5], [2, 1]) == pytest.approx([5, 7.5], rel=0.02)


def test_orders_that_differ_at_the_start_only_change_nothing() -> None:
    assert correction(Load(4, 0.5, {0: 1.0}), Load(2, 0.5, {0: 3.0})) == 1
    assert correction(Load(9, 0, {0: 1.0}), Load(9, 0, {0: 1.0})) == 1


def busy(loads: Sequence[Load], flops: Sequence[float], levels: Sequence[int]) -> float:
    done = simulate([replace(load, level=at) for load, at in zip(loads, levels, strict=True)], 120)
    return sum(each.computed_s / load.compute_s * w for each, load, w in zip(done, loads, flops, strict=True))


def test_priorities_of_jobs_on_full_links_are_within_three_percent_of_all_orders_on_average() -> None:
    """With more than two jobs no link idles, so that what holds for two alone would mislead."""
    chance, near = random.Random(4), []
    for _ in range(20):
        links = [chance.sample(range(2), chance.choice((1, 2))) for _ in range(4)]
        loads = [
            Load(chance.uniform(0.5, 2), chance.choice((0, 0.5)), {link: chance.uniform(0.2, 1.5) for link in mine})
            for mine in links
        ]
        flops = [load.compute_s * chance.choice((8, 16, 32, 64)) for load in loads]
        found = priorities(loads, intensities(loads, flops), [load.alone_s for load in loads])
        best = max(busy(loads, flops, levels) for levels in itertools.permutations(range(4)))
        near.append(busy(loads, flops, first_levels(found, 4)) / best)
    assert sum(near) / len(near) >= 0.97


def test_a_correction_that_does_not_help_is_left_out() -> None:
    """Two jobs gain by it, as in the worked example, and so do two beside; a third fills the pauses of a link."""
    two = [Load(2, 0, {0: 2.0}), Load(1, 0, {0: 1.0})]
    apart = [*two, *(replace(load, link_s={1: load.alone_s}) for load in two)]
    assert priorities(apart, [5, 5, 5, 5], [2, 1, 2, 1]) == pytest.approx([5, 7.5, 5, 7.5], rel=0.02)
    assert priorities([*two, Load(1, 0, {0: 3.0})], [5, 4.5, 4.2], [2, 1, 1]) == [5, 4.5, 4.2]


def test_paths_of_two_jobs_are_apart() -> None:
    topology = two_spines()
    flows = [flows_of(topology, ranks, {(0, 1): 1e9}) for ranks in ((0, 1), (2, 1), (0, 3))]
    assert [len(flow.candidates) for mine in flows for flow in mine] == [2, 2, 2]
    choice = select_paths(topology, flows, [3, 2, 1], [1, 1, 1])
    assert (choice[0][0] != choice[1][0], choice[0][0] != choice[2][0]) == (True, True)


def busiest_s(topology: Topology, flows: Flows, choice: Sequence[Sequence[int]]) -> float:
    total: dict[int, float] = {}
    for mine, picked in zip(flows, choice, strict=True):
        for link, seconds in link_seconds(topology, mine, picked).items():
            total[link] = total.get(link, 0.0) + seconds
    return max(total.values())


def test_the_busiest_link_is_within_three_percent_of_all_choices_on_average() -> None:
    topology, chance = two_spines(5), random.Random(5)
    near = []
    for _ in range(60):
        flows = [flows_of(topology, chance.sample(range(5), 2), {(0, 1): chance.choice([1e9, 2e9])}) for _ in range(5)]
        chosen = select_paths(topology, flows, [5, 4, 3, 2, 1], [1.0] * 5)
        options = ([(at,) for at in option] for option in itertools.product((0, 1), repeat=5))
        best = min(busiest_s(topology, flows, option) for option in options)
        near.append(best / busiest_s(topology, flows, chosen))
    assert sum(near) / len(near) >= 0.97


def test_two_pairs_on_two_links_need_two_levels_only() -> None:
    """Jobs 1-2 share one link, 3-4 another: {1, 3} above {2, 4} separates both pairs."""
    loads = [Load(1, 0, {link: 1.0}) for link in (0, 0, 1, 1)]
    edges = contention(loads, [4, 3, 2, 1], [4, 3, 2, 1])
    assert edges == {(0, 1): 4, (2, 3): 2}
    assert compress(4, edges, 2) == [0, 1, 0, 1]
    assert inner_weight(first_levels([4, 3, 2, 1], 2), edges) == 2


def test_five_jobs_on_three_levels_are_all_separated() -> None:
    edges = {(0, 1): 5.0, (0, 4): 5.0, (1, 2): 4.0, (1, 3): 4.0, (4, 3): 1.0}
    assert compress(5, edges, 3) == [0, 1, 2, 2, 1]


def test_compression_is_the_best_there_is_on_small_cases() -> None:
    chance = random.Random(1)
    for case in range(60):
        n = 6
        edges = {(a, b): float(n - a) for a in range(n) for b in range(a + 1, n) if chance.random() < 0.5}
        found = compress(n, edges, 3, seed=case)
        assert all(found[a] <= found[b] for a, b in edges)
        valid = (
            level for level in itertools.product(range(3), repeat=n) if all(level[a] <= level[b] for a, b in edges)
        )
        assert inner_weight(found, edges) == min(inner_weight(level, edges) for level in valid)
