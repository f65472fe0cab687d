from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.schedule.json_file import read_json, write_json
from syccl.symmetry.automorphisms import find_group
from syccl.topology import Kind, Node, Topology, merged
from syccl.topology.features import unused_features
from syccl.topology.identity import topology_hash
from syccl.topology.model import Traits
from syccl.topology.yaml_file import read_yaml, write_yaml
from tests.strategies import duplex

TEXT = """\
name: features
servers:
  - count: 2
    gpus: gpu0..1
    switches: nvswitch
    switches_can: [multicast, reduce]
    links:
      - {between: [gpu0..1, nvswitch], bandwidth: 300GB/s, latency: 0.35us}
nodes:
  - {kind: switch, names: leaf, plane: "0", can: reduce}
  - {kind: gpu, names: half0..1, device: big, share: 50%}
links:
  - {between: ["server0..1.nvswitch", leaf], bandwidth: 100GB/s, latency: 1us}
  - {between: [half0..1, leaf], bandwidth: 25GB/s, latency: 1us}
"""


def test_what_switches_can_do_and_shares_of_gpus_are_kept():
    topology = read_yaml(TEXT, source="x.yaml")
    traits = {node.name: node.traits for node in topology.nodes}
    assert traits["server1.nvswitch"].abilities == ("multicast", "reduce")
    assert traits["leaf"] == Traits(("reduce",), "0")
    assert traits["half1"] == Traits((), "", "big", 500)
    again = read_yaml(write_yaml(topology), source="y.yaml")
    assert (again.nodes, again.links) == (topology.nodes, topology.links)
    assert merged(topology).nodes == topology.nodes


def test_what_plans_leave_aside_is_said():
    sentences = unused_features(read_yaml(TEXT, source="x.yaml"))
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "2 switches can multicast in the network",
        "3 switches can reduce in the network",
        "2 ranks are shares of a GPU",
    ]


def pair(traits: Traits) -> Topology:
    nodes = (Node("a", Kind.GPU), Node("b", Kind.GPU), Node("s", Kind.SWITCH, "", traits), Node("t", Kind.SWITCH))
    return Topology("pair", nodes, (*duplex(0, 2), *duplex(1, 3), *duplex(2, 3)))


def test_nodes_that_differ_in_what_they_can_do_are_not_alike():
    assert find_group(pair(Traits())).order == 2
    assert find_group(pair(Traits(("reduce",)))).order == 1
    assert topology_hash(pair(Traits())) != topology_hash(pair(Traits(("reduce",))))
    assert topology_hash(pair(Traits())) == topology_hash(pair(Traits(plane="1")))


def test_schedules_keep_traits():
    from syccl.collective import op_named
    from syccl.pipeline import Options, synthesize

    made = synthesize(pair(Traits(("reduce",))), op_named("allgather"), Options(size_bytes=1024, want_program=False))
    again = read_json(write_json(made.schedule, made_by={}), source="x.json")
    assert again.topology.nodes == made.schedule.topology.nodes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("can: reduce", "can: fly"), "x.yaml:.*'fly' is none of multicast, reduce"),
        (("share: 50%", "share: 120%"), "120%"),
        (("kind: gpu, names: half0..1", "kind: nic, names: half0..1"), "a nic has no device"),
    ],
)
def test_what_no_node_can_be_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        read_yaml(TEXT.replace(*change), source="x.yaml")
