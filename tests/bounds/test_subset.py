from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings

from syccl.bounds.bandwidth import allgather_bound
from syccl.bounds.network import Network
from syccl.bounds.subset import best_subset
from syccl.topology.catalog import load_topology
from syccl.topology.check import disconnected_parts
from syccl.topology.damage import subset
from tests.strategies import symmetric_topologies, two_servers


def cost(topology, ranks):
    part = subset(topology, ranks)
    if disconnected_parts(part):
        return float("inf")
    return allgather_bound(Network.of(part), tuple(range(len(ranks)))).seconds_per_byte * len(ranks)


@given(symmetric_topologies())
@settings(max_examples=10)
def test_no_choice_is_better_than_the_best(topology):
    count = max(2, topology.ranks // 2)
    chosen = best_subset(topology, count)
    assert len(chosen.ranks) == count
    if chosen.is_proven:
        assert cost(topology, chosen.ranks) == min(
            cost(topology, ranks) for ranks in combinations(range(topology.ranks), count)
        )


def test_the_best_half_of_two_servers_is_one_of_them():
    topology = two_servers()
    half = topology.ranks // 2
    assert best_subset(topology, half).ranks == tuple(range(half))


def test_four_of_a_cube_mesh_are_a_clique():
    ranks = best_subset(load_topology("dgx1-v100"), 4).ranks
    part = subset(load_topology("dgx1-v100"), ranks)
    assert len(part.links) == 12
