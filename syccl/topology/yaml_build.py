"""From the entries of a YAML topology to nodes and links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from syccl.errors import InputError
from syccl.topology.model import ABILITIES, PLAIN, Kind, Link, Node, Topology, Traits
from syccl.topology.naming import MOST_NAMES, did_you_mean, expand_names
from syccl.topology.yaml_format import (
    Entry,
    Fabric,
    Leaves,
    LinkEntry,
    Names,
    NodeEntry,
    ServerTemplate,
    Spines,
    TopologyFile,
)
from syccl.topology.yaml_tree import Places
from syccl.units import parse_latency, parse_rate, parse_share

MOST_LINKS = 10_000_000
"""Most links that one file may state; more is a slip."""

Pairs = list[tuple[int, int]]
"""Nodes to join, by position."""


def build_topology(file: TopologyFile, places: Places, *, name: str) -> Topology:
    """Return the topology that a file's entries state; ``name`` serves where the file gives none.

    Node order is servers (each: GPUs, NICs, switches), leaves, spines, single nodes; link order is links inside
    servers, ports to leaves, leaves to spines, single links.

    Raises
    ------
    InputError
        When names repeat, a link names an undeclared node, or counts do not fit each other; with file, line and
        field.
    """
    builder = _Builder(places)
    for template in file.servers:
        builder.add_servers(template, fabric=file.fabric is not None)
    if file.fabric is not None:
        builder.add_fabric(file.fabric)
    for entry in file.nodes:
        kind, traits = Kind(entry.kind), builder.traits(entry)
        nodes = [Node(one, kind, entry.server, traits) for one in builder.names(entry, "names")]
        builder.add_nodes(entry, "names", nodes)
    for link in file.links:
        builder.add_links(link, builder.entry_links(link, builder.ids), base=0)
    try:
        return Topology(file.name or name, tuple(builder.nodes), tuple(builder.links), file.profile or "")
    except InputError as error:
        msg = f"{places.source}: {error}"
        raise InputError(msg) from None


def matched(src: Sequence[int], dst: Sequence[int]) -> Pairs:
    """Return pairs in order, the longer list in equal consecutive blocks over the shorter.

    Raises
    ------
    InputError
        When the longer length is no multiple of the shorter, or a node meets itself.
    """
    longer, shorter = max(len(src), len(dst)), min(len(src), len(dst))
    if shorter == 0 or longer % shorter:
        msg = f"{len(src)} nodes do not match {len(dst)} in equal blocks; change the lists, or write pairs: all"
        raise InputError(msg)
    pairs = [(src[i * len(src) // longer], dst[i * len(dst) // longer]) for i in range(longer)]
    if any(a == b for a, b in pairs):
        msg = "joins a node to itself; a link joins two different nodes"
        raise InputError(msg)
    return pairs


def all_pairs(src: Sequence[int], dst: Sequence[int], *, both: bool) -> Pairs:
    """Return every node of one list with every other node of the other, once; ``both``: once for both directions."""
    if len(src) * len(dst) > MOST_LINKS:
        msg = f"joins {len(src)} x {len(dst)} nodes; at most {MOST_LINKS} links are read"
        raise InputError(msg)
    pairs: dict[tuple[int, int], None] = {}
    for a in src:
        for b in dst:
            if a != b and not (both and (b, a) in pairs):
                pairs[a, b] = None
    return list(pairs)


def port_leaf_pairs(ports: Sequence[Sequence[int]], leaves: Sequence[int], entry: Leaves) -> Pairs:
    """Return which leaf each port connects to, server by server.

    Parameters
    ----------
    ports
        Node ids of each server's ports, in rail order.
    leaves
        Node ids of the leaves, block by block, each block one leaf for each rail.
    entry
        Says whether blocks have rails, and how many servers a block has.

    Raises
    ------
    InputError
        When there are more or fewer leaves than the servers and rails need.
    """
    rails = max(map(len, ports), default=0) if entry.by == "rail" else 1
    servers, size = len(ports), entry.servers_per_leaf
    blocks = len(leaves) // max(rails, 1)
    if size is None and blocks and servers % blocks == 0:
        size = servers // blocks
    if not size or blocks * rails != len(leaves) or -(-servers // size) != blocks:
        each = f"{rails} rails of " if entry.by == "rail" else ""
        hint = "" if entry.servers_per_leaf else "; give servers_per_leaf where blocks differ in size"
        msg = f"{len(leaves)} leaves do not fit {each}{servers} servers{f' at {size} a leaf' if size else ''}{hint}"
        raise InputError(msg)
    return [
        (port, leaves[s // size * rails + (r if entry.by == "rail" else 0)])
        for s, server in enumerate(ports)
        for r, port in enumerate(server)
    ]


@dataclass
class _Builder:
    places: Places
    nodes: list[Node] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    ports: list[list[int]] = field(default_factory=list)
    """Node ids of the ports of each server that has some."""
    servers: int = 0

    def names(self, entry: Entry, name: str, patterns: Names | None = None) -> list[str]:
        """Return the names that a field states, ranges written out."""
        value: Names = getattr(entry, name) if patterns is None else patterns
        found: list[str] = []
        try:
            for text in [value] if isinstance(value, str) else value:
                found += expand_names(text)
                if len(found) > MOST_NAMES:
                    msg = f"more than {MOST_NAMES} names"
                    raise InputError(msg)
        except InputError as error:
            raise self.places.error(entry, name, error) from None
        return found

    def named(self, entry: Entry, name: str, ids: dict[str, int], patterns: Names) -> list[int]:
        """Return the ids of the nodes that a field names."""
        found = self.names(entry, name, patterns)
        for one in found:
            if one not in ids:
                raise self.places.error(entry, name, f"node {one!r} is not declared{did_you_mean(one, ids)}")
        return [ids[one] for one in found]

    def check_size(self, entry: Entry, name: str, *, nodes: int = 0, links: int = 0) -> None:
        """Refuse what would make the graph too large, before it is made."""
        if len(self.nodes) + nodes > MOST_NAMES:
            raise self.places.error(entry, name, f"more than {MOST_NAMES} nodes")
        if len(self.links) + links > MOST_LINKS:
            raise self.places.error(entry, name, f"more than {MOST_LINKS} links")

    def add_nodes(self, entry: Entry, name: str, nodes: Sequence[Node]) -> list[int]:
        """Add the nodes that a field of an entry declares; return their ids."""
        first = len(self.nodes)
        self.check_size(entry, name, nodes=len(nodes))
        for node in nodes:
            if node.name in self.ids:
                raise self.places.error(entry, name, f"node name {node.name!r} is used twice; names must differ")
            self.ids[node.name] = len(self.nodes)
            self.nodes.append(node)
        return list(range(first, len(self.nodes)))

    def add_links(self, entry: Entry, links: Sequence[Link], *, base: int) -> None:
        """Add links, their ends counted from a base."""
        self.check_size(entry, "", links=len(links))
        self.links += [Link(base + src, base + dst, rate, latency) for src, dst, rate, latency in links]

    def add_servers(self, template: ServerTemplate, *, fabric: bool) -> None:
        """Add a template's servers with their nodes, links and ports."""
        field_name, servers = self.server_names(template)
        kinds = {"gpus": Kind.GPU, "nics": Kind.NIC, "switches": Kind.SWITCH}
        local = [(name, kind) for what, kind in kinds.items() for name in self.names(template, what)]
        ids = {name: i for i, (name, _) in enumerate(local)}
        if len(ids) < len(local):
            names = [name for name, _ in local]
            repeated = next(name for name in names if names.count(name) > 1)
            raise self.places.error(template, "", f"node name {repeated!r} is used twice; names must differ")
        ports = self.named(template, "ports", ids, template.nics if template.ports is None else template.ports)
        if fabric and not ports and template.ports is None:
            raise self.places.error(template, "", "no nics for the fabric to connect; name what it connects in ports")
        links = [link for entry in template.links for link in self.entry_links(entry, ids)]
        self.check_size(template, field_name, nodes=len(servers) * len(local), links=len(servers) * len(links))
        traits = dict.fromkeys(Kind, PLAIN) | {Kind.SWITCH: self.able(template, "switches_can")}
        for server in servers:
            base = len(self.nodes)
            nodes = [Node(f"{server}.{name}", kind, server, traits[kind]) for name, kind in local]
            self.add_nodes(template, field_name, nodes)
            self.add_links(template, links, base=base)
            self.ports += [[base + port for port in ports]] if ports else []

    def able(self, entry: Entry, name: str) -> Traits:
        """Return the traits of switches that can do what a field says."""
        abilities = tuple(sorted(set(self.names(entry, name))))
        strange = [ability for ability in abilities if ability not in ABILITIES]
        if strange:
            raise self.places.error(entry, name, f"{strange[0]!r} is none of {', '.join(ABILITIES)}")
        return Traits(abilities) if abilities else PLAIN

    def traits(self, entry: NodeEntry) -> Traits:
        """Return the traits of single nodes."""
        if (entry.can and entry.kind != "switch") or (entry.device and entry.kind != "gpu"):
            raise self.places.error(entry, "kind", f"a {entry.kind} has no {'can' if entry.can else 'device'}")
        share = parse_share(entry.share)
        found = Traits(self.able(entry, "can").abilities, entry.plane, entry.device, share)
        return PLAIN if found == PLAIN else found

    def server_names(self, template: ServerTemplate) -> tuple[str, list[str]]:
        """Return which field names a template's servers, and the names."""
        if (template.count is None) == (template.names is None):
            raise self.places.error(template, "", "give exactly one of count and names")
        first = self.servers
        if template.count is None:
            names = self.names(template, "names")
            self.servers += len(names)
            return "names", names
        self.servers += template.count
        if self.servers > MOST_NAMES:
            raise self.places.error(template, "count", f"{template.count} servers; at most {MOST_NAMES}")
        return "count", [f"server{i}" for i in range(first, self.servers)]

    def entry_links(self, entry: LinkEntry, ids: dict[str, int]) -> list[Link]:
        """Return the links that an entry states."""
        if (entry.between is None) == (entry.one_way is None):
            raise self.places.error(entry, "", "give exactly one of between (both directions) and one_way")
        name = "one_way" if entry.between is None else "between"
        first, second = entry.between or entry.one_way or ((), ())
        src, dst = self.named(entry, name, ids, first), self.named(entry, name, ids, second)
        both = name == "between"
        try:
            pairs = all_pairs(src, dst, both=both) if entry.pairs == "all" else matched(src, dst)
        except InputError as error:
            raise self.places.error(entry, name, error) from None
        return self.wires(entry, pairs, both=both)

    def wires(self, entry: LinkEntry | Leaves | Spines, pairs: Pairs, *, both: bool = True) -> list[Link]:
        """Return links of an entry's bandwidth and latency; ``both``: each pair there and back."""
        rate = self.quantity(entry, "bandwidth", parse_rate)
        latency = self.quantity(entry, "latency", parse_latency)
        if not both:
            return [Link(src, dst, rate, latency) for src, dst in pairs]
        return [Link(*ends, rate, latency) for src, dst in pairs for ends in ((src, dst), (dst, src))]

    def quantity(self, entry: Entry, name: str, parse: Callable[[str], int]) -> int:
        """Return a bandwidth or latency of an entry."""
        try:
            return parse(getattr(entry, name))
        except InputError as error:
            raise self.places.error(entry, name, error) from None

    def add_fabric(self, fabric: Fabric) -> None:
        """Add leaves, spines and their links."""
        leaves = self.add_switches(fabric.leaves)
        try:
            pairs = port_leaf_pairs(self.ports, leaves, fabric.leaves)
        except InputError as error:
            raise self.places.error(fabric.leaves, "names", error) from None
        self.add_links(fabric.leaves, self.wires(fabric.leaves, pairs), base=0)
        if fabric.spines is not None:
            spines = self.add_switches(fabric.spines)
            pairs = all_pairs(leaves, spines, both=True)
            self.add_links(fabric.spines, self.wires(fabric.spines, pairs), base=0)

    def add_switches(self, entry: Leaves | Spines) -> list[int]:
        """Add one tier's switches."""
        return self.add_nodes(entry, "names", [Node(name, Kind.SWITCH) for name in self.names(entry, "names")])
