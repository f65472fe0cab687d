from __future__ import annotations

import numpy as np
from hypothesis import given

from syccl.symmetry import link_permutation
from syccl.symmetry.collapse import collapse
from syccl.topology import Kind, Node, Topology
from tests.strategies import cables, gpus, ring, topologies
from tests.symmetry.clusters import rail


def test_parallel_switches_become_one_vertex() -> None:
    nodes = (*gpus(3), *(Node(f"nvswitch{i}", Kind.SWITCH) for i in range(4)))
    topology = Topology("box", nodes, cables([(g, s) for g in range(3) for s in range(3, 7)]))
    graph = collapse(topology)
    assert graph.members == ((0,), (1,), (2,), (3, 4, 5, 6))


def test_switches_of_other_bandwidth_or_kind_stay_apart() -> None:
    nodes = (*gpus(2), Node("a", Kind.SWITCH), Node("b", Kind.SWITCH), Node("c", Kind.NIC))
    links = cables([(0, 2), (1, 2), (0, 4), (1, 4)]) + cables([(0, 3), (1, 3)], rate=1)
    assert len(collapse(Topology("box", nodes, links)).members) == 5


def test_gpus_are_never_collapsed() -> None:
    assert len(collapse(Topology("apart", gpus(4), ())).members) == 4


def test_spines_collapse_and_lift_in_order() -> None:
    topology = rail(2, size=2, spines=3)
    graph = collapse(topology)
    assert [len(nodes) for nodes in graph.members if len(nodes) > 1] == [3]
    nodes = graph.lift(np.arange(len(graph.members), dtype=np.int32))
    assert (nodes == np.arange(len(topology.nodes))).all()


def test_arcs_tell_which_direction_is_which() -> None:
    one_way = collapse(ring(3, one_way=True))
    weights = {weight for out in one_way.arcs for _, weight in out}
    assert len(weights) == 2
    assert len({weight for out in collapse(ring(3)).arcs for _, weight in out}) == 1


@given(topologies())
def test_the_identity_lifts_to_the_identity(topology: Topology) -> None:
    graph = collapse(topology)
    nodes = graph.lift(np.arange(len(graph.members), dtype=np.int32))
    assert (nodes == np.arange(len(topology.nodes))).all()
    assert link_permutation(topology, nodes) is not None
    assert [graph.members[vertex] for vertex in graph.gpus] == [(node,) for node in topology.gpus]
