"""Structured trees by rip-up and re-route."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.collective import OPS
from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Piece
from syccl.sketch.price import price
from syccl.sketch.shape import Shape
from syccl.sketch.structure import route_allgather, route_allreduce
from syccl.topology import Topology
from tests.problems import contributions, ground_of
from tests.sketch.quotient_cases import clos, cube_mesh
from tests.strategies import damaged, symmetric_topologies, topologies, torus


def router_of(topology: Topology, op: str, pieces: int) -> TreeRouter:
    ground = ground_of(topology)
    scale = pieces * (ground.quotient.group.order if op == "allreduce" else 1)
    return TreeRouter(ground, price(OPS[op], ground.quotient).lp_value * scale, Shape())


def routed(topology: Topology, op: str, pieces: int, passes: int = 2) -> tuple[TreeRouter, tuple[Piece, ...]]:
    router = router_of(topology, op, pieces)
    if op == "allreduce":
        return router, route_allreduce(router, pieces, passes=passes)
    return router, route_allgather(router, pieces, inward=op == "reducescatter", passes=passes)


def excess(topology: Topology, op: str, pieces: int) -> float:
    """Load of the busiest link over the best of any mix of trees."""
    router, _ = routed(topology, op, pieces)
    return float((router.loads.load / router.loads.room).max())


anything = st.one_of(symmetric_topologies(), topologies(max_gpus=5), damaged())


@settings(max_examples=15)
@given(anything, st.sampled_from([1, 2, 3]))
def test_allgather_trees_bring_each_shard_everywhere_once(topology: Topology, pieces: int) -> None:
    router, made = routed(topology, "allgather", pieces)
    representatives = router.ground.quotient.representatives.tolist()
    assert Counter(piece.root for piece in made) == dict.fromkeys(representatives, pieces)
    for piece in made:
        assert sorted(hop.dst for hop in piece.hops) == [r for r in range(topology.ranks) if r != piece.root]


@settings(max_examples=15)
@given(anything, st.sampled_from([1, 3]))
def test_reducescatter_trees_sum_everything_at_the_root(topology: Topology, pieces: int) -> None:
    for piece in routed(topology, "reducescatter", pieces)[1]:
        assert contributions(piece.hops, topology.ranks)[piece.root] == [1] * topology.ranks


@settings(max_examples=15)
@given(anything, st.sampled_from([1, 3]))
def test_allreduce_trees_leave_the_sum_everywhere(topology: Topology, pieces: int) -> None:
    made = routed(topology, "allreduce", pieces)[1]
    assert len(made) == pieces
    for piece in made:
        assert contributions(piece.hops, topology.ranks) == [[1] * topology.ranks] * topology.ranks


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_the_load_that_is_kept_is_that_of_the_pieces(op: str) -> None:
    router, made = routed(cube_mesh(), op, 4, passes=3)
    quotient = router.ground.quotient
    expected = sum(quotient.class_weights[quotient.arc_class[hop.src, hop.dst]] for piece in made for hop in piece.hops)
    assert router.loads.load == pytest.approx(np.asarray(expected))


@pytest.mark.parametrize(
    ("topology", "op", "pieces", "most"),
    [
        (clos(), "allgather", 4, 1.001),
        (clos(), "reducescatter", 4, 1.001),
        (clos(), "allreduce", 4, 1.001),
        (torus(4, 4), "allgather", 4, 1.001),
        (torus(4, 4), "allreduce", 8, 1.07),
        (cube_mesh(), "allgather", 16, 1.05),
    ],
)
def test_links_are_evenly_loaded(topology: Topology, op: str, pieces: int, most: float) -> None:
    assert excess(topology, op, pieces) <= most


def test_nics_carry_even_loads_connection_by_connection() -> None:
    router, _ = routed(clos(), "allgather", 8)
    ground = router.ground
    of = ground.island_of
    kinds = ground.quotient.arc_class
    used = [router.loads.use[kinds[0, v]] for v in range(32) if of[v] != of[0] and ground.allowed[0, v]]
    assert len(used) == 3
    assert max(used) <= 2 * min(used)
