"""Bandwidth bounds against the enumeration of all cuts, closed forms and published optima."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.bounds.bandwidth import (
    BandwidthBound,
    allgather_bound,
    allreduce_bound,
    alltoall_bound,
    backwards,
    broadcast_bound,
    narrowest_cut,
)
from syccl.bounds.network import Network
from syccl.bounds.partition import singletons
from syccl.errors import InfeasibleError
from syccl.symmetry.group import trivial_group
from syccl.topology import Kind, Link, Node, Topology
from syccl.topology.edge_list import read_edge_list
from tests.bounds.clusters import a100, h800, islands_of, rotations
from tests.strategies import gpus, mesh, one_switch, ring, topologies, torus

RATE = 25_000_000_000

ALLGATHER_GBPS = {
    "T1_nvswitch8_300": 342.86,
    "T5_dgx1v100": 171.43,
    "T4_mesh4x4": 106.67,
    "T4_torus4x4": 213.33,
    "T4_mesh8x8": 101.59,
    "T4_torus8x8": 203.17,
    "T4_grid4x4x4": 152.38,
    "T4_torus4x4x4": 304.76,
    "T2_a100_2x8_flat": 346.67,
    "T2_a100_2x8_nic4": 200.00,
    "T2_a100_4x8_flat": 266.67,
    "T2_a100_4x8_nic4": 133.33,
    "T2_a100_8x8_flat": 228.57,
    "T3_h100_2x8_rail": 533.33,
    "T3_h100_4x8_rail": 516.13,
    "T3_h100_8x8_rail": 457.14,
    "T3_h100_16x8_rail": 426.67,
}
"""Optimum as ForestColl's authors' code and others find it (output bytes over time)."""


def cuts(topology: Topology) -> Iterator[tuple[frozenset[int], int]]:
    """(ranks on the sending side, bandwidth) of every cut with ranks on both sides, switches tried on both."""
    for chosen in itertools.product([False, True], repeat=len(topology.nodes)):
        inside = frozenset(rank for rank, node in enumerate(topology.gpus) if chosen[node])
        if 0 < len(inside) < topology.ranks:
            yield inside, sum(link.rate for link in topology.links if chosen[link.src] and not chosen[link.dst])


def crossing_rate(topology: Topology, bound: BandwidthBound) -> int:
    return sum(topology.links[i].rate for i in bound.cut.links)


@given(topologies(max_gpus=6))
def test_allgather_is_the_densest_of_all_cuts(topology: Topology) -> None:
    network = Network.of(topology)
    best = max(Fraction(len(inside), rate) for inside, rate in cuts(topology))
    bound = allgather_bound(network, range(topology.ranks))
    assert bound.seconds_per_byte == best / topology.ranks
    assert Fraction(len(bound.cut.ranks), crossing_rate(topology, bound)) == best
    assert bound.cut.rate == crossing_rate(topology, bound)


@given(topologies(max_gpus=6))
def test_reducescatter_is_the_densest_cut_backwards(topology: Topology) -> None:
    network = Network.of(topology)
    n = topology.ranks
    best = max(Fraction(n - len(inside), rate) for inside, rate in cuts(topology))
    bound = backwards(network, allgather_bound(network.reversed, range(n)))
    assert bound.seconds_per_byte == best / n
    assert Fraction(n - len(bound.cut.ranks), crossing_rate(topology, bound)) == best


@given(topologies(max_gpus=6), st.data())
def test_rooted_ops_are_the_best_cuts_around_the_root(topology: Topology, data: st.DataObject) -> None:
    network, n = Network.of(topology), topology.ranks
    root = data.draw(st.integers(0, n - 1))
    out = [(inside, rate) for inside, rate in cuts(topology) if root in inside]
    into = [(inside, rate) for inside, rate in cuts(topology) if root not in inside]
    assert broadcast_bound(network, root).seconds_per_byte == max(Fraction(1, rate) for _, rate in out)
    assert broadcast_bound(network.reversed, root).seconds_per_byte == max(Fraction(1, rate) for _, rate in into)
    gather, scatter = allgather_bound(network, [root]), allgather_bound(network.reversed, [root])
    assert gather.seconds_per_byte == max(Fraction(len(inside), n * rate) for inside, rate in into)
    assert scatter.seconds_per_byte == max(Fraction(n - len(inside), n * rate) for inside, rate in out)


@given(topologies(max_gpus=6))
def test_narrowest_cut_is_the_narrowest_of_all(topology: Topology) -> None:
    network = Network.of(topology)
    narrowest = narrowest_cut(network, transitive=False)
    assert narrowest.rate == min(rate for _, rate in cuts(topology))
    assert narrowest.rate == sum(topology.links[i].rate for i in narrowest.links)


@given(topologies(max_gpus=6))
def test_alltoall_over_all_sets_is_the_sparsest_of_all_cuts(topology: Topology) -> None:
    n = topology.ranks
    sets = [part for size in range(1, n) for part in itertools.combinations(range(n), size)]
    best = max(Fraction(len(inside) * (n - len(inside)), n * rate) for inside, rate in cuts(topology))
    assert alltoall_bound(Network.of(topology), sets).seconds_per_byte == best


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


@given(topologies(min_gpus=2, max_gpus=5))
def test_allreduce_is_the_best_of_all_partitions_and_single_cuts(topology: Topology) -> None:
    n = topology.ranks
    least_in: dict[frozenset[int], int] = {}
    least_out: dict[frozenset[int], int] = {}
    for inside, rate in cuts(topology):
        outside = frozenset(range(n)) - inside
        least_out[inside] = min(rate, least_out.get(inside, rate))
        least_in[outside] = min(rate, least_in.get(outside, rate))
    best = max(Fraction(1, rate) for rate in least_out.values())
    for parts in partitions(list(range(n))):
        for least in (least_in, least_out) if len(parts) > 1 else ():
            best = max(best, Fraction(2 * (len(parts) - 1), sum(least[frozenset(part)] for part in parts)))
    bound, _ = allreduce_bound(Network.of(topology), trivial_group(topology), [singletons(n)])
    assert bound.seconds_per_byte == best


@pytest.mark.parametrize("n", [2, 5, 8])
def test_one_switch_closed_forms(n: int) -> None:
    topology = one_switch(n, rate=RATE)
    network, group = Network.of(topology), trivial_group(topology)
    assert allgather_bound(network, range(n)).seconds_per_byte == Fraction(n - 1, n * RATE)
    assert broadcast_bound(network, 0).seconds_per_byte == Fraction(1, RATE)
    assert allreduce_bound(network, group, [singletons(n)])[0].seconds_per_byte == Fraction(2 * (n - 1), n * RATE)
    assert alltoall_bound(network, [(0,)]).seconds_per_byte == Fraction(n - 1, n * RATE)


def test_one_way_ring_closed_forms() -> None:
    topology = ring(6, rate=RATE, one_way=True)
    network, group = Network.of(topology), trivial_group(topology)
    assert allgather_bound(network, range(6)).seconds_per_byte == Fraction(5, 6 * RATE)
    assert broadcast_bound(network, 2).seconds_per_byte == Fraction(1, RATE)
    assert allreduce_bound(network, group, [singletons(6)])[0].seconds_per_byte == Fraction(10, 6 * RATE)
    assert alltoall_bound(network, [(0, 1, 2)]).seconds_per_byte == Fraction(9, 6 * RATE)


def test_torus_and_mesh_closed_forms() -> None:
    torus_network = Network.of(torus(4, 4, rate=RATE))
    assert allgather_bound(torus_network, [0]).seconds_per_byte == Fraction(15, 16 * 4 * RATE)
    assert allgather_bound(Network.of(mesh(5, rate=RATE)), [0]).seconds_per_byte == Fraction(4, 5 * 4 * RATE)


def test_allreduce_finds_servers_by_itself() -> None:
    topology = a100()
    bound, parts = allreduce_bound(Network.of(topology), trivial_group(topology), [singletons(32)])
    assert parts == islands_of(4, 8)
    assert bound.seconds_per_byte == Fraction(2 * 3, 4 * 100 * 10**9)
    assert bound.cut.parts == 4
    assert bound.cut.rate == 400 * 10**9


@pytest.mark.parametrize(("topology", "shape"), [(a100(), (4, 8, 4)), (h800(), (8, 8, 8))], ids=["a100", "h800"])
def test_one_sink_an_orbit_is_enough(topology: Topology, shape: tuple[int, int, int]) -> None:
    group = rotations(topology, *shape)
    network = Network.of(topology)
    some = [orbit[0] for orbit in group.rank_orbits]
    assert len(some) < topology.ranks / 8
    every = allgather_bound(network, range(topology.ranks))
    assert allgather_bound(network, some).seconds_per_byte == every.seconds_per_byte
    partitions = [singletons(topology.ranks), islands_of(*shape[:2])]
    with_group = allreduce_bound(network, group, partitions)[0]
    without = allreduce_bound(network, trivial_group(topology), partitions)[0]
    assert with_group.seconds_per_byte == without.seconds_per_byte
    assert with_group.cut.rate == without.cut.rate


@pytest.mark.parametrize("name", ALLGATHER_GBPS)
def test_published_allgather_optima(name: str, shared_data: Path) -> None:
    path = shared_data / "topologies" / "bench" / f"{name}.json"
    topology = read_edge_list(path.read_text(encoding="utf-8"), source=path.name)
    bound = allgather_bound(Network.of(topology), range(topology.ranks))
    assert 1 / float(bound.seconds_per_byte) / 1e9 == pytest.approx(ALLGATHER_GBPS[name], abs=0.006)


def test_rates_without_a_common_divisor_stay_exact() -> None:
    rates = [499_999_999_979, 399_999_999_949, 299_999_999_969]
    links = tuple(link for i, rate in enumerate(rates) for link in (Link(i, 3, rate, 0), Link(3, i, rate, 0)))
    topology = Topology("primes", (*gpus(3), Node("switch", Kind.SWITCH)), links)
    bound = allgather_bound(Network.of(topology), range(3))
    assert bound.seconds_per_byte == Fraction(2, 3 * min(rates))


def test_numbers_beyond_64_bits_give_a_true_ratio() -> None:
    n, rng = 40, np.random.default_rng(1)
    links = [Link(i, n, int(rng.integers(10**11, 10**12)), 0) for i in range(n)]
    links += [Link(n, i, int(rng.integers(10**11, 10**12)), 0) for i in range(n)]
    topology = Topology("large", (*gpus(n), Node("switch", Kind.SWITCH)), tuple(links))
    bound = allgather_bound(Network.of(topology), range(n))
    least_in = min(link.rate for link in links[n:])
    assert bound.seconds_per_byte == Fraction(n - 1, n * least_in)


def test_a_part_without_a_way_out_is_named() -> None:
    topology = Topology("split", gpus(4), (Link(0, 1, RATE, 0), Link(1, 0, RATE, 0), Link(2, 3, RATE, 0)))
    network = Network.of(topology)
    with pytest.raises(InfeasibleError, match=r"ranks 2, 3 are joined to the others in one direction at most"):
        allgather_bound(network, range(4))
    with pytest.raises(InfeasibleError, match=r"ranks 2, 3 are joined"):
        broadcast_bound(network, 2)
    with pytest.raises(InfeasibleError, match=r"ranks 0, 1 are joined"):
        alltoall_bound(network, [(0, 1), (2,)])
