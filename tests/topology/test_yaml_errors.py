"""Wrong YAML topologies: one line with file, line, field, value and what is allowed."""

from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.topology import yaml_tree
from syccl.topology.yaml_file import read_yaml

GOOD = """\
name: good
servers:
  - count: 4
    gpus: gpu0..7
    nics: nic0..3
    switches: nvswitch
    links:
      - {between: [gpu0..7, nvswitch], bandwidth: 300GB/s, latency: 0.35us}
      - between: [gpu0..7, nic0..3]
        bandwidth: 25GB/s
        latency: 0.5us
fabric:
  leaves: {names: leaf0..1, by: server, bandwidth: 25GB/s, latency: 0.35us}
  spines: {names: spine, bandwidth: 200GB/s, latency: 0.35us}
"""


def error(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_yaml(text, source="a.yaml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_file_that_the_cases_change_is_right() -> None:
    assert read_yaml(GOOD, source="a.yaml").ranks == 32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[gpu0..7, nic0..3]",
            "[gpu0..7, nic1..4]",
            "a.yaml:9: servers[0].links[1].between: node 'nic4' is not declared; did you mean 'nic3'",
        ),
        (
            "25GB/s\n",
            "25\n",
            "a.yaml:10: servers[0].links[1].bandwidth: bandwidth '25' has no unit; write for example 25GB/s",
        ),
        ("25GB/s\n", "-25GB/s\n", "a.yaml:10: servers[0].links[1].bandwidth: bandwidth '-25GB/s' must be positive"),
        ("25GB/s\n", "0GB/s\n", "a.yaml:10: servers[0].links[1].bandwidth: bandwidth '0GB/s' must be positive"),
        ("25GB/s\n", "25GB\n", "bandwidth '25GB' has an unknown unit"),
        ("25GB/s\n", "+25GB/s\n", "'+25GB/s' is not a plain number with its unit"),
        ("25GB/s\n", "1e999999999GB/s\n", "a.yaml:10: servers[0].links[1].bandwidth"),
        ("25GB/s\n", "[25GB/s]\n", "a.yaml:10: servers[0].links[1].bandwidth: must be one value"),
        ("25GB/s\n", "1e30GB/s\n", "a.yaml:10: servers[0].links[1].bandwidth: bandwidth '1e30GB/s' is above 1e+18 B/s"),
        ("25GB/s\n", "1b/s\n", "bandwidth '1b/s' is below 1 B/s"),
        ("25GB/s\n", "9" * 5000 + "GB/s\n", "has a number of more than 40 characters"),
        ("25GB/s\n", "\u0662GB/s\n", "is not a number with a unit"),
        ("0.5us", "1e30s", "a.yaml:11: servers[0].links[1].latency: latency '1e30s' is above 1000 s"),
        ("0.5us", "1e-9us", "latency '1e-9us' is below 1 ps and not 0"),
        ("name: good", 'name: "a\\nb"', "a.yaml:1: name: 'a\\nb' has characters that cannot be printed"),
        ("name: good", 'name: ""', "a.yaml:1: name: is empty"),
        ("gpus: gpu0..7", 'gpus: "g\\ag"', "a.yaml:4: servers[0].gpus: 'g\\x07g' has characters"),
        ("0.5us", "-0.5us", "a.yaml:11: servers[0].links[1].latency: latency '-0.5us' must not be negative"),
        ("0.5us", "0.5", "latency '0.5' has no unit"),
        ("        latency: 0.5us\n", "", "a.yaml:9: servers[0].links[1]: latency missing"),
        ("between: [gpu0..7, nic", "one_way: [a, b]\n        between: [gpu0..7, nic", "give exactly one of between"),
        ("between: [gpu0..7, nic0..3]", "pairs: all", "a.yaml:9: servers[0].links[1]: give exactly one of between"),
        ("nic0..3]", "nic0..2]", "8 nodes do not match 3 in equal blocks"),
        ("[gpu0..7, nic0..3]", "[gpu0..7, gpu0..7]", "joins a node to itself"),
        ("[gpu0..7, nic0..3]", "[gpu0..7, nic0..3, nvswitch]", "between: has 3 entries; it takes 2"),
        ("[gpu0..7, nic0..3]", "gpu0..7", "between: must be a list"),
        ("[gpu0..7, nic0..3]", "[gpu0..7, []]", "8 nodes do not match 0"),
        ("count: 4", "count: 5", "a.yaml:13: fabric.leaves.names: 2 leaves do not fit 5 servers"),
        ("count: 4", "count: 0", "a.yaml:3: servers[0].count: '0' is too small; at least 1"),
        ("count: 4", "count: four", "a.yaml:3: servers[0].count: 'four' is not a whole number"),
        ("count: 4", "count: 4.0", "'4.0' is not a whole number"),
        ("count: 4", "count: 010", "'010' is not a whole number"),
        ("count: 4", "count: 1000000000", "a.yaml:3: servers[0].count: 1000000000 servers; at most 1000000"),
        ("count: 4", "count: 1000000", "a.yaml:3: servers[0].count: more than 1000000 nodes"),
        ("count: 4", "count: 4\n    names: a", "a.yaml:3: servers[0]: give exactly one of count and names"),
        ("count: 4", "names: [a, b, a, c]", "a.yaml:3: servers[0].names: node name 'a.gpu0' is used twice"),
        ("gpus: gpu0..7", "gpus: 7", "a.yaml:4: servers[0].gpus: '7' is not text; put it in quotes"),
        ("gpus: gpu0..7", "gpus: gpu0..99999999", "a.yaml:4: servers[0].gpus: name pattern 'gpu0..99999999'"),
        ("gpus: gpu0..7", "gpus: ''", "a.yaml:4: servers[0].gpus: is empty"),
        ("gpus: gpu0..7", "gpus:", "a.yaml:4: servers[0].gpus: is empty"),
        ("switches: nvswitch", "switches: gpu3", "servers[0]: node name 'gpu3' is used twice"),
        ("nics: nic0..3", "nic: nic0..3", "a.yaml:5: servers[0].nic: unknown field; allowed are count, names, gpus"),
        ("nics: nic0..3", "nic: nic0..3", "did you mean 'nics'?"),
        ("by: server", "by: servr", "a.yaml:13: fabric.leaves.by: 'servr' is not one of server, rail"),
        ("by: server", "by: rail", "2 leaves do not fit 4 rails of 4 servers"),
        ("by: server", "by: server, servers_per_leaf: 4", "2 leaves do not fit 4 servers at 4 a leaf"),
        ("names: leaf0..1", "names: []", "0 leaves do not fit"),
        ("names: spine", "names: leaf1", "a.yaml:14: fabric.spines.names: node name 'leaf1' is used twice"),
        ("name: good", "name: good\nname: bad", "a.yaml:2: name: is given twice"),
        ("name: good", "name: !!python/object/apply:os.getcwd []", "a.yaml:1: name: must be one value"),
        ("name: good", "<<: {name: x}", "a.yaml:1: <<: unknown field"),
        ("name: good", "name: good\n? [x]\n: y", "a.yaml:2: None: unknown field"),
        ("servers:\n", "servers: 3\nx:\n", "a.yaml:2: servers: must be a list"),
        ("fabric:\n", "fabric: 3\nx:\n", "a.yaml:12: fabric: must be a mapping with leaves, spines"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert message in error(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.yaml:1: a topology is a mapping"),
        ("- x", "a.yaml:1: a topology is a mapping"),
        ("a: [1,\n}", "a.yaml:2: not YAML"),
        ("name: x\n\tb: c", "a.yaml:2: not YAML: found a tab character"),
        ("name: x\n---\nname: y", "not YAML"),
        ("name: \x07", "a.yaml: not YAML"),
        ("name: *a", "a.yaml:1: not YAML: found undefined alias"),
        ("[" * 100_000, "a.yaml:1: not YAML"),
        ('"a\\nb": x', r"a.yaml:1: 'a\nb': unknown field"),
        ("name: x", "a.yaml: topology 'x' has no GPU"),
        (
            "servers: [{count: 1, gpus: g}]\nfabric: {leaves: {names: l, by: rail, bandwidth: 1GB/s, latency: 0s}}",
            "ports",
        ),
        (
            "nodes: [{kind: gpu, names: g}, {kind: gpu, names: g}]",
            "a.yaml:1: nodes[1].names: node name 'g' is used twice",
        ),
        ("nodes: &n [{kind: gpu, names: *n}]", "a.yaml:1: nodes[0].names[0]: must be one value"),
    ],
)
def test_a_broken_file_is_refused(text: str, message: str) -> None:
    assert message in error(text)


def test_aliases_count_as_often_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "MOST_VALUES", 1000)
    names = ", ".join(f"g{i}" for i in range(100))
    entry = "{kind: gpu, names: *a}"
    assert "more than 1000 values" in error(f"nodes: [{{kind: gpu, names: &a [{names}]}}, {', '.join([entry] * 20)}]")


def test_a_huge_text_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "MOST_CHARACTERS", 10)
    assert "at most 10 are read" in error(GOOD)


def test_more_links_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syccl.topology.yaml_build.MOST_LINKS", 20)
    assert "more than 20 links" in error(GOOD)
    mesh = "{between: [g0..9, g0..9], pairs: all, bandwidth: 1GB/s, latency: 0s}"
    assert "joins 10 x 10 nodes" in error(f"nodes: [{{kind: gpu, names: g0..9}}]\nlinks: [{mesh}]")


def test_aliases_of_values_are_welcome() -> None:
    text = GOOD.replace("bandwidth: 300GB/s", "bandwidth: &nv 300GB/s").replace("bandwidth: 200GB/s", "bandwidth: *nv")
    assert read_yaml(text, source="a.yaml").links[-1].rate == 300 * 10**9
