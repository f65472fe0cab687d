from __future__ import annotations

import numpy as np

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import collapse
from syccl.symmetry.refine import Partition, refine
from syccl.symmetry.search import Budget
from syccl.symmetry.twists import straight, twists
from syccl.topology import Topology
from tests.strategies import ring
from tests.symmetry.clusters import circulant


def turning(topology: Topology, prime: int) -> tuple[FreeAction, Displacements]:
    """The turns of n = prime GPUs in a circle, and the displacements of their graph."""
    graph = collapse(topology)
    stable = Partition(graph.colours)
    refine(graph.arcs, stable)
    turn = (np.arange(prime, dtype=np.int32) + 1) % prime
    action = FreeAction.trivial(graph.gpus, prime).extended(turn.astype(np.int32), prime)
    assert action is not None
    return action, Displacements(graph, stable)


def test_products_and_orders_of_a_cyclic_group() -> None:
    action, _ = turning(ring(7), 7)
    steps = action.elements[:, 0]
    assert (steps[action.products] == (steps[:, None] + steps) % 7).all()
    assert action.orders.tolist() == [1] + [7] * 6
    assert action.representatives == (0,)


def test_a_ring_can_only_be_turned_the_other_way() -> None:
    action, displacements = turning(ring(7), 7)
    (plain,) = straight(action)
    (twist,) = twists(action, 3, displacements, Budget(10_000))
    assert action.elements[plain, 0] == 1
    assert action.elements[twist[0], 0] == 6


def test_a_complete_circulant_has_all_twists() -> None:
    action, displacements = turning(circulant(7, [1, 2, 3]), 7)
    assert len(list(twists(action, 3, displacements, Budget(10_000)))) == 5


def test_a_spent_budget_gives_no_twists() -> None:
    action, displacements = turning(circulant(7, [1, 2, 3]), 7)
    assert not list(twists(action, 3, displacements, Budget(0)))


def test_a_move_that_fixes_a_gpu_does_not_extend() -> None:
    mirror = np.array([0, 3, 2, 1], dtype=np.int32)
    assert FreeAction.trivial(range(4), 4).extended(mirror, 2) is None
