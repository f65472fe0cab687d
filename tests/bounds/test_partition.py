"""Partitions: orbits of parts, levels of alphas."""

from __future__ import annotations

import numpy as np

from syccl.bounds.latency import rank_alphas
from syccl.bounds.network import Network
from syccl.bounds.partition import (
    densest_partition,
    into_parts,
    levels_above,
    outside,
    permutes,
    representatives,
    singletons,
)
from syccl.symmetry.group import trivial_group
from tests.bounds.clusters import a100, h800, islands_of, rotations
from tests.strategies import one_switch, ring


def test_outside_is_the_rest_in_order() -> None:
    assert outside((3, 1), 5) == (0, 2, 4)


def test_one_island_stands_for_all_where_the_group_permutes_them() -> None:
    topology = a100()
    group = rotations(topology, 4, 8, 4)
    assert permutes(islands_of(4, 8), group)
    assert representatives(islands_of(4, 8), group) == ((0, 4),)
    assert representatives(singletons(32), group) == ((0, 16), (1, 16))


def test_parts_that_are_not_permuted_stand_for_themselves() -> None:
    topology = a100()
    group = rotations(topology, 4, 8, 4)
    uneven = ((0, 1, 2), tuple(range(3, 32)))
    assert not permutes(uneven, group)
    assert representatives(uneven, group) == ((0, 1), (1, 1))


def test_cuts_into_servers_add_up_to_their_nics() -> None:
    topology = a100()
    for group in (trivial_group(topology), rotations(topology, 4, 8, 4)):
        assert into_parts(Network.of(topology), islands_of(4, 8), group).rate == 400 * 10**9


def test_levels_join_what_is_close() -> None:
    topology = h800(4, 2)
    network = Network.of(topology)
    alphas = rank_alphas(network, trivial_group(topology))
    assert levels_above(alphas, singletons(8)) == (islands_of(4, 2),)
    assert levels_above(alphas, islands_of(4, 2)) == ()


def test_levels_see_one_way_alphas_in_either_direction() -> None:
    alphas = np.array([[0, 9, 9], [2, 0, 9], [9, 5, 0]])
    assert levels_above(alphas, singletons(3)) == (((0, 1), (2,)),)


def test_densest_partition_keeps_what_is_best_already() -> None:
    for topology in (one_switch(5), ring(5)):
        network = Network.of(topology)
        start = into_parts(network, singletons(5), trivial_group(topology))
        assert densest_partition(network, start) is start
