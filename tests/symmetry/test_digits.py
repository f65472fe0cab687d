from __future__ import annotations

import math

import numpy as np
import pytest

from syccl.symmetry import link_permutation
from syccl.symmetry.collapse import collapse
from syccl.symmetry.digits import natural_generators
from syccl.symmetry.refine import Partition, common_divisor, refine
from syccl.topology import Topology
from tests.strategies import one_switch, ring, scrambled
from tests.symmetry.clusters import a100x32, grid, rail, servers


def orders(topology: Topology) -> list[int]:
    graph = collapse(topology)
    stable = Partition(graph.colours)
    refine(graph.arcs, stable)
    generators = natural_generators(graph, stable, graph.gpus, common_divisor(stable, graph.gpus))
    for move, order in generators:
        assert link_permutation(topology, graph.lift(move)) is not None
        power = move
        for _ in range(order - 1):
            assert (power != np.arange(len(move))).any()
            power = move[power]
        assert (power == np.arange(len(move))).all()
    return [order for _, order in generators]


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (one_switch(8), [8]),
        (ring(12), [12]),
        (a100x32(), [2, 4, 2, 2]),
        (rail(8), [8, 8]),
        (grid(4, 4, wrap=True), [4, 4]),
        (grid(4, 4), [2, 2]),
        (grid(3, 5), []),
        (servers([7, 8], [0, 1]), []),
    ],
    ids=["switch", "ring", "a100x32", "rail", "torus", "mesh", "odd mesh", "7+8"],
)
def test_regular_fabrics_turn_digit_by_digit(topology: Topology, expected: list[int]) -> None:
    assert orders(topology) == expected


def test_a_shuffled_order_is_no_obstacle_to_being_right() -> None:
    assert 32 % math.prod(orders(scrambled(a100x32(), 1)[0])) == 0
