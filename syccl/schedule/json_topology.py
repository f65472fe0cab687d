"""A topology within a JSON file: name, nodes, links, and the hash that must fit them."""

from __future__ import annotations

import json

from syccl.errors import InputError
from syccl.schedule.json_fields import Field
from syccl.schedule.json_text import lines_text, object_text
from syccl.topology import Kind, Link, Node, Topology
from syccl.topology.identity import topology_hash
from syccl.topology.model import PLAIN, WHOLE, Traits


def topology_text(topology: Topology) -> str:
    """Return the text of a topology."""
    profile = {"profile": json.dumps(topology.profile)} if topology.profile else {}
    return object_text(
        {
            "hash": json.dumps(topology_hash(topology)),
            "name": json.dumps(topology.name),
            **profile,
            "nodes": lines_text(json.dumps(_node(node)) for node in topology.nodes),
            "links": lines_text(json.dumps(link) for link in topology.links),
        }
    )


def _node(node: Node) -> list[object]:
    """Return name, kind and server of a node, and its traits where it has some."""
    plain: list[object] = [node.name, node.kind.value, node.server]
    return plain if node.traits == PLAIN else [*plain, node.traits]


def read_topology(field: Field) -> tuple[Topology, str]:
    """Return the topology in the file and its hash, which is checked.

    Raises
    ------
    InputError
        When a field is missing or wrong, or the hash does not fit.
    """
    profiled = isinstance(field.value, dict) and "profile" in field.value
    names = ("hash", "name", "nodes", "links", *(["profile"] if profiled else []))
    stated, name, nodes, links, *profile = field.members(names)
    table = tuple(_read_node(item) for item in nodes.items())
    wires = tuple(_read_link(item, len(table)) for item in links.items())
    try:
        topology = Topology(name.text(), table, wires, profile[0].text() if profile else "")
    except InputError as error:
        field.fail(str(error))
    if stated.text() != topology_hash(topology):
        stated.fail("does not fit nodes and links; the file was changed by hand")
    return topology, stated.text()


def _read_node(field: Field) -> Node:
    name, kind, server, *traits = field.items(3 if len(field.items()) < 4 else 4)
    kinds = {kind.value: kind for kind in Kind}
    if kind.text() not in kinds:
        kind.fail(f"unknown kind {kind.value!r}; choose one of {', '.join(kinds)}")
    return Node(name.text(), kinds[kind.text()], server.text(), _read_traits(traits[0]) if traits else PLAIN)


def _read_traits(field: Field) -> Traits:
    abilities, plane, device, share = field.items(4)
    return Traits(
        tuple(item.text() for item in abilities.items()), plane.text(), device.text(), share.integer(1, WHOLE)
    )


def _read_link(field: Field, nodes: int) -> Link:
    src, dst, rate, latency = field.items(4)
    return Link(src.integer(0, nodes - 1), dst.integer(0, nodes - 1), rate.integer(1), latency.integer(0))
