"""The strategies and builders of known families that other tests draw from."""

from __future__ import annotations

import pytest
from hypothesis import given

from syccl.topology.model import Kind, Topology
from tests.strategies import (
    damaged,
    mesh,
    one_switch,
    reaches_all,
    ring,
    scrambled,
    symmetric_topologies,
    topologies,
    torus,
    two_servers,
    without_links,
)


@given(topologies())
def test_random_topologies_are_strongly_connected_and_in_bounds(topology: Topology) -> None:
    assert 2 <= topology.ranks <= 8
    assert reaches_all(topology)


@given(symmetric_topologies())
def test_symmetric_topologies_are_strongly_connected(topology: Topology) -> None:
    assert reaches_all(topology)


@given(damaged())
def test_damaged_topologies_stay_strongly_connected(topology: Topology) -> None:
    assert topology.name.endswith("-damaged")
    assert reaches_all(topology)


@given(topologies())
def test_scrambling_keeps_the_links_between_mapped_ranks(topology: Topology) -> None:
    copy, ranks = scrambled(topology, 3)
    assert sorted(ranks) == list(range(topology.ranks))

    def between_gpus(graph: Topology, name: list[int]) -> list[tuple[int, int, int, int]]:
        return sorted(
            (name[graph.rank_of[a]], name[graph.rank_of[b]], rate, latency)
            for a, b, rate, latency in graph.links
            if graph.is_gpu(a) and graph.is_gpu(b)
        )

    assert between_gpus(topology, list(ranks)) == between_gpus(copy, list(range(copy.ranks)))
    assert len(copy.links) == len(topology.links)


@pytest.mark.parametrize(
    ("topology", "ranks", "links"),
    [
        (ring(5), 5, 10),
        (ring(5, one_way=True), 5, 5),
        (ring(2), 2, 2),
        (ring(1), 1, 0),
        (mesh(4), 4, 12),
        (one_switch(3), 3, 6),
        (torus(3, 3), 9, 36),
        (torus(2, 3), 6, 18),
        (torus(2, 2), 4, 8),
        (torus(1, 4), 4, 8),
        (two_servers(), 8, 2 * (8 + 8 + 4)),
        (two_servers(7, 8), 15, 2 * (15 + 15 + 4)),
    ],
    ids=lambda value: value.name if isinstance(value, Topology) else None,
)
def test_families_have_the_links_of_their_closed_form(topology: Topology, ranks: int, links: int) -> None:
    assert (topology.ranks, len(topology.links)) == (ranks, links)
    assert reaches_all(topology)


def test_two_servers_share_nics_in_blocks_and_may_use_rails() -> None:
    topology = two_servers(4, nics=2, rails=True)
    leaves = [node.name for node in topology.nodes if node.kind is Kind.SWITCH and not node.server]
    assert leaves == ["leaf0", "leaf1"]
    cut = without_links(topology, [i for i in range(len(topology.links)) if "leaf" in topology.link_name(i)])
    assert not reaches_all(cut)
