"""One tree under prices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import in_tree, out_tree
from syccl.sketch.shape import Shape
from syccl.topology import Link, Topology
from tests.problems import ground_of, is_spanning
from tests.sketch.quotient_cases import clos, rails
from tests.strategies import RATE, cables, damaged, gpus, one_switch, ring, symmetric_topologies, topologies

SHAPES = (Shape(), Shape(relays=2), Shape("chain"), Shape("star"))


def router_of(topology: Topology, shape: Shape = SHAPES[0], *, symmetric: bool = True) -> TreeRouter:
    return TreeRouter(ground_of(topology, symmetric=symmetric), topology.ranks / RATE, shape)


def feeders(router: TreeRouter, root: int) -> Counter[int]:
    """How many islands each island feeds."""
    home = router.ground.island_of.tolist()
    parent = router.tree(root, 0)
    return Counter(home[over] for child, over in parent.items() if home[child] != home[over])


@given(
    topology=st.one_of(symmetric_topologies(), topologies(max_gpus=6), damaged()),
    shape=st.sampled_from(SHAPES),
    inward=st.booleans(),
    symmetric=st.booleans(),
    data=st.data(),
)
def test_trees_span_over_arcs_that_have_routes(topology, shape, inward, symmetric, data) -> None:
    router = router_of(topology, shape, symmetric=symmetric)
    for wave in range(2):
        root = data.draw(st.integers(0, topology.ranks - 1))
        parent = router.tree(root, wave, inward=inward)
        assert is_spanning(root, parent, topology.ranks)
        for child, over in parent.items():
            assert router.ground.quotient.route(*((child, over) if inward else (over, child)))


@given(
    topology=st.one_of(symmetric_topologies(), topologies(max_gpus=6)),
    shape=st.sampled_from(SHAPES),
    inward=st.booleans(),
)
def test_a_tree_that_is_taken_out_leaves_no_load(topology, shape, inward) -> None:
    router = router_of(topology, shape)
    parent = router.tree(0, 0, inward=inward)
    hops = in_tree(0, parent) if inward else out_tree(0, parent)
    assert router.loads.use.sum() == pytest.approx(topology.ranks - 1)
    router.loads.count(hops, -1.0)
    assert router.loads.load == pytest.approx(np.zeros(len(router.loads.load)), abs=1e-9)
    assert router.loads.use == pytest.approx(np.zeros(len(router.loads.use)))


def test_the_load_of_a_star_is_that_of_its_ports() -> None:
    router = router_of(one_switch(4))
    router.tree(0, 0)
    assert router.loads.load.tolist() == [3.0, 3.0]


def test_loaded_arcs_cost_more() -> None:
    router = TreeRouter(ground_of(ring(6), symmetric=False), 1 / RATE, Shape())
    before = router.loads.prices()
    parent = router.tree(0, 0)
    dearer = router.loads.prices() > before * (1 + 1e-9)
    kinds = router.ground.quotient.arc_class
    used = {(over, child) for child, over in parent.items()}
    arcs = {(u, v) for u in range(6) for v in ((u + 1) % 6, (u - 1) % 6)}
    assert {arc for arc in arcs if dearer[kinds[arc]]} == used


def test_every_second_tree_of_a_ring_takes_the_other_way_round() -> None:
    router = router_of(ring(4))
    first, second = (router.tree(0, wave) for wave in range(2))
    load = router.loads.load
    assert first != second
    assert load.tolist() == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(("relays", "children"), [(0, 5), (1, 1), (2, 2), (3, 3)])
def test_relays_are_the_children_of_the_holder(relays: int, children: int) -> None:
    parent = router_of(one_switch(6), Shape(relays=relays)).tree(0, 0)
    assert Counter(parent.values())[0] == children
    assert max(Counter(parent.values()).values()) <= max(children, 5 // max(1, children))


def test_the_wave_says_which_island_feeds_which() -> None:
    topology = rails(4, per_server=2)
    assert feeders(router_of(topology, Shape("star")), 0) == {0: 3}
    assert sorted(feeders(router_of(topology, Shape("chain")), 0).values()) == [1, 1, 1]
    assert sorted(feeders(router_of(topology, Shape("binomial")), 0).values()) == [1, 2]


def test_each_island_is_entered_once() -> None:
    router = router_of(clos())
    home = router.ground.island_of
    for wave in range(4):
        parent = router.tree(0, wave)
        entered = Counter(int(home[child]) for child, over in parent.items() if home[child] != home[over])
        assert entered == {1: 1, 2: 1, 3: 1}


def test_an_island_whose_links_go_one_way_is_reached_from_outside() -> None:
    fast = tuple(Link(*pair, 20 * RATE, 0) for pair in ((0, 1), (1, 2)))
    slow = (*cables([(2, 3)]), *cables([(3, 0)]))
    topology = Topology("one way", gpus(4), (*fast, *slow))
    router = router_of(topology)
    assert router.ground.islands == ((0, 1, 2), (3,))
    assert router.tree(2, 0) == {3: 2, 0: 3, 1: 0}
    assert router.tree(0, 0, inward=True) == {3: 0, 2: 3, 1: 2}


def test_trees_are_the_same_every_time() -> None:
    made = [[router_of(clos()).tree(0, wave) for wave in range(2)] for _ in range(2)]
    assert made[0] == made[1]
