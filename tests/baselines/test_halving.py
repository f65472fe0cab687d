"""Halving-doubling: right, of the known cost, and with EFLOPS's mapping without two flows on a link."""

from __future__ import annotations

import math

import pytest

from syccl.baselines.halving import halving_schedule, hdrm_order, hdrm_places, most_flows
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.catalog import load_topology, read_topology
from syccl.topology.generate import Wanted, generate
from syccl.topology.model import Kind, Link, Node
from tests.strategies import one_switch

RATE = 10**10
SIZE = 2**20
SIZES = [(1, 4), (1, 8), (2, 4), (2, 8), (2, 16), (4, 8), (4, 16), (8, 16)]
"""Servers on a switch, and switches: those for which the closed form is known to have one flow on every link."""


def bigraph(each: int, switches: int) -> Topology:
    """Single GPUs on two sets of switches that are joined by links of one GPU's bandwidth."""
    count = each * switches
    nodes = [Node(f"gpu{i}", Kind.GPU, f"s{i}") for i in range(count)]
    nodes += [Node(f"switch{i}", Kind.SWITCH) for i in range(switches)]
    half = switches // 2
    pairs = [(i, count + i // each) for i in range(count)]
    pairs += [(count + u, count + half + low) for u in range(half) for low in range(half)]
    links = [Link(*ends, RATE, 0) for a, b in pairs for ends in ((a, b), (b, a))]
    return Topology("bigraph", tuple(nodes), tuple(links))


def singles(topology: Topology) -> tuple[tuple[int, ...], ...]:
    return tuple((rank,) for rank in range(topology.ranks))


@pytest.mark.parametrize(("each", "switches"), SIZES)
def test_mapped_servers_never_share_a_link_in_a_step(each: int, switches: int) -> None:
    topology = bigraph(each, switches)
    order = hdrm_order(topology, singles(topology))
    assert order is not None
    assert sorted(order) == list(range(topology.ranks))
    schedule = halving_schedule(topology, singles(topology), order=order)
    assert schedule is not None
    assert max(most_flows(schedule, singles(topology))) == 1


@pytest.mark.parametrize(("each", "switches"), SIZES)
def test_partners_are_on_opposite_sides(each: int, switches: int) -> None:
    places = hdrm_places(switches // 2, each)
    assert len(set(places)) == each * switches
    for server, (lower, _, _) in enumerate(places):
        for step in range(int(math.log2(len(places)))):
            assert places[server ^ (1 << step)][0] != lower


@pytest.mark.parametrize(("each", "switches"), [(2, 4), (4, 8)])
def test_the_mapping_costs_what_a_switch_that_blocks_nothing_would(each: int, switches: int) -> None:
    topology = bigraph(each, switches)
    n = topology.ranks
    ideal_s = 2 * (n - 1) / n * SIZE / RATE
    seconds = {}
    for name, order in (("plain", None), ("hdrm", hdrm_order(topology, singles(topology)))):
        schedule = halving_schedule(topology, singles(topology), order=order)
        assert schedule is not None
        assert verify_schedule(schedule) == ()
        seconds[name] = schedule_time(schedule, size_bytes=SIZE).seconds
    assert seconds["hdrm"] == pytest.approx(ideal_s)
    assert seconds["plain"] > 1.2 * ideal_s


def test_the_generated_fabric_of_servers_has_one_flow_too() -> None:
    topology = read_topology(generate("bigraph", Wanted(dims=(2, 2))).text, source="bigraph")
    servers = islands(topology)
    assert {len(members) for members in servers} == {8}
    order = hdrm_order(topology, servers)
    mapped, plain = halving_schedule(topology, servers, order=order), halving_schedule(topology, servers)
    assert mapped is not None
    assert plain is not None
    assert verify_schedule(mapped) == verify_schedule(plain) == ()
    assert max(most_flows(mapped, servers)) == 1
    assert max(most_flows(plain, servers)) > 1
    assert schedule_time(mapped, size_bytes=2**26).seconds < schedule_time(plain, size_bytes=2**26).seconds


def test_on_one_switch_the_cost_is_the_textbooks() -> None:
    topology = one_switch(8)
    schedule = halving_schedule(topology, singles(topology))
    assert schedule is not None
    link = topology.links[0]
    bandwidth_s = 2 * 7 / 8 * SIZE / link.rate
    alpha_s = 2 * 3 * 2 * link.latency_ps * 1e-12
    assert bandwidth_s < schedule_time(schedule, size_bytes=SIZE).seconds <= bandwidth_s + alpha_s
    assert schedule_time(schedule, size_bytes=8).seconds == pytest.approx(alpha_s, rel=0.01)


def test_other_clusters_are_left_alone() -> None:
    assert halving_schedule(one_switch(6), singles(one_switch(6))) is None
    assert hdrm_order(load_topology("a100x32"), islands(load_topology("a100x32"))) is None
    too_many = bigraph(8, 8)
    assert hdrm_order(too_many, singles(too_many)) is None
