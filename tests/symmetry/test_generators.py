"""Automorphisms with fixed points, and the groups that fix a point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.symmetry.generators import Moves, generators, orbit_labels, stabiliser
from syccl.symmetry.group import Group, link_permutation
from syccl.topology import Topology
from tests.bounds.clusters import a100, h800
from tests.strategies import mesh, one_switch, ring, scrambled, symmetric_topologies, topologies, torus, two_servers


def orbit_sizes(moves: Moves, topology: Topology) -> list[int]:
    label = orbit_labels(moves, len(topology.nodes))[list(topology.gpus)]
    return sorted(np.unique(label, return_counts=True)[1].tolist())


def all_automorphisms(topology: Topology) -> list[tuple[int, ...]]:
    nodes = range(len(topology.nodes))
    return [
        p for p in itertools.permutations(nodes) if link_permutation(topology, np.array(p, dtype=np.int32)) is not None
    ]


@given(topologies(max_gpus=4))
def test_all_automorphisms_of_small_graphs_up_to_twins(topology: Topology) -> None:
    if len(topology.nodes) > 6:
        return
    moves = generators(topology)
    every = np.array(all_automorphisms(topology), dtype=np.int32)
    assert orbit_sizes(moves, topology) == orbit_sizes(every, topology)
    for gpu in topology.gpus:
        fixing = every[every[:, gpu] == gpu]
        assert orbit_sizes(stabiliser(moves, gpu), topology) == orbit_sizes(fixing, topology)


@pytest.mark.parametrize(
    ("topology", "order"),
    [(ring(6), 12), (mesh(5), 120), (one_switch(4), 24), (torus(4, 4), 384), (two_servers(3, nics=3, rails=True), 12)],
)
def test_orders_that_are_known(topology: Topology, order: int) -> None:
    assert Group.generated(topology, tuple(generators(topology))).order == order


@pytest.mark.parametrize(
    ("topology", "orbits"),
    [(a100(), [1, 1, 6, 6, 18]), (h800(), [1, 7, 7, 49]), (torus(4, 4), [1, 1, 4, 4, 6])],
)
def test_what_one_gpu_tells_apart(topology: Topology, orbits: list[int]) -> None:
    moves = generators(topology)
    assert orbit_sizes(moves, topology) == [topology.ranks]
    assert orbit_sizes(stabiliser(moves, topology.gpus[0]), topology) == orbits


@given(symmetric_topologies(), st.integers(0, 99))
def test_every_move_keeps_links_and_names_do_not_matter(topology: Topology, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    there = generators(copy)
    for move in there:
        assert link_permutation(copy, move) is not None
    assert orbit_sizes(there, copy) == orbit_sizes(generators(topology), topology)
    first = copy.gpus[ranks[0]]
    fixing = stabiliser(there, first)
    assert (fixing[:, first] == first).all()
    assert orbit_sizes(fixing, copy) == orbit_sizes(stabiliser(generators(topology), topology.gpus[0]), topology)


def test_without_refinements_there_are_no_moves() -> None:
    assert len(generators(ring(6), refinements=0)) == 0
    assert orbit_labels(generators(ring(6), refinements=0), 6).tolist() == list(range(6))
