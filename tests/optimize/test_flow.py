"""Max-flows against hand-made cases and against networkx."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest

from syccl.errors import InternalError
from syccl.optimize.flow import FlowNetwork, max_flow


def test_two_disjoint_paths_add_up() -> None:
    flow = max_flow(4, [(0, 1, 3), (1, 3, 2), (0, 2, 5), (2, 3, 4)], 0, 3)
    assert flow.value == 6
    assert flow.source_side.tolist() == [True, True, True, False]


def test_parallel_arcs_add_up() -> None:
    assert max_flow(2, [(0, 1, 3), (0, 1, 4), (1, 0, 9)], 0, 1).value == 7


def test_unreachable_sink_has_no_flow_and_isolated_nodes_are_known() -> None:
    flow = max_flow(5, [(0, 1, 3)], 0, 4)
    assert flow.value == 0
    assert flow.source_side.tolist() == [True, True, False, False, False]


def test_a_graph_without_arcs_has_no_flow() -> None:
    assert max_flow(2, [], 0, 1).value == 0


def test_capacities_above_32_bits_are_exact() -> None:
    big = 10**17 + 1
    assert max_flow(3, [(0, 1, big), (1, 2, big + 5)], 0, 2).value == big


def test_equal_ends_are_refused() -> None:
    with pytest.raises(InternalError, match="from 1 to 1"):
        max_flow(3, [(0, 1, 1)], 1, 1)


def test_unknown_ends_are_refused() -> None:
    with pytest.raises(InternalError, match="of 3 nodes"):
        max_flow(3, [(0, 1, 1)], 0, 7)


def test_network_is_solved_again_after_a_change() -> None:
    network = FlowNetwork(3, [0, 1], [1, 2], [5, 7])
    assert network.max_flow(0, 2).value == 5
    network.set_capacities([0], [6])
    assert network.max_flow(0, 2).value == 6
    assert network.max_flow(1, 2).value == 7
    assert network.max_flow(2, 0).value == 0


@pytest.mark.parametrize("seed", range(15))
def test_value_and_cut_agree_with_another_solver(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(2, 8)
    arcs = [(*rng.sample(range(n), 2), rng.randint(0, 9)) for _ in range(3 * n)]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for tail, head, capacity in arcs:
        old = graph.get_edge_data(tail, head, {"capacity": 0})["capacity"]
        graph.add_edge(tail, head, capacity=old + capacity)
    flow = max_flow(n, arcs, 0, n - 1)
    side = flow.source_side
    assert flow.value == nx.maximum_flow_value(graph, 0, n - 1)
    assert side[0]
    assert not side[n - 1]
    assert flow.value == sum(capacity for tail, head, capacity in arcs if side[tail] and not side[head])
    assert side.dtype == np.bool_
