"""Many servers like one, joined by a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.errors import InputError
from syccl.topology.importers.draft import Port
from syccl.topology.model import Kind, Link, Node, Topology

FABRICS = {
    "switch": "one switch joins all ports",
    "rail": "port r of every server goes to leaf r; a spine that blocks nothing joins the leaves",
    "leaf": "all ports of a server go to its leaf; a spine that blocks nothing joins the leaves",
}
"""Ways to join the ports of servers."""
PORT_PS = 350_000
"""A NIC's wire to its switch, or a leaf's to a spine: 1.7 us from GPU to GPU over a leaf, as in bundled clusters."""
MOST_SERVERS = 4096


@dataclass(frozen=True)
class Fabric:
    """How servers are joined.

    Parameters
    ----------
    kind
        One of ``FABRICS``.
    servers_per_leaf
        Servers on one leaf, or in one group of rails; 0 for all.
    oversubscription
        Bandwidth of a leaf's ports over that of its link to the spine.
    """

    kind: str
    servers_per_leaf: int = 0
    oversubscription: float = 1.0


def joined(server: Topology, ports: Sequence[Port], count: int, fabric: Fabric) -> Topology:
    """Return ``count`` servers like one, their ports joined by a fabric; names get the server's in front.

    Raises
    ------
    InputError
        When the server has no port, or counts do not fit.
    """
    if not ports:
        msg = f"topology {server.name!r} has no NIC whose port a fabric could join; state its NICs, or drop --fabric"
        raise InputError(msg)
    if not 1 <= count <= MOST_SERVERS:
        msg = f"{count} servers; choose 1..{MOST_SERVERS}"
        raise InputError(msg)
    nodes = [Node(f"server{i}.{node.name}", node.kind, f"server{i}") for i in range(count) for node in server.nodes]
    n = len(server.nodes)
    links = [link._replace(src=link.src + i * n, dst=link.dst + i * n) for i in range(count) for link in server.links]
    ends = [[port._replace(node=port.node + i * n) for port in ports] for i in range(count)]
    wires = _Wires(nodes, links)
    leaves = wires.leaves(ends, fabric)
    if len(leaves) > 1:
        spine = wires.add("spine0")
        for leaf, rate in leaves:
            wires.cable(leaf, spine, max(1, round(rate / fabric.oversubscription)), PORT_PS)
    return Topology(f"{server.name}-x{count}", tuple(nodes), tuple(links), server.profile)


@dataclass(frozen=True)
class _Wires:
    nodes: list[Node]
    links: list[Link]

    def add(self, name: str) -> int:
        self.nodes.append(Node(name, Kind.SWITCH))
        return len(self.nodes) - 1

    def cable(self, one: int, other: int, rate: int, latency_ps: int) -> None:
        self.links.extend((Link(one, other, rate, latency_ps), Link(other, one, rate, latency_ps)))

    def leaves(self, ends: Sequence[Sequence[Port]], fabric: Fabric) -> list[tuple[int, int]]:
        """Add the leaves with their ports; return each with the bandwidth below it."""
        each = fabric.servers_per_leaf or len(ends)
        groups = [ends[i : i + each] for i in range(0, len(ends), each)]
        parts: list[tuple[str, list[Port]]] = []
        if fabric.kind == "switch":
            parts = [("switch0", [port for server in ends for port in server])]
        elif fabric.kind == "leaf":
            parts = [(f"leaf{i}", [port for server in group for port in server]) for i, group in enumerate(groups)]
        else:
            rails = len(ends[0])
            parts = [
                (f"leaf{i * rails + r}", [server[r] for server in group])
                for i, group in enumerate(groups)
                for r in range(rails)
            ]
        found = []
        for name, ports in parts:
            leaf = self.add(name)
            for port in ports:
                self.cable(port.node, leaf, port.rate, port.latency_ps or PORT_PS)
            found.append((leaf, sum(port.rate for port in ports)))
        return found
