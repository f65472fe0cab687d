"""The YAML topology format as types: the reader follows them, and the JSON Schema is generated from them.

Every class is one kind of entry; a field's docstring is its description in the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from syccl.units import LATENCY_UNITS, RATE_UNITS, parse_latency, parse_rate, parse_share

_NUMBER = r"([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?"


@dataclass(frozen=True)
class Limits:
    """What a text or number must satisfy, for the reader and for the schema alike."""

    pattern: str | None = None
    """Regular expression that all of the text matches."""
    least: int | None = None
    """Smallest number, or shortest text."""
    parse: Callable[[str], int] | None = None
    """What explains a text that does not match: it raises InputError."""

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], dict[str, Any]]) -> Any:
        """Add the limits to the schema of the annotated type."""
        schema = handler(source)
        if self.pattern is not None:
            schema["pattern"] = self.pattern
        if self.least is not None:
            schema["ge" if schema["type"] == "int" else "min_length"] = self.least
        return schema


def _quantity(units: tuple[str, ...]) -> str:
    return rf"^{_NUMBER} ?({'|'.join(map(re.escape, units))})$"


Rate = Annotated[str, Limits(pattern=_quantity(RATE_UNITS), parse=parse_rate)]
Latency = Annotated[str, Limits(pattern=_quantity(LATENCY_UNITS), parse=parse_latency)]
Share = Annotated[str, Limits(pattern=r"^[0-9]{1,3}(\.[0-9])?%$", parse=parse_share)]
Text = Annotated[str, Limits(least=1)]
Count = Annotated[int, Limits(least=1)]
Names = Text | tuple[Text, ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """Base of every entry; compared by identity, since each stands at its own place in a file."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "use_attribute_docstrings": True}


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkEntry(Entry):
    """Links between two lists of nodes; exactly one of ``between`` and ``one_way`` is given."""

    bandwidth: Rate
    """Bandwidth of each link and direction, such as 25GB/s or 200Gb/s."""
    latency: Latency
    """Latency of each link and direction, such as 0.35us."""
    between: tuple[Names, Names] | None = None
    """Both directions between a node of the first list and a node of the second."""
    one_way: tuple[Names, Names] | None = None
    """Only from a node of the first list to a node of the second."""
    pairs: Literal["matched", "all"] = "matched"
    """matched: in order, the longer list in equal blocks over the shorter; all: every node with every other."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeEntry(Entry):
    """Nodes of one kind, named one by one or by a range."""

    kind: Literal["gpu", "nic", "switch"]
    """Only GPUs store data; NICs and switches cut through."""
    names: Names
    """Names of the nodes, such as gpu0..7."""
    server: Text = ""
    """Label of the server they are in, for people."""
    can: Names = ()
    """What a switch can do in the network: multicast, reduce."""
    plane: Text = ""
    """Label of the plane of a switch or NIC, where a fabric has several."""
    device: Text = ""
    """The physical GPU that these GPUs are instances of."""
    share: Share = "100%"
    """Share of the device that each of them has."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerTemplate(Entry):
    """A server repeated; node NAME of server S is called S.NAME; exactly one of ``count`` and ``names`` is given."""

    count: Count | None = None
    """How many there are, called server0, server1, ... in the order of the file."""
    names: Names | None = None
    """Their names, such as node00..31."""
    gpus: Names = ()
    """GPUs of each server, in rank order."""
    nics: Names = ()
    """NICs of each server."""
    switches: Names = ()
    """Switches inside each server."""
    switches_can: Names = ()
    """What those switches can do in the network: multicast, reduce."""
    links: tuple[LinkEntry, ...] = ()
    """Links inside each server."""
    ports: Names | None = None
    """Nodes of each server that the fabric connects, in rail order; by default its NICs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaves(Entry):
    """Switches that the servers' ports connect to."""

    names: Names
    """Names of the leaves; with several blocks of rails, block by block."""
    by: Literal["server", "rail"]
    """server: all ports of a server on one leaf; rail: port r of every server on leaf r of its block."""
    bandwidth: Rate
    """Bandwidth of each port's link and direction."""
    latency: Latency
    """Latency of each port's link and direction."""
    servers_per_leaf: Count | None = None
    """Servers on a leaf, in the order of the file; by default all leaves get as many."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Spines(Entry):
    """Switches that join the leaves: every leaf has one link to every spine."""

    names: Names
    """Names of the spines."""
    bandwidth: Rate
    """Bandwidth of each leaf-spine link and direction."""
    latency: Latency
    """Latency of each leaf-spine link and direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fabric(Entry):
    """How the servers are joined."""

    leaves: Leaves
    """The first tier."""
    spines: Spines | None = None
    """The second tier, where there is one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TopologyFile(Entry):
    """A cluster: servers from templates and the fabric that joins them, single nodes and links, or all of these."""

    name: Text | None = None
    """Name for people; by default that of the file."""
    profile: Literal["a100", "h100", "mi300x", "generic"] | None = None
    """Cost profile of the machines: what thread blocks, protocols and links cost beside bandwidth and latency."""
    servers: tuple[ServerTemplate, ...] = ()
    """Server templates; ranks are numbered server by server."""
    fabric: Fabric | None = None
    """Leaves and spines between the servers."""
    nodes: tuple[NodeEntry, ...] = ()
    """Single nodes, after the servers and the fabric in node order."""
    links: tuple[LinkEntry, ...] = ()
    """Links between any nodes of the file."""


def topology_schema() -> dict[str, Any]:
    """Return the JSON Schema of the YAML topology format, for editors and other programs."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(TopologyFile).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "syccl topology"}
