from __future__ import annotations

from syccl.topology import Kind, Link, Node, Topology, merged
from tests.strategies import ring

GPUS = (Node("a", Kind.GPU), Node("b", Kind.GPU))


def test_parallel_links_of_one_latency_carry_their_summed_bandwidth():
    topology = Topology("two", GPUS, (Link(0, 1, 10, 5), Link(1, 0, 10, 5), Link(0, 1, 30, 5)))
    assert merged(topology).links == (Link(0, 1, 40, 5), Link(1, 0, 10, 5))


def test_links_of_other_latency_stay_apart():
    topology = Topology("two", GPUS, (Link(0, 1, 10, 5), Link(0, 1, 10, 6), Link(1, 0, 10, 5)))
    assert merged(topology) is topology


def test_a_topology_without_parallel_links_is_kept():
    topology = ring(4)
    assert merged(topology) is topology
