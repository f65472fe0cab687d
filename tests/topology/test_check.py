"""Connectivity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.topology.check import disconnected_parts, require_connected
from syccl.topology.model import Kind, Link, Node, Topology
from tests.strategies import cables, gpus, mesh, one_switch, reaches_all, ring, topologies, without_links


def test_one_gpu_alone_is_connected() -> None:
    assert disconnected_parts(ring(1)) == ()


def test_one_way_ring_is_connected_and_falls_apart_without_a_link() -> None:
    topology = ring(4, one_way=True)
    assert disconnected_parts(topology) == ()
    assert disconnected_parts(without_links(topology, [1])) == ((0,), (1,), (2,), (3,))


def test_a_gpu_that_only_receives_is_a_part_of_its_own() -> None:
    topology = one_switch(4)
    lost = next(i for i, link in enumerate(topology.links) if link.src == 2)
    assert disconnected_parts(without_links(topology, [lost])) == ((0, 1, 3), (2,))


def test_parts_count_ranks_not_node_ids() -> None:
    nodes = (Node("x", Kind.SWITCH), *gpus(3))
    topology = Topology("t", nodes, (Link(1, 2, 1, 0), Link(2, 1, 1, 0)))
    assert disconnected_parts(topology) == ((0, 1), (2,))


def test_the_error_names_the_parts() -> None:
    topology = without_links(ring(9), range(14, 18))
    with pytest.raises(InputError, match=r"'ring9-damaged' falls into 2 parts .*: gpu0\.\.gpu7 \| gpu8; "):
        require_connected(topology)
    require_connected(ring(9))


def test_the_error_names_interleaved_ranks_one_by_one_and_few_of_many_parts() -> None:
    topology = Topology("t", gpus(12), cables([(0, 2), (2, 3)]))
    with pytest.raises(InputError, match=r"gpu0, gpu2\.\.gpu3 \| gpu1 \| .* \| and 2 more; "):
        require_connected(topology)


def test_long_chains_need_no_deep_recursion() -> None:
    topology = Topology("chain", gpus(5000), cables([(i, i + 1) for i in range(4999)]))
    assert disconnected_parts(topology) == ()


@given(topologies() | st.builds(mesh, st.integers(1, 5)), st.data())
def test_parts_agree_with_plain_search(topology: Topology, data: st.DataObject) -> None:
    count = len(topology.links)
    removed = data.draw(st.sets(st.integers(0, count - 1)), label="removed") if count else []
    cut = without_links(topology, removed)
    parts = disconnected_parts(cut)
    assert (parts == ()) == reaches_all(cut)
    if parts:
        assert sorted(rank for part in parts for rank in part) == list(range(cut.ranks))
        assert [part[0] for part in parts] == sorted(min(part) for part in parts)
