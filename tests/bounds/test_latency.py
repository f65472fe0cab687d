"""Least alphas against another algorithm, and the water-filling time by hand."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.bounds.latency import Line, cut_windows, farthest, joined, latency_bound, least_time, rank_alphas
from syccl.bounds.network import UNREACHED, Network
from syccl.symmetry.group import trivial_group
from syccl.topology import Kind, Link, Node, Topology
from tests.bounds.clusters import a100, h800, rotations
from tests.strategies import gpus, one_switch, ring, topologies

PS = 10**12


@given(topologies(max_gpus=6))
def test_alphas_are_shortest_paths_through_anything(topology: Topology) -> None:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(topology.nodes)))
    graph.add_weighted_edges_from((link.src, link.dst, link.latency_ps) for link in topology.links)
    alphas = rank_alphas(Network.of(topology), trivial_group(topology))
    for u, src in enumerate(topology.gpus):
        lengths = nx.single_source_dijkstra_path_length(graph, src)
        assert alphas[u].tolist() == [lengths[dst] for dst in topology.gpus]


@pytest.mark.parametrize(("topology", "shape"), [(a100(), (4, 8, 4)), (h800(), (8, 8, 8))], ids=["a100", "h800"])
def test_rows_of_one_orbit_are_images_of_each_other(topology: Topology, shape: tuple[int, int, int]) -> None:
    network = Network.of(topology)
    every = rank_alphas(network, trivial_group(topology))
    assert np.array_equal(rank_alphas(network, rotations(topology, *shape)), every)


def test_latency_of_rails_goes_over_nvlink_or_spine() -> None:
    topology = h800()
    alphas = rank_alphas(Network.of(topology), trivial_group(topology))
    assert alphas[0, 1] == 1_000_000
    assert alphas[0, 8] == 5_000_000
    assert alphas[0, 9] == 6_000_000
    assert latency_bound(alphas) == Fraction(6, 10**6)
    assert latency_bound(alphas[:1, :1]) == 0


def test_one_way_ring_latency_is_all_the_way_round() -> None:
    topology = ring(5, latency_ps=700, one_way=True)
    alphas = rank_alphas(Network.of(topology), trivial_group(topology))
    assert latency_bound(alphas) == Fraction(4 * 700, PS)
    assert farthest(alphas, (1, 2), (3, 4, 0)) == (1, 0)


def test_least_time_fills_windows_one_after_the_other() -> None:
    windows = {1000: Fraction(2), 5000: Fraction(6)}
    assert least_time(Fraction(0), windows) == 0
    assert least_time(Fraction(4000, PS), windows) == Fraction(3000, PS)
    assert least_time(Fraction(8000, PS), windows) == Fraction(5000, PS)
    assert least_time(Fraction(16000, PS), windows) == Fraction(6000, PS)
    assert Line("by hand", Fraction(1, 2), {0: Fraction(4)}).seconds(80) == 10


@given(
    st.dictionaries(st.integers(0, 9), st.integers(1, 9).map(Fraction), min_size=1),
    st.integers(1, 50).map(Fraction),
)
def test_least_time_passes_exactly_the_payload(windows: dict[int, Fraction], payload: Fraction) -> None:
    time = least_time(payload / PS, windows) * PS
    assert sum(rate * max(Fraction(0), time - unusable) for unusable, rate in windows.items()) == payload


def test_joined_adds_up_and_leaves_out_what_is_unreached() -> None:
    assert joined({1: Fraction(2)}, {1: Fraction(3), UNREACHED: Fraction(7)}, {4: Fraction(0)}) == {1: Fraction(5)}


def test_windows_of_a_cut_know_both_ends() -> None:
    topology = one_switch(3, rate=10, latency_ps=500)
    network = Network.of(topology)
    into_last = network.cut((0, 1), (2,)).links
    assert cut_windows(network, into_last, sources=(0,), sinks=(2,)) == {1000: Fraction(10)}


def test_detours_of_other_timing_keep_a_link_busy_longer() -> None:
    # 0 -> switch costs 1 us before the shared link; 0 -> 1 -> switch costs it before the switch: the shared link
    # is of use in [0, T - 1us] by the first, in [1us, T] by the second.
    nodes = (*gpus(3), Node("near", Kind.SWITCH), Node("far", Kind.SWITCH))
    links = (Link(0, 3, 10, 10**6), Link(0, 1, 90, 10**6), Link(1, 3, 90, 0), Link(3, 4, 10, 0), Link(4, 2, 90, 0))
    topology = Topology("detour", nodes, links)
    network = Network.of(topology)
    assert cut_windows(network, [3], sources=(0,), sinks=(2,)) == {0: Fraction(10)}
    assert int(network.alphas_from((0,))[2]) == 10**6
