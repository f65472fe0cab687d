"""Staged sketches."""

from __future__ import annotations

import pytest

from syccl.sketch.search import Levels, spreading_sketches, summing_sketches
from syccl.topology import Topology
from tests.problems import contributions, ground_of
from tests.sketch.quotient_cases import clos, rails
from tests.strategies import RATE, cables, mesh, one_switch, ring, two_servers

CLUSTERS = {
    "switch": one_switch(5),
    "mesh": mesh(3),
    "two": ring(2),
    "servers": two_servers(4),
    "rails": rails(3, per_server=2),
    "unlike servers": two_servers(2, 3),
    "two leaves": clos(),
}


def levels_of(topology: Topology) -> Levels:
    ground = ground_of(topology)
    return Levels(ground.quotient, ground.islands)


def roots(topology: Topology) -> list[int]:
    return ground_of(topology).quotient.representatives.tolist()


def joined_by_one_cable() -> Topology:
    """Two triangles of GPUs; only ranks 2 and 3 have a cable to the other one."""
    inside = cables([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)], 12 * RATE)
    return Topology("bridge", mesh(6).nodes, inside + cables([(2, 3)]))


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_spreading_sketch_serves_every_rank_once(name: str) -> None:
    topology = CLUSTERS[name]
    sketches = spreading_sketches(levels_of(topology))
    assert sketches
    for sketch in sketches:
        for root in roots(topology):
            hops = sketch.hops(root)
            assert sorted(hop.dst for hop in hops) == [r for r in range(topology.ranks) if r != root], sketch.name
            arrived = {root: -1} | {hop.dst: hop.stage for hop in hops}
            assert all(arrived[hop.src] < hop.stage for hop in hops)


@pytest.mark.parametrize("name", CLUSTERS)
def test_inward_sketches_sum_everything_at_the_root(name: str) -> None:
    topology = CLUSTERS[name]
    for sketch in spreading_sketches(levels_of(topology), inward=True):
        for root in roots(topology):
            assert contributions(sketch.hops(root), topology.ranks)[root] == [1] * topology.ranks, sketch.name


@pytest.mark.parametrize("name", [name for name in CLUSTERS if name != "unlike servers"])
def test_every_summing_sketch_leaves_the_sum_on_every_rank(name: str) -> None:
    topology = CLUSTERS[name]
    sketches = summing_sketches(levels_of(topology))
    assert sketches
    for sketch in sketches:
        for root in roots(topology):
            held = contributions(sketch.hops(root), topology.ranks)
            assert held == [[1] * topology.ranks] * topology.ranks, sketch.name


@pytest.mark.parametrize("name", CLUSTERS)
def test_sketches_have_names_of_their_own(name: str) -> None:
    levels = levels_of(CLUSTERS[name])
    for sketches in (spreading_sketches(levels), summing_sketches(levels)):
        assert len({sketch.name for sketch in sketches}) == len(sketches)


def test_one_island_is_a_star() -> None:
    (sketch,) = spreading_sketches(levels_of(one_switch(4)))
    assert sketch.name == "star"
    assert [(hop.src, hop.dst, hop.stage) for hop in sketch.hops(2)] == [(2, 0, 0), (2, 1, 0), (2, 3, 0)]


def test_two_servers_are_entered_at_one_rank_or_all_or_by_the_mates() -> None:
    sketches = spreading_sketches(levels_of(two_servers(4, nics=4)))
    crossings = {s.name: [(hop.src, hop.dst) for hop in s.hops(0) if hop.src < 4 <= hop.dst] for s in sketches}
    assert crossings == {
        "spread 1 in": [(0, 4)],
        "spread 2 in": [(0, 4), (0, 6)],
        "spread 4 in": [(0, 4), (0, 5), (0, 6), (0, 7)],
        "spread mates": [(0, 4), (1, 5), (2, 6), (3, 7)],
    }


def test_the_exchange_needs_three_stages_and_one_hop_each_way_per_pair_of_islands() -> None:
    topology = rails(3, per_server=4)
    exchange = next(s for s in summing_sketches(levels_of(topology)) if s.name == "reduce, exchange, spread")
    hops = exchange.hops(0)
    assert {hop.stage for hop in hops} == {0, 1, 2}
    assert sorted((hop.src, hop.dst) for hop in hops if hop.src // 4 != hop.dst // 4) == [
        (0, 4), (0, 8), (4, 0), (4, 8), (8, 0), (8, 4),
    ]  # fmt: skip


def test_far_islands_form_rings_by_latency() -> None:
    levels = levels_of(clos())
    assert levels.rings(0) == [[1], [2, 3]]
    assert levels.rings(31) == [[2], [0, 1]]


def test_partners_keep_to_the_rail() -> None:
    levels = levels_of(rails(3, per_server=4))
    assert [levels.partner(rank, 2) for rank in range(8)] == [8, 9, 10, 11] * 2


def test_islands_that_are_not_joined_inside_have_no_sketches() -> None:
    levels = levels_of(ring(5))
    assert not levels.is_joined
    assert spreading_sketches(levels) == summing_sketches(levels) == []


def test_ranks_without_a_way_out_send_over_a_mate() -> None:
    levels = levels_of(joined_by_one_cable())
    assert [levels.gate(rank, 1 - rank // 3) for rank in range(6)] == [2, 2, 2, 3, 3, 3]
    (one_entry,) = [sketch for sketch in spreading_sketches(levels) if sketch.name == "spread 1 in"]
    hops = {(hop.src, hop.dst): hop.stage for hop in one_entry.hops(0)}
    assert hops == {(0, 1): 0, (0, 2): 0, (2, 3): 1, (3, 4): 2, (3, 5): 2}


def test_gates_take_turns() -> None:
    inside = cables([(u, v) for side in (range(4), range(4, 8)) for u in side for v in side if u < v], 12 * RATE)
    levels = levels_of(Topology("two cables", mesh(8).nodes, inside + cables([(1, 4), (3, 6)])))
    assert [levels.gate(rank, 1) for rank in range(4)] == [1, 1, 3, 3]
