from __future__ import annotations

import numpy as np
import pytest

from syccl.errors import InternalError
from syccl.symmetry import Group, link_permutation, trivial_group
from syccl.topology import Kind, Link, Node, Topology
from tests.strategies import cables, gpus, one_switch, ring


def turn(topology: Topology, step: int) -> np.ndarray:
    n = topology.ranks
    nodes = np.arange(len(topology.nodes), dtype=np.int32)
    nodes[:n] = (np.arange(n) + step) % n
    return nodes


def test_a_turned_ring_moves_each_link_between_the_images_of_its_ends() -> None:
    topology = ring(5)
    nodes = turn(topology, 1)
    image = link_permutation(topology, nodes)
    assert image is not None
    for i, link in enumerate(topology.links):
        moved = topology.links[image[i]]
        assert (moved.src, moved.dst) == (nodes[link.src], nodes[link.dst])


def test_a_permutation_that_changes_a_bandwidth_is_refused() -> None:
    topology = ring(4)
    links = (topology.links[0]._replace(rate=1), *topology.links[1:])
    assert link_permutation(Topology("odd", topology.nodes, links), turn(topology, 1)) is None


def test_a_permutation_that_changes_a_latency_is_refused() -> None:
    topology = ring(4)
    links = (topology.links[0]._replace(latency_ps=1), *topology.links[1:])
    assert link_permutation(Topology("odd", topology.nodes, links), turn(topology, 1)) is None


def test_a_permutation_that_changes_a_kind_is_refused() -> None:
    nodes = (Node("a", Kind.GPU), Node("b", Kind.SWITCH))
    topology = Topology("pair", nodes, cables([(0, 1)]))
    assert link_permutation(topology, np.array([1, 0], dtype=np.int32)) is None


def test_what_is_no_permutation_is_refused() -> None:
    topology = Topology("alone", gpus(3), ())
    assert link_permutation(topology, np.array([0, 0, 1], dtype=np.int32)) is None


def test_a_missing_parallel_link_is_seen() -> None:
    links = (*cables([(0, 1)]), Link(0, 1, 25_000_000_000, 700_000))
    topology = Topology("lopsided", gpus(2), links)
    assert link_permutation(topology, np.array([1, 0], dtype=np.int32)) is None


def test_parallel_links_of_equal_label_go_in_order() -> None:
    links = (*cables([(0, 1)]), *cables([(0, 1)], rate=1), *cables([(0, 1)]))
    topology = Topology("bundle", gpus(2), links)
    image = link_permutation(topology, np.array([1, 0], dtype=np.int32))
    assert image is not None
    assert image.tolist() == [1, 0, 3, 2, 5, 4]


def test_a_topology_without_links_has_symmetries() -> None:
    topology = Topology("alone", gpus(2), ())
    image = link_permutation(topology, np.array([1, 0], dtype=np.int32))
    assert image is not None
    assert image.shape == (0,)


def test_the_group_of_a_ring_is_closed_and_its_tables_agree() -> None:
    topology = ring(6)
    group = Group.generated(topology, (turn(topology, 2), turn(topology, 3)))
    assert group.order == 6
    assert group.is_semiregular
    assert group.rank_orbits == (tuple(range(6)),)
    assert group.link_orbits == (tuple(range(0, 12, 2)), tuple(range(1, 12, 2)))
    assert (group.elements[0] == np.arange(6)).all()
    for element in range(6):
        assert (group.elements[element][group.elements[group.inverse[element]]] == np.arange(6)).all()
        expected = link_permutation(topology, group.elements[element])
        assert expected is not None
        assert (group.links[element] == expected).all()
    assert [int(group.ranks[group.mover[rank], 0]) for rank in range(6)] == list(range(6))


def test_the_mover_is_the_first_element_that_reaches_a_rank() -> None:
    topology = one_switch(4)
    swap, cycle = np.array([1, 0, 2, 3, 4], dtype=np.int32), turn(topology, 1)
    group = Group.generated(topology, (swap, cycle))
    assert group.order == 24
    for rank in range(4):
        first = next(i for i in range(24) if group.ranks[i, 0] == rank)
        assert group.mover[rank] == first


def test_elements_that_are_no_automorphisms_are_reported() -> None:
    topology = ring(4)
    swap = np.array([1, 0, 2, 3], dtype=np.int32)
    with pytest.raises(InternalError, match="does not keep its links"):
        _ = Group.generated(topology, (swap,)).links


def test_a_group_beyond_the_limit_is_reported() -> None:
    topology = ring(8)
    with pytest.raises(InternalError, match="more than 4 elements"):
        Group.generated(topology, (turn(topology, 1),), limit=4)


def test_the_trivial_group_is_the_identity() -> None:
    group = trivial_group(ring(3))
    assert group.order == 1
    assert group.is_semiregular
    assert group.rank_orbits == ((0,), (1,), (2,))
