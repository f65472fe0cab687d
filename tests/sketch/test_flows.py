"""Paths by column generation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from syccl.sketch.flows import cheapest_parents, path_to, price_paths, whole_pieces
from syccl.sketch.quotient import Quotient
from syccl.symmetry import trivial_group
from syccl.symmetry.automorphisms import find_group
from tests.strategies import ring, torus


def all_pairs(n):
    return [(u, (u + step) % n) for step in range(1, n) for u in range(n)]


def routed(quotient):
    table = (np.diff(quotient.route_start) > 0)[quotient.arc_class]
    np.fill_diagonal(table, val=False)
    return table


@pytest.mark.parametrize("ranks", [4, 5, 6])
def test_a_ring_carries_what_the_distances_add_up_to(ranks):
    topology = ring(ranks)
    quotient = Quotient.of(topology, trivial_group(topology))
    pool = price_paths(quotient, routed(quotient), all_pairs(ranks))
    distances = sum(min(k, ranks - k) for k in range(1, ranks))
    assert pool.value == pytest.approx(distances / 2 / topology.links[0].rate)


def test_the_quotient_gives_what_the_whole_gives():
    topology = torus(3, 3)
    values = []
    for group in (trivial_group(topology), find_group(topology)):
        quotient = Quotient.of(topology, group)
        pairs = [(u, v) for u in quotient.representatives.tolist() for v in range(9) if u != v]
        values.append(price_paths(quotient, routed(quotient), pairs).value)
    assert values[0] == pytest.approx(values[1])


def test_whole_pieces_of_opposite_ranks_go_both_ways_round():
    topology = ring(4)
    quotient = Quotient.of(topology, trivial_group(topology))
    pool = price_paths(quotient, routed(quotient), all_pairs(4))
    pieces = whole_pieces(pool, quotient, 2)
    assert [(p.root, p.target) for p in pieces] == all_pairs(4) * 2
    used = [(hop.src, hop.dst) for piece in pieces for hop in piece.hops]
    assert {arc: used.count(arc) for arc in used} == dict.fromkeys(
        itertools.chain(*[((i, (i + 1) % 4), ((i + 1) % 4, i)) for i in range(4)]), 4
    )


def test_a_pair_without_a_path_has_no_pool():
    topology = ring(3)
    quotient = Quotient.of(topology, trivial_group(topology))
    nowhere = np.zeros((3, 3), dtype=bool)
    assert price_paths(quotient, nowhere, [(0, 1)]) is None


def test_cheapest_paths_take_few_hops_among_equals():
    costs = np.full((4, 4), np.inf)
    costs[0, 1] = costs[1, 2] = costs[2, 3] = 1.0
    costs[0, 3] = 3.0
    assert path_to(cheapest_parents(costs, 0), 0, 3) == (0, 3)
    assert path_to(cheapest_parents(costs, 0), 0, 2) == (0, 1, 2)
    assert path_to(cheapest_parents(costs, 1), 1, 0) is None
