"""Time windows: held against proved optima, relabelling, closed forms; routes whose links differ in speed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.bounds import lower_bound
from syccl.bounds.window import QUICK, Windows, windows
from syccl.bounds.window.drive import latest_short
from syccl.bounds.window.fabric import MOST_HOPS, fabric_of
from syccl.bounds.window.flows import Classes, families
from syccl.bounds.window.grid import grid_of
from syccl.collective import OPS
from syccl.optimize.choice import Way, choose
from syccl.optimize.status import Status
from syccl.proof.ways import ways_of
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Kind, Link, Node, Topology
from tests.bounds.clusters import a100, h800
from tests.bounds.test_lower import PROVED_US, SIZES, halves, seconds
from tests.strategies import (
    cables,
    duplex,
    gpus,
    mesh,
    ring,
    scrambled,
    symmetric_topologies,
    topologies,
    torus,
    two_servers,
)

GB = 10**9
NS_PER_S = 10**9


def optimum_ns(topology: Topology, sources: list[int], piece_bytes: int, *, effort: float = 1.0) -> int | None:
    """The least time, by constraint programming, to spread one piece from each listed rank to all; None if unproved."""
    ways = ways_of(topology)
    items = [(piece, rank) for piece, source in enumerate(sources) for rank in range(topology.ranks) if rank != source]
    place = {item: i for i, item in enumerate(items)}
    options, horizon = [], 0
    for piece, rank in items:
        choices = []
        for way in np.flatnonzero(ways.head == rank).tolist():
            sender = int(ways.tail[way])
            links = [link for link in ways.links[way].tolist() if link < len(topology.links)]
            uses = tuple((link, piece_bytes * NS_PER_S // topology.links[link].rate) for link in links)
            after = -1 if sender == sources[piece] else place[piece, sender]
            choices.append(Way(after, 0, uses, int(ways.alpha[way]) // 1000))
        options.append(choices)
        horizon += max(choice.length for choice in choices)
    found = choose(options, horizon=horizon, effort=effort)
    return found.makespan if found.status is Status.OPTIMAL else None


def window_ns(topology: Topology, op: str, size: float) -> float:
    """The time-window bound from the latency on."""
    programs = windows(topology, op, 0)
    assert programs is not None
    far = programs.fabric.distance[0] if op == "broadcast" else programs.fabric.distance
    found = programs.latest_short(size, max(1, int(far.max()) - 10))
    assert found is not None
    return found.grid.horizon / 1000


def switched(fast: int, slow: int) -> Topology:
    """Four GPUs on two switches; links into and out of GPUs differ in speed."""
    nodes = (*gpus(4), Node("a", Kind.SWITCH), Node("b", Kind.SWITCH))
    links = [link for i in range(4) for link in duplex(i, 4 + i // 2, (fast, slow)[i % 2] * GB, 300_000)]
    return Topology("unequal", nodes, (*links, *duplex(4, 5, slow * GB, 500_000)))


def digraph(seed: int) -> Topology:
    """Four GPUs in a circle and some chords, of bandwidths and latencies drawn at random."""
    rng = random.Random(seed)
    pairs = [(i, (i + 1) % 4) for i in range(4)] + [(0, 2), (3, 1), (2, 0)][: 1 + seed % 3]
    links = [Link(a, b, rng.choice([10, 20, 40]) * GB, rng.choice([500, 1000, 3000]) * 1000) for a, b in pairs]
    return Topology("digraph", gpus(4), tuple(links))


SMALL = [
    ring(4),
    ring(4, one_way=True),
    two_servers(2, nics=2),
    two_servers(2, nics=1),
    switched(40, 10),
    switched(10, 40),
    *map(digraph, range(4)),
]


@pytest.mark.parametrize("topology", SMALL, ids=[f"{t.name}-{i}" for i, t in enumerate(SMALL)])
@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("size", [4_000, 80_000])
def test_no_optimum_is_below_the_bound(topology: Topology, pieces: int, size: int) -> None:
    spread = optimum_ns(topology, [0] * pieces, size // pieces)
    if spread is not None:
        assert window_ns(topology, "broadcast", size) <= spread
    gathered = optimum_ns(topology, [rank for rank in range(4) for _ in range(pieces)], size // pieces)
    if gathered is not None:
        assert window_ns(topology, "allgather", size) <= gathered
    assert spread is not None or gathered is not None


def test_the_bound_meets_optima_of_rings() -> None:
    """Half of each shard goes either way: the last hop of the far rank's shard ends when all links have carried it."""
    topology = ring(4, rate=40 * GB, latency_ps=700_000)
    best = optimum_ns(topology, [rank for rank in range(4) for _ in range(2)], 40_000)
    assert best is not None
    assert window_ns(topology, "allgather", 80_000) == pytest.approx(best, rel=0.005)


