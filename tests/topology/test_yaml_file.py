"""YAML topologies: what regular and flat files mean, and the round trip."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.topology.catalog import bundled_topologies, load_topology
from syccl.topology.model import PROFILE_NAMES, Kind, Link, Node, Topology
from syccl.topology.yaml_file import read_yaml, write_yaml
from tests.strategies import topologies, two_servers

LINK = "bandwidth: 25GB/s, latency: 0.5us"


def arcs(topology: Topology) -> list[str]:
    return [topology.link_name(i) for i in range(len(topology.links))]


def flat(links: str, gpus: str = "g0..3") -> Topology:
    return read_yaml(f"nodes: [{{kind: gpu, names: {gpus}}}]\nlinks: [{links}]", source="flat.yaml")


def test_values_are_exact_whole_bytes_and_picoseconds() -> None:
    topology = flat("{one_way: [g0, g1], bandwidth: 200Gb/s, latency: 350ns}")
    assert topology.links == (Link(0, 1, 25_000_000_000, 350_000),)
    assert topology.name == "flat"


def test_between_is_both_directions_pair_by_pair() -> None:
    assert arcs(flat(f"{{between: [g0..1, g2..3], {LINK}}}")) == ["g0->g2", "g2->g0", "g1->g3", "g3->g1"]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("[g0..3, [g1..3, g0]]", ["g0->g1", "g1->g2", "g2->g3", "g3->g0"]),
        ("[g0..2, g3]", ["g0->g3", "g1->g3", "g2->g3"]),
        ("[g3, g0..2]", ["g3->g0", "g3->g1", "g3->g2"]),
        ("[[g0, g0, g1, g1], g2..3]", ["g0->g2", "g0->g2", "g1->g3", "g1->g3"]),
        ("[g3..2, g0..1]", ["g3->g0", "g2->g1"]),
    ],
)
def test_matched_pairs_run_in_order_and_in_blocks(ends: str, expected: list[str]) -> None:
    assert arcs(flat(f"{{one_way: {ends}, {LINK}}}")) == expected


def test_all_pairs_join_each_two_once_and_none_to_itself() -> None:
    mesh = arcs(flat(f"{{between: [g0..2, g0..2], pairs: all, {LINK}}}"))
    assert mesh == ["g0->g1", "g1->g0", "g0->g2", "g2->g0", "g1->g2", "g2->g1"]
    assert len(arcs(flat(f"{{one_way: [g0..2, g0..2], pairs: all, {LINK}}}"))) == 6
    assert len(arcs(flat(f"{{between: [g0..1, g2..3], pairs: all, {LINK}}}"))) == 8


def test_servers_are_numbered_through_the_file_and_ranks_server_by_server() -> None:
    text = f"""
servers:
  - {{count: 2, gpus: g0..1, switches: x, links: [{{between: [g0..1, x], {LINK}}}]}}
  - {{count: 1, gpus: g, nics: n}}
  - {{names: old7..8, gpus: g}}
"""
    topology = read_yaml(text, source="mixed.yaml")
    names = [topology.nodes[i].name for i in topology.gpus]
    assert names == ["server0.g0", "server0.g1", "server1.g0", "server1.g1", "server2.g", "old7.g", "old8.g"]
    assert topology.nodes[2] == Node("server0.x", Kind.SWITCH, "server0")
    assert arcs(topology)[:2] == ["server0.g0->server0.x", "server0.x->server0.g0"]
    assert arcs(topology)[4] == "server1.g0->server1.x"


def fabric(leaves: str, servers: int = 4, ports: str = "p0..1", extra: str = "") -> list[str]:
    text = f"""
servers: [{{count: {servers}, gpus: g, nics: {ports}}}]
fabric:
  leaves: {{{leaves}, {LINK}}}
{extra}
"""
    return [arc for arc in arcs(read_yaml(text, source="f.yaml")) if not arc.startswith("leaf")]


def test_leaves_by_server_take_equal_blocks_of_servers() -> None:
    found = fabric("names: leaf0..1, by: server")
    assert [arc[len("server") :] for arc in found] == [f"{s}.p{p}->leaf{s // 2}" for s in range(4) for p in range(2)]


def test_leaves_by_rail_take_one_port_of_every_server() -> None:
    found = fabric("names: leaf0..1, by: rail")
    assert [arc[len("server") :] for arc in found] == [f"{s}.p{p}->leaf{p}" for s in range(4) for p in range(2)]


def test_leaves_by_rail_in_blocks_are_named_block_by_block() -> None:
    found = fabric("names: leaf0..3, by: rail")
    expected = [f"{s}.p{p}->leaf{s // 2 * 2 + p}" for s in range(4) for p in range(2)]
    assert [arc[len("server") :] for arc in found] == expected


def test_the_last_leaf_may_have_fewer_servers_where_the_file_says_how_many() -> None:
    found = fabric("names: leaf0..1, by: server, servers_per_leaf: 3", ports="p")
    assert [arc[-1] for arc in found] == ["0", "0", "0", "1"]


def test_every_leaf_has_a_link_to_every_spine() -> None:
    found = fabric("names: leaf0..1, by: server", extra=f"  spines: {{names: spine0..1, {LINK}}}")
    assert found[8:] == ["spine0->leaf0", "spine1->leaf0", "spine0->leaf1", "spine1->leaf1"]


def test_ports_may_be_gpus_and_servers_without_ports_stay_out_of_the_fabric() -> None:
    text = f"""
