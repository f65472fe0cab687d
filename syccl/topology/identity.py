"""A strong name for a topology: the same for the same graph, whatever file stated it.

The canonical text is ASCII, one item a line, every line ending in a newline::

    syccl topology 1
    profile mi300x                        where the topology names a cost profile
    node "gpu0" gpu                       each node in order: name as a JSON string, kind, then what a switch can do or
                                          a GPU's share in permille, where there is any
    link 0 1 25000000000 700000           each link in order: source id, destination id, bytes per second, picoseconds

Ids are positions, so order counts: schedules name links and ranks by it. The topology's own name and the server
labels do not count.
"""

from __future__ import annotations

import hashlib
import json

from syccl.topology.model import WHOLE, Node, Topology


def canonical_text(topology: Topology) -> str:
    """Return the text that identifies a topology; the module's docstring gives its form."""
    lines = ["syccl topology 1"]
    lines += [f"profile {topology.profile}"] if topology.profile else []
    lines += [_node(node) for node in topology.nodes]
    lines += [f"link {link.src} {link.dst} {link.rate} {link.latency_ps}" for link in topology.links]
    return "\n".join(lines) + "\n"


def _node(node: Node) -> str:
    share = [str(node.traits.share_permille)] if node.traits.share_permille != WHOLE else []
    return " ".join(["node", json.dumps(node.name), node.kind.value, *node.traits.abilities, *share])


def topology_hash(topology: Topology) -> str:
    """Return the SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical_text(topology).encode("ascii")).hexdigest()
