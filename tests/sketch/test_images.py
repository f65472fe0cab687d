"""Copies of trees and paths under the symmetries that leave their root in place."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from syccl.errors import InfeasibleError
from syccl.sketch.first_path import first_path
from syccl.sketch.images import balanced, folded, images, spread_paths
from syccl.sketch.packing import Manner, pack
from syccl.sketch.quotient import Quotient
from syccl.sketch.ways import Ways
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.group import trivial_group
from syccl.topology.model import Topology
from tests.problems import is_spanning
from tests.strategies import RATE, one_switch, ring, symmetric_topologies, torus, two_servers


def ways_of(topology: Topology) -> Ways:
    return Ways.of(Quotient.of(topology, trivial_group(topology)))


def loads(ways: Ways, parents: np.ndarray) -> np.ndarray:
    """Seconds that every link is busy when each tree carries one byte."""
    child = np.broadcast_to(np.arange(ways.ranks), parents.shape)[parents >= 0]
    used = ways.links[parents[parents >= 0], child].ravel()
    return np.bincount(used, minlength=len(ways.seconds_per_byte)) * ways.seconds_per_byte


@given(topology=symmetric_topologies(), data=st.data())
def test_images_are_other_trees_of_the_root_and_share_all_links_of_an_orbit(topology: Topology, data) -> None:
    root = data.draw(st.integers(0, topology.ranks - 1))
    group, ways = find_group(topology, fixed_rank=root), ways_of(topology)
    base = pack(ways, root, 1, unit_s=1 / RATE, manner=Manner(passes=2)).parents[0]
    copies = images(base, group)
    assert copies[0].tolist() == base.tolist()
    assert len({tuple(copy) for copy in copies.tolist()}) == len(copies)
    assert group.order % len(copies) == 0
    for copy in copies.tolist():
        assert is_spanning(root, {v: u for v, u in enumerate(copy) if u >= 0}, topology.ranks)
    orbits = loads(folded(ways, group), base[None])
    assert loads(ways, copies).max() / len(copies) == pytest.approx(orbits.max())


@pytest.mark.parametrize(("each", "most"), [(1, 2), (2, 2), (3, 4), (6, 6)])
def test_a_few_images_are_chosen_for_the_least_load(each: int, most: int) -> None:
    """The root sends each once and two others send it twice; of three images the greedy choice is not the best."""
    topology = one_switch(7)
    group, ways = find_group(topology, fixed_rank=0), ways_of(topology)
    chain = np.array([[-1, 0, 1, 1, 2, 2, 3]])
    parents, load = balanced(ways, chain, group, each)
    assert len(parents) == each
    assert load == pytest.approx(loads(ways, parents).max())
    every = images(chain[0], group)
    least = min(loads(ways, every[list(some)]).max() for some in itertools.combinations(range(len(every)), each))
    assert least == pytest.approx(max(each, 2) / RATE)
    assert load == pytest.approx(most / RATE)


@pytest.mark.parametrize("seed", range(10))
def test_which_images_are_chosen_does_not_depend_on_the_unit_of_bandwidth(seed: int) -> None:
    topology = torus(3, 3)
    group, ways = find_group(topology, fixed_rank=0), ways_of(topology)
    base = np.array([random_tree(ways, random.Random(f"{seed}/{i}")) for i in range(2)])
    chosen, load = balanced(ways, base, group, 4)
    faster = replace(ways, seconds_per_byte=ways.seconds_per_byte / 2**20)
    same, shorter = balanced(faster, base, group, 4)
    assert same.tolist() == chosen.tolist()
    assert shorter == load / 2**20


def random_tree(ways: Ways, chance: random.Random) -> list[int]:
    """Parents of a tree of rank 0 over routes that there are."""
    parents, left = [-1] * ways.ranks, set(range(1, ways.ranks))
    while left:
        arcs = [(u, v) for v in sorted(left) for u in range(ways.ranks) if u not in left]
        u, v = chance.choice([arc for arc in arcs if np.isfinite(ways.latency_s[arc])])
        parents[v] = u
        left.remove(v)
    return parents


@given(topology=symmetric_topologies(), copies=st.integers(1, 3), data=st.data())
def test_paths_lead_to_every_rank_as_often_as_wanted(topology: Topology, copies: int, data) -> None:
    root = data.draw(st.integers(0, topology.ranks - 1))
    ways = ways_of(topology)
    paths = spread_paths(ways, root, find_group(topology, fixed_rank=root), copies)
    assert sorted(path[-1] for path in paths) == sorted([r for r in range(topology.ranks) if r != root] * copies)
    for path in paths:
        assert path[0] == root
        assert len(set(path)) == len(path)
        assert all(np.isfinite(ways.latency_s[src, dst]) for src, dst in itertools.pairwise(path))


@pytest.mark.parametrize(("topology", "least"), [(ring(6), 15 / 2), (torus(4, 4), 32 / 4), (two_servers(4, 2), 7)])
def test_paths_are_spread_over_the_links_of_the_root(topology: Topology, least: float) -> None:
    """The root's links together send at least every path once; on a ring and a torus paths are as short as can be."""
    ways = ways_of(topology)
    paths = spread_paths(ways, 0, find_group(topology, fixed_rank=0), 4)
    arcs = [arc for path in paths for arc in itertools.pairwise(path)]
    uses = np.bincount(np.concatenate([ways.links[arc] for arc in arcs]), minlength=len(ways.seconds_per_byte))
    assert (uses * ways.seconds_per_byte).max() <= 1.25 * 4 * least / RATE


@given(st.integers(2, 8), st.randoms(use_true_random=False))
def test_the_first_path_is_the_shortest(ranks: int, random) -> None:
    costs = np.array([[random.choice([1.0, 2.0, 3.5, np.inf]) for _ in range(ranks)] for _ in range(ranks)])
    graph = nx.DiGraph([(u, v, {"weight": costs[u, v]}) for u in range(ranks) for v in range(ranks) if costs[u, v] < 9])
    graph.add_nodes_from(range(ranks))

    def arrive(near: int, since: float) -> np.ndarray:
        return since + costs[near]

    for target in range(1, ranks):
        last = float(costs[:, target].min())
        if nx.has_path(graph, 0, target):
            path = first_path(arrive, last, 0, target)
            assert nx.path_weight(graph, path, "weight") == nx.shortest_path_length(graph, 0, target, weight="weight")
        else:
            with pytest.raises(InfeasibleError, match=f"from rank 0 to rank {target}"):
                first_path(arrive, last, 0, target)