servers:
  - {{count: 2, gpus: g0..1, ports: g1}}
  - {{count: 1, gpus: g, ports: []}}
fabric: {{leaves: {{names: leaf, by: server, {LINK}}}}}
"""
    found = arcs(read_yaml(text, source="f.yaml"))
    assert found == ["server0.g1->leaf", "leaf->server0.g1", "server1.g1->leaf", "leaf->server1.g1"]


def test_links_may_join_any_nodes_of_the_file() -> None:
    text = f"""
servers: [{{count: 2, gpus: g, nics: n}}]
fabric: {{leaves: {{names: leaf, by: rail, {LINK}}}}}
nodes: [{{kind: gpu, names: spare, server: lab}}]
links: [{{one_way: [server0..1.n, spare], {LINK}}}, {{one_way: [spare, leaf], {LINK}}}]
"""
    topology = read_yaml(text, source="f.yaml")
    assert arcs(topology)[-3:] == ["server0.n->spare", "server1.n->spare", "spare->leaf"]
    assert topology.nodes[-1] == Node("spare", Kind.GPU, "lab")


@given(topologies())
def test_written_topologies_read_back_with_the_same_nodes_and_links(topology: Topology) -> None:
    copy = read_yaml(write_yaml(topology), source="copy.yaml")
    assert (copy.name, copy.nodes, copy.links) == (topology.name, topology.nodes, topology.links)


LETTERS = string.printable.strip() + " é\U0001f600"


@given(st.lists(st.text(LETTERS, min_size=1), min_size=1, max_size=4, unique=True), st.text(LETTERS))
def test_any_names_survive_the_round_trip(names: list[str], server: str) -> None:
    topology = Topology(names[0], tuple(Node(name, Kind.GPU, server) for name in names), ())
    copy = read_yaml(write_yaml(topology), source="copy.yaml")
    assert (copy.name, copy.nodes) == (topology.name, topology.nodes)


@pytest.mark.parametrize("name", ["yes", "No", "null", "0", "1e3", "a0..3", "a: b", "#", "- x", "~", "é", "\U0001f600"])
def test_names_that_yaml_takes_for_something_else_survive(name: str) -> None:
    topology = Topology(name, (Node(name, Kind.GPU),), ())
    assert read_yaml(write_yaml(topology), source="copy.yaml").nodes == topology.nodes


@pytest.mark.parametrize("name", bundled_topologies())
def test_bundled_topologies_survive_the_round_trip(name: str) -> None:
    topology = load_topology(name)
    copy = read_yaml(write_yaml(topology), source="copy.yaml")
    assert (copy.name, copy.nodes, copy.links) == (topology.name, topology.nodes, topology.links)


@pytest.mark.parametrize("profile", ["", *PROFILE_NAMES])
def test_the_cost_profile_survives_the_round_trip(profile: str) -> None:
    topology = replace(two_servers(2, nics=1), profile=profile)
    text = write_yaml(topology)
    assert ("profile" in text) == bool(profile)
    assert read_yaml(text, source="copy.yaml").profile == profile


def test_an_unknown_cost_profile_is_refused_where_it_stands() -> None:
    with pytest.raises(InputError, match=r"f.yaml:2.*profile.*v100"):
        read_yaml("name: x\nprofile: v100\nnodes: [{kind: gpu, names: a}]\nlinks: []\n", source="f.yaml")


def test_both_directions_of_a_cable_are_written_as_one_entry() -> None:
    topology = two_servers(2, nics=1)
    text = write_yaml(topology)
    assert text.count("between") == len(topology.links) // 2
    assert "one_way" not in text
    assert "  - {between: [s0.gpu0, s0.nvswitch], bandwidth: 300GB/s, latency: 0.35us}\n" in text
