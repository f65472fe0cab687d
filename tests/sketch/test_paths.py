from __future__ import annotations

import numpy as np

from syccl.sketch.ground import Ground
from syccl.sketch.grow import TreeRouter
from syccl.sketch.paths import route_paths
from syccl.sketch.quotient import Quotient
from syccl.sketch.shape import Shape
from syccl.symmetry import trivial_group
from tests.strategies import ring, two_servers


def router_of(topology, islands):
    ground = Ground(Quotient.of(topology, trivial_group(topology)), islands)
    return TreeRouter(ground, 2 / topology.links[0].rate, Shape())


def test_a_path_on_a_ring_goes_the_short_way():
    topology = ring(5)
    router = router_of(topology, (tuple(range(5)),))
    (piece,) = route_paths(router, [(0, 2)], router.ground.routed)
    assert [(hop.src, hop.dst, hop.stage) for hop in piece.hops] == [(0, 1, 0), (1, 2, 1)]
    assert (piece.root, piece.target) == (0, 2)


def test_two_equal_ways_round_a_ring_share_the_load():
    router = router_of(ring(4), (tuple(range(4)),))
    pieces = route_paths(router, [(0, 2)] * 4, router.ground.routed)
    first = sorted(piece.hops[0].dst for piece in pieces)
    assert first == [1, 1, 3, 3]


def test_paths_keep_to_the_allowed_arcs_and_are_empty_where_these_do_not_lead():
    topology = two_servers(2, 2)
    router = router_of(topology, ((0, 1), (2, 3)))
    allowed = np.zeros((4, 4), dtype=bool)
    allowed[0, 1] = allowed[1, 3] = True
    there, nowhere = route_paths(router, [(0, 3), (0, 2)], allowed)
    assert [(hop.src, hop.dst) for hop in there.hops] == [(0, 1), (1, 3)]
    assert nowhere.hops == ()
