from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.baselines.rings import find_rings
from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Kind, default_route
from syccl.topology.catalog import load_topology
from tests.strategies import damaged, mesh, one_switch, ring, scrambled, topologies, torus, two_servers
from tests.symmetry.clusters import grid, rail, servers, without

GB = 10**9


def rings_of(topology):
    return find_rings(topology, islands(topology), find_group(topology))


def in_order(successor):
    ranks = [0]
    while len(ranks) < len(successor):
        ranks.append(int(successor[ranks[-1]]))
    return ranks


def passes(topology, rings):
    """How often the rings pass every link."""
    count: Counter[int] = Counter()
    for successor in rings.successors:
        for src, dst in enumerate(successor.tolist()):
            route = default_route(topology, src, dst)
            assert route is not None
            count.update(route.links)
    return count


@pytest.mark.parametrize(
    ("topology", "rings", "total_gbps"),
    [
        (load_topology("a100x32"), 4, 100),
        (load_topology("h800x64"), 8, 8 * 200 / 7),
        (load_topology("h100x8"), 1, 450),
        (load_topology("dgx1-v100"), 6, 150),
        (load_topology("torus2d-4x4"), 4, 200),
        (torus(8, 8), 4, 100),
        (mesh(5), 4, 100),
        (rail(3), 8, 8 * 200 / 7),
        (two_servers(4, 4, nics=4, rails=True), 4, 100),
        (ring(5, one_way=True), 1, 25),
        (ring(2), 1, 25),
        (one_switch(6), 1, 25),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_rings_of_known_clusters_carry_what_they_can(topology, rings, total_gbps):
    found = rings_of(topology)
    assert found is not None
    assert len(found.successors) == rings
    assert found.rate * rings / GB == pytest.approx(total_gbps)


@pytest.mark.parametrize("name", ["a100x32", "h800x64"])
def test_each_ring_uses_another_nic_in_each_server_once_each_way(name):
    topology = load_topology(name)
    found = rings_of(topology)
    assert found is not None
    count = passes(topology, found)
    for i, link in enumerate(topology.links):
        kinds = {topology.nodes[link.src].kind, topology.nodes[link.dst].kind}
        if kinds == {Kind.NIC, Kind.SWITCH}:
            assert count[i] == 1, topology.link_name(i)


def test_rails_are_kept_where_there_are_rails():
    topology = load_topology("h800x64")
    found = rings_of(topology)
    assert found is not None
    for i in passes(topology, found):
        link = topology.links[i]
        assert {topology.nodes[link.src].kind, topology.nodes[link.dst].kind} != {Kind.SWITCH}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["a100x32", "dgx1-v100", "h100x8"])
def test_names_and_order_do_not_matter(name, seed):
    topology = load_topology(name)
    plain, mixed = rings_of(topology), rings_of(scrambled(topology, seed)[0])
    assert plain is not None
    assert mixed is not None
    assert mixed.rate == pytest.approx(plain.rate)
    assert len(mixed.successors) == len(plain.successors)


@pytest.mark.parametrize(
    ("topology", "total_gbps"),
    [
        (without(load_topology("a100x32"), "server1.nic2"), 75),
        (without(load_topology("a100x32"), "server1.gpu3"), 100),
        (servers([7, 8], [0, 0]), 100),
        (servers([8, 8, 4], [0, 0, 0]), 50),
        (two_servers(4, 3), 50),
    ],
    ids=["dead NIC", "dead GPU", "7+8", "8+8+4", "4+3"],
)
def test_uneven_clusters_get_rings_that_fill_their_weakest_server(topology, total_gbps):
    found = rings_of(topology)
    assert found is not None
    assert found.rate * len(found.successors) / GB == pytest.approx(total_gbps)


@pytest.mark.parametrize("topology", [grid(1, 4), grid(3, 3), ring(1)], ids=["line", "odd grid", "one GPU"])
def test_there_is_no_ring_where_no_cycle_passes_all_ranks(topology):
    assert rings_of(topology) is None


@given(st.one_of(topologies(), damaged()))
def test_every_ring_passes_all_ranks_and_no_link_carries_too_much(topology):
    found = rings_of(topology)
    if found is None:
        return
    for successor in found.successors:
        assert sorted(in_order(successor)) == list(range(topology.ranks))
    for link, count in passes(topology, found).items():
        assert count * found.rate <= topology.links[link].rate * (1 + 1e-9)


@given(topologies(max_gpus=6))
def test_a_ring_is_found_exactly_where_one_exists(topology):
    n = topology.ranks
    joined = {(a, b) for a in range(n) for b in range(n) if a != b and default_route(topology, a, b)}
    circles = ((0, *rest) for rest in itertools.permutations(range(1, n)))
    exists = any(all(hop in joined for hop in zip(c, (*c[1:], 0), strict=True)) for c in circles)
    assert (rings_of(topology) is not None) == exists


def test_a_wrong_group_is_ignored():
    topology = one_switch(4)
    swap = np.array([1, 0, 2, 3, 4], dtype=np.int32)
    found = find_rings(topology, islands(topology), Group.generated(topology, (swap,)))
    assert found is not None
    assert sorted(in_order(found.successors[0])) == [0, 1, 2, 3]
