"""What importers share: a topology under construction, and notes on what a file left open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from syccl.topology.model import Kind, Link, Node, Topology


class Note(NamedTuple):
    """Something that was not understood, or assumed because the file does not say it.

    ``line`` counts from 1; 0 where the note is about the file as a whole.
    """

    line: int
    text: str


class Port(NamedTuple):
    """A port that a fabric may be joined to: node id of the NIC, bytes per second, latency of its wire."""

    node: int
    rate: int
    latency_ps: int


@dataclass(frozen=True)
class Imported:
    """A topology read from a foreign file, with everything that is not certain about it."""

    topology: Topology
    notes: tuple[Note, ...] = ()
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True)
class Assumed:
    """Values for what a file does not state; None where the importer is to choose by itself and say so.

    Parameters
    ----------
    nvlink
        Bandwidth of one NVLink or xGMI link and direction, bytes per second.
    pcie
        Bandwidth of a GPU's PCIe port and direction, bytes per second.
    nic
        Bandwidth of a NIC's port and direction, bytes per second.
    gpu
        Name of the GPUs' product.
    """

    gpu: str | None = None
    nvlink: int | None = None
    pcie: int | None = None
    nic: int | None = None


@dataclass
class Draft:
    """Nodes and links collected one by one; ``done`` makes the topology."""

    nodes: list[Node] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    order: list[int] | None = None
    """Node ids of the GPUs by rank, where that is not the order in which they were added."""

    def add(self, name: str, kind: Kind, server: str = "") -> int:
        """Add a node and return its id."""
        self.nodes.append(Node(name, kind, server))
        return len(self.nodes) - 1

    def wire(self, src: int, dst: int, rate: int, latency_ps: int) -> None:
        """Add one direction."""
        self.links.append(Link(src, dst, rate, latency_ps))

    def cable(self, one: int, other: int, rate: int, latency_ps: int) -> None:
        """Add both directions."""
        self.wire(one, other, rate, latency_ps)
        self.wire(other, one, rate, latency_ps)

    def widen(self, one: int, other: int, rate: int, latency_ps: int) -> None:
        """Set the bandwidth of a cable, both directions, adding it where there is none."""
        ends = {(one, other), (other, one)}
        self.links = [link for link in self.links if (link.src, link.dst) not in ends]
        self.cable(one, other, rate, latency_ps)

    def port(self, nic: int, rate: int, latency_ps: int) -> None:
        """Remember the port of a NIC that a fabric may be joined to."""
        self.ports.append(Port(nic, rate, latency_ps))

    def note(self, line: int, text: str) -> None:
        """Remember something uncertain."""
        self.notes.append(Note(line, text))

    def done(self, name: str) -> Imported:
        """Return the topology: GPUs first, by rank, then everything else in the order in which it was added.

        Raises
        ------
        InputError
            When there is no GPU or names repeat.
        """
        gpus = self.order or [i for i, node in enumerate(self.nodes) if node.kind is Kind.GPU]
        rest = [i for i, node in enumerate(self.nodes) if node.kind is not Kind.GPU]
        at = {old: new for new, old in enumerate([*gpus, *rest])}
        nodes = tuple(self.nodes[old] for old in at)
        links = tuple(link._replace(src=at[link.src], dst=at[link.dst]) for link in self.links)
        ports = tuple(port._replace(node=at[port.node]) for port in self.ports)
        return Imported(Topology(name, nodes, links), tuple(self.notes), ports)