@pytest.mark.parametrize(("name", "op"), sorted(PROVED_US))
def test_proved_optima_of_two_servers_are_not_below(name: str, op: str) -> None:
    topology = a100(2, 2, 1) if name == "a100" else h800(2, 2)
    for size, time_us in zip(SIZES[2:], PROVED_US[name, op], strict=True):
        closed, both = seconds(topology, op, size, halves(4)), seconds(topology, op, size, halves(4), windows=QUICK)
        assert closed <= both <= time_us * 1e-6 * 1.0005


@given(topologies(max_gpus=4) | symmetric_topologies(), st.sampled_from(["allgather", "allreduce", "reducescatter"]))
def test_names_and_order_do_not_matter(topology: Topology, op: str) -> None:
    if topology.ranks > 4:
        return
    copy, _ = scrambled(topology, 3)
    payloads = []
    for one in (topology, copy):
        programs = windows(one, op, 0)
        assert programs is not None
        solved = programs.at(9_000_000)
        assert solved is not None
        payloads.append(solved.payload)
    assert payloads[1] == pytest.approx(payloads[0], rel=1e-6, abs=1e-3)


@given(topologies(max_gpus=4) | symmetric_topologies(), st.sampled_from(["broadcast", "alltoall", "gather", "reduce"]))
def test_more_time_delivers_more(topology: Topology, op: str) -> None:
    if topology.ranks > 4:
        return
    programs = windows(topology, op, 0)
    assert programs is not None
    payloads = [solved.payload for horizon in range(10**6, 10**7, 3 * 10**6) if (solved := programs.at(horizon))]
    assert len(payloads) == 3
    assert payloads == sorted(payloads)


@given(topologies(max_gpus=3) | symmetric_topologies(), st.sampled_from(["allgather", "allreduce", "alltoall"]))
def test_symmetries_say_the_same_as_no_symmetries(topology: Topology, op: str) -> None:
    if topology.ranks > 4:
        return
    programs = windows(topology, op, 0)
    assert programs is not None
    bare = replace(programs.fabric, nodes=programs.fabric.nodes[:0])
    plain = Windows(
        bare, families(bare, op, 0), Classes.of(np.arange(len(bare.rate))), programs.sources, bare.nodes, solved={}
    )
    one, other = programs.at(6_000_000), plain.at(6_000_000)
    assert one is not None
    assert other is not None
    assert one.payload == pytest.approx(other.payload, rel=1e-6, abs=1e-3)


def test_one_link_carries_what_fits_between_launch_and_arrival() -> None:
    topology = Topology("pair", gpus(2), cables([(0, 1)], 10 * GB, 10**6))
    programs = windows(topology, "broadcast", 0)
    assert programs is not None
    solved = programs.at(3 * 10**6)
    assert solved is not None
    assert solved.payload == pytest.approx(20_000, rel=1e-5)


def test_all_ways_are_hops_and_too_many_are_refused() -> None:
    topology = two_servers(4, nics=2)
    fabric = fabric_of(topology)
    assert fabric is not None
    ways = ways_of(topology)
    assert fabric.hops == len(ways.tail)
    assert sorted(fabric.alpha.tolist()) == sorted(ways.alpha.tolist())
    assert fabric_of(mesh(int(MOST_HOPS**0.5) + 2)) is None


def test_grids_are_sums_of_alphas_from_both_ends() -> None:
    grid = grid_of([300, 700], 10_000)
    assert {0, 300, 600, 700, 1000, 9_300, 9_700, 10_000} <= set(grid.points.tolist())
    assert grid.arrival(np.array([300, 9_999]))[:, 0].tolist() == [1, grid.intervals - 1]
    assert grid.arrival(np.array([10_000]))[0, 0] == grid.intervals
    assert grid_of([0], 50).points.tolist() == [0, 50]


@given(st.integers(1, 10**7), st.integers(1, 50), st.integers(1, 10**6))
def test_the_search_ends_just_below_the_first_time_that_is_enough(latency: int, rate: int, payload: int) -> None:
    """Payloads that grow linearly after a latency."""

    class Line(NamedTuple):
        horizon: int
        payload: float
        variables: int = 1

    asked: list[int] = []

    def at(horizon: int) -> Line:
        asked.append(horizon)
        return Line(horizon, max(0.0, (horizon - latency) * rate / 100))

    found = latest_short(at, payload, latency, work=100)  # type: ignore[arg-type,type-var]
    enough = latency + payload * 100 / rate
    assert len(asked) <= 12
    assert enough * 0.98 - 1 <= found.horizon < enough  # type: ignore[union-attr]
    assert latest_short(at, payload, int(enough) + 1, work=100) is None  # type: ignore[arg-type,type-var]


def test_large_sizes_are_certified_by_a_single_program() -> None:
    topology = torus(3, 3)
    group, parts = find_group(topology), islands(topology)
    bound = lower_bound(topology, OPS["alltoall"], size_bytes=1 << 32, group=group, islands=parts)
    assert bound.is_certified
    programs = windows(topology, "alltoall", 0, QUICK)
    assert programs is not None
    assert len(programs.solved) == 1
