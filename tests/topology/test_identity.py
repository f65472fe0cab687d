"""The strong name of a topology."""

from __future__ import annotations

import hashlib

from hypothesis import given

from syccl.topology.identity import canonical_text, topology_hash
from syccl.topology.model import Kind, Link, Node, Topology
from syccl.topology.yaml_file import read_yaml, write_yaml
from tests.strategies import topologies

PAIR = Topology("pair", (Node("a", Kind.GPU, "s"), Node('b "', Kind.GPU)), (Link(0, 1, 25 * 10**9, 700_000),))


def test_the_text_is_the_documented_one() -> None:
    expected = 'syccl topology 1\nnode "a" gpu\nnode "b \\"" gpu\nlink 0 1 25000000000 700000\n'
    assert canonical_text(PAIR) == expected
    assert topology_hash(PAIR) == hashlib.sha256(expected.encode()).hexdigest()


def test_the_name_and_server_labels_do_not_count_and_all_else_does() -> None:
    nodes, links = PAIR.nodes, PAIR.links
    same = Topology("other", (nodes[0]._replace(server=""), nodes[1]), links)
    assert topology_hash(same) == topology_hash(PAIR)
    others = [
        Topology("pair", (nodes[0]._replace(name="c"), nodes[1]), links),
        Topology("pair", (nodes[0], nodes[1]._replace(kind=Kind.NIC)), links),
        Topology("pair", nodes, (links[0]._replace(rate=1),)),
        Topology("pair", nodes, (links[0]._replace(latency_ps=1),)),
        Topology("pair", nodes, (links[0]._replace(src=1, dst=0),)),
        Topology("pair", nodes, ()),
        Topology("pair", nodes[::-1], links),
        Topology("pair", nodes, links, "a100"),
    ]
    assert len({topology_hash(topology) for topology in [PAIR, *others]}) == 1 + len(others)


@given(topologies())
def test_files_of_the_same_graph_have_the_same_hash(topology: Topology) -> None:
    copy = read_yaml(write_yaml(topology), source="other.yaml")
    assert topology_hash(copy) == topology_hash(topology)
