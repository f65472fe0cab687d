from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.topology import Kind, Link, Node, Topology, default_route, last_links, routes_from
from syccl.topology.catalog import load_topology
from syccl.topology.parallel import joined_ways
from syccl.topology.routes import path_set
from tests.strategies import damaged, duplex, symmetric_topologies, topologies


def leaf_spine(spines: int, *, dead: tuple[int, int] | None = None) -> Topology:
    """Three leaves of four GPUs under some spines; ``dead`` is a missing leaf-spine pair."""
    nodes = [Node(f"g{i}", Kind.GPU) for i in range(12)]
    nodes += [Node(f"leaf{i}", Kind.SWITCH) for i in range(3)]
    nodes += [Node(f"spine{i}", Kind.SWITCH) for i in range(spines)]
    links: list[Link] = []
    for gpu in range(12):
        links += duplex(gpu, 12 + gpu // 4)
    for leaf in range(3):
        for spine in range(spines):
            if (leaf, spine) != dead:
                links += duplex(12 + leaf, 15 + spine)
    return Topology("leaf-spine", tuple(nodes), tuple(links))


def test_ports_of_a_leaf_share_its_spines_evenly():
    topology = leaf_spine(2, dead=(2, 0))
    passed = Counter()
    for src in range(4):
        for dst in range(4, 8):
            route = default_route(topology, src, dst)
            assert route is not None
            passed[topology.links[route.links[1]].dst] += 1
    assert passed == {15: 8, 16: 8}


def test_routes_avoid_a_dead_uplink():
    topology = leaf_spine(2, dead=(2, 0))
    for src in range(4):
        route = default_route(topology, src, 8)
        assert route is not None
        assert topology.links[route.links[1]].dst == 16


def test_a_gpu_with_two_ports_takes_the_one_of_its_rank():
    nodes = tuple(Node(name, Kind.GPU if name[0] == "g" else Kind.SWITCH) for name in ("g0", "g1", "g2", "a", "b"))
    links = tuple(link for gpu in range(3) for switch in (3, 4) for link in duplex(gpu, switch))
    topology = Topology("dual", nodes, links)
    middles = [topology.links[default_route(topology, src, (src + 1) % 3).links[0]].dst for src in range(3)]
    assert middles == [3, 4, 3]


def test_twin_spines_act_as_one_of_their_summed_bandwidth():
    joined = joined_ways(leaf_spine(4))
    assert joined.twins == (("spine0", "spine1", "spine2", "spine3"),)
    assert len(joined.topology.nodes) == 16
    assert {link.rate for link in joined.topology.links if link.src >= 12 and link.dst >= 12} == {4 * 25_000_000_000}


def test_spines_that_differ_by_a_dead_link_stay_apart():
    joined = joined_ways(leaf_spine(3, dead=(1, 0)))
    assert joined.twins == (("spine1", "spine2"),)


def test_twins_of_twins_are_joined_too():
    nodes = (Node("g0", Kind.GPU), Node("g1", Kind.GPU), *(Node(f"s{i}", Kind.SWITCH) for i in range(4)))
    pairs = [(0, 2), (0, 3), (2, 4), (3, 5), (4, 1), (5, 1)]
    both = [(0, 2), (0, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 1), (5, 1)]
    chain = Topology("two chains", nodes, tuple(link for pair in pairs for link in duplex(*pair)))
    assert joined_ways(chain).topology is chain
    grid = joined_ways(Topology("grid", nodes, tuple(link for pair in both for link in duplex(*pair))))
    assert grid.twins == (("s0", "s1"), ("s2", "s3"))
    assert [link.rate // 25_000_000_000 for link in grid.topology.links] == [2, 2, 4, 4, 2, 2]


def test_all_equal_paths_are_known_and_the_default_is_one_of_them():
    topology = leaf_spine(4)
    paths = path_set(topology, 0, 4)
    assert sorted(topology.links[path.links[1]].dst for path in paths) == [15, 16, 17, 18]
    assert default_route(topology, 0, 4) in paths
    assert len(path_set(topology, 0, 1)) == 1
    assert len(path_set(topology, 0, 4, most=2)) == 2


def test_narrower_and_slower_paths_are_left_out():
    topology = leaf_spine(2)
    links = tuple(link._replace(latency_ps=link.latency_ps + 1) if 16 in link[:2] else link for link in topology.links)
    paths = path_set(Topology("late", topology.nodes, links), 0, 4)
    assert [topology.links[path.links[1]].dst for path in paths] == [15]


def check_last_links(topology: Topology) -> None:
    """Routes found for all ranks at once are those found rank by rank."""
    ranks = range(topology.ranks)[::-1]
    for rank, last in zip(ranks, last_links(topology, ranks).tolist(), strict=True):
        routes = routes_from(topology, rank)
        for other in range(topology.ranks):
            links: list[int] = []
            node = topology.gpus[other]
            while last[node] >= 0:
                links.append(last[node])
                node = topology.links[links[-1]].src
            assert tuple(links[::-1]) == (routes[other].links if other in routes else ())


@given(st.one_of(topologies(), symmetric_topologies(), damaged()))
@settings(max_examples=60, deadline=None)
def test_routes_of_all_ranks_at_once_are_those_of_each(topology: Topology) -> None:
    check_last_links(topology)


@pytest.mark.parametrize("name", ["a100x32", "h800x64"])
def test_routes_of_all_ranks_at_once_on_real_clusters(name: str) -> None:
    check_last_links(load_topology(name))


@pytest.mark.parametrize("spines", [2, 3, 4])
def test_ties_among_spines_are_settled_alike(spines: int) -> None:
    check_last_links(leaf_spine(spines))
    check_last_links(leaf_spine(spines, dead=(2, 0)))
