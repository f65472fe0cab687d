"""Cost profiles: what they charge, and that nothing is charged without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.errors import InputError
from syccl.program import Program
from syccl.simulate.cost import PROTOCOLS, THREAD_BLOCK_RATE, protocol_named
from syccl.simulate.profile import PROFILES, carried_rates, cost_words, costs_of, network_links, profile_of
from syccl.simulate.program_time import simulate_program
from syccl.topology import Kind, Topology
from syccl.topology.catalog import find_topology
from syccl.topology.model import PROFILE_NAMES
from tests.program.programs import Builder, direct_allgather, i, o, s
from tests.strategies import gpus, mesh

SIZE = 1 << 20


def pair(profile: str = "", rate: int = 10**9) -> Topology:
    """Two GPUs with a cable that is slower than any thread block."""
    return replace(mesh(2, rate=rate, latency_ps=0), profile=profile)


def one_message() -> Program:
    builder = Builder("broadcast", 2, 1)
    builder.add((0, 1, -1, 0), "s", src=i(0), dst=o(0))
    builder.add((1, -1, 0, 0), "r", src=i(0), dst=o(0))
    return builder.build()


def sums(count: int, *, same: bool) -> Program:
    """One rank that adds ``count`` chunks of scratch to the same chunk, or to chunks side by side."""
    builder = Builder("allreduce", 1, count, scratch=count)
    for k in range(count):
        builder.add((0, -1, -1, 0), "re", src=s(k), dst=o(0 if same else k))
    return builder.build()


def seconds(program: Program, topology: Topology, protocol: str = "Simple", size: int = SIZE) -> float:
    return simulate_program(program, topology, size_bytes=size, protocol=protocol_named(protocol)).seconds


def test_the_format_and_the_simulator_know_the_same_profiles() -> None:
    assert tuple(PROFILES) == PROFILE_NAMES


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_a_source_and_physical_values(name: str) -> None:
    profile = PROFILES[name]
    assert profile.source in cost_words(name)
    assert set(dict(profile.protocols)) == set(PROTOCOLS)
    assert 0 < profile.link_efficiency <= 1
    assert 0 < profile.network_efficiency <= 1
    assert 0 < profile.launch_s < 1e-4
    for _, costs in profile.protocols:
        assert 1e9 < costs.thread_block_rate < 100e9
        assert min(costs.step_s, costs.hop_s, costs.network_hop_s) >= 0
        assert max(costs.step_s, costs.hop_s, costs.network_hop_s) < 1e-4


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_profile_only_bandwidth_latency_and_the_thread_block_rate_count(protocol: str) -> None:
    wire = PROTOCOLS[protocol]
    costs = costs_of(pair(), wire)
    assert (costs.thread_block_rate, costs.local_rate, costs.slices) == (
        THREAD_BLOCK_RATE,
        THREAD_BLOCK_RATE,
        wire.slices,
    )
    assert profile_of(pair()) is None
    size = 1024
    moved = size * wire.wire_factor
    expected = moved / 1e9 + moved / THREAD_BLOCK_RATE / wire.slices
    assert seconds(one_message(), pair(), protocol, size) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", PROFILES)
def test_one_message_costs_launch_step_wire_hop_and_the_copy_of_a_slice(name: str, protocol: str) -> None:
    profile, wire = PROFILES[name], PROTOCOLS[protocol]
    own = dict(profile.protocols)[protocol]
    size = 1024
    moved = size * wire.wire_factor
    copy_s = moved / own.thread_block_rate / own.slices
    arrival_s = own.step_s + moved / (1e9 * profile.link_efficiency) + own.hop_s
    expected = profile.launch_s + arrival_s + copy_s
    assert seconds(one_message(), pair(name), protocol, size) == pytest.approx(expected, rel=1e-9)


def test_a_step_that_waits_for_another_block_costs_more() -> None:
    builder = Builder("allreduce", 1, 2, scratch=1)
    first = builder.add((0, -1, -1, 0), "cpy", src=i(0), dst=o(0))
    builder.add((0, -1, -1, 1), "cpy", src=o(0), dst=o(1), after=first)
    profile = PROFILES["mi300x"]
    own = dict(profile.protocols)["Simple"]
    copy_s = SIZE / 2 / own.thread_block_rate
    expected = profile.launch_s + 2 * (own.step_s + copy_s) + profile.wait_s
    assert seconds(builder.build(), pair_of_one()) == pytest.approx(expected, rel=1e-9)


def pair_of_one() -> Topology:
    return Topology("one", gpus(1), (), "mi300x")


def test_sums_into_one_place_are_done_in_one_step() -> None:
    own = dict(PROFILES["mi300x"].protocols)["Simple"]
    apart = seconds(sums(7, same=False), pair_of_one())
    together = seconds(sums(7, same=True), pair_of_one())
    assert apart - together == pytest.approx(6 * own.step_s, rel=1e-9)


def test_local_work_is_not_slowed_by_the_protocol() -> None:
    profile = PROFILES["mi300x"]
    own = dict(profile.protocols)
    simple = seconds(sums(1, same=True), pair_of_one()) - own["Simple"].step_s
    flagged = seconds(sums(1, same=True), pair_of_one(), "LL") - own["LL"].step_s
    iterations = SIZE // PROTOCOLS["LL"].message_bytes
    assert flagged - (iterations - 1) * own["LL"].step_s == pytest.approx(simple, rel=1e-9)


def test_links_of_a_network_and_inside_servers_carry_their_own_share() -> None:
    topology = replace(find_topology("a100x16"), profile="a100")
    is_network = network_links(topology)
    for link, here in zip(topology.links, is_network, strict=True):
        ends = {topology.nodes[link.src].kind, topology.nodes[link.dst].kind}
        assert bool(here) == (Kind.NIC in ends or Kind.GPU not in ends)
    share = carried_rates(topology) / topology.link_rates
    assert set(share[is_network]) == {PROFILES["a100"].network_efficiency}
    assert set(share[~is_network]) == {PROFILES["a100"].link_efficiency}


@pytest.mark.parametrize("name", PROFILES)
def test_more_bytes_never_take_less_time(name: str) -> None:
    topology = replace(find_topology("a100x8"), profile=name)
    program = direct_allgather(8)
    times = [seconds(program, topology, "Simple", 8 << shift) for shift in range(0, 24, 3)]
    assert times == sorted(times)


def test_every_protocol_is_slower_with_a_profile_than_without() -> None:
    program, bare = direct_allgather(8), find_topology("a100x8")
    for protocol in PROTOCOLS:
        assert seconds(program, replace(bare, profile="a100"), protocol) > seconds(program, bare, protocol)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InputError, match="unknown cost profile 'v100'; choose a100, h100, mi300x, generic"):
        pair("v100")
