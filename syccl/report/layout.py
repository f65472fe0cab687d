"""Where the nodes of a topology go in a picture: tiers above GPUs, servers side by side; large clusters by orbits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.symmetry import Group
from syccl.topology import Kind, Topology

MOST_GPUS = 64
"""Clusters above are drawn with one mark for all nodes that are alike."""
_SPREAD = 1.2


@dataclass(frozen=True)
class Mark:
    """One mark of the picture: a node, or all nodes of an orbit; ``x`` and ``y`` in units of marks."""

    label: str
    kind: Kind
    x: float
    y: float
    server: str
    count: int


@dataclass(frozen=True)
class Stroke:
    """A line between two marks: link ids in one direction or both, all of one bandwidth."""

    one: int
    other: int
    links: tuple[int, ...]
    rate: int


@dataclass(frozen=True)
class Layout:
    """Marks and the lines between them."""

    marks: tuple[Mark, ...]
    strokes: tuple[Stroke, ...]


def layout(topology: Topology, group: Group) -> Layout:
    """Return where everything goes: GPUs at the bottom, each other node a tier above the nearest below it."""
    parts = _orbits(topology, group) if topology.ranks > MOST_GPUS else [(node,) for node in range(len(topology.nodes))]
    at = {node: i for i, part in enumerate(parts) for node in part}
    tiers = _tiers(topology)
    firsts = [part[0] for part in parts]
    places = _places(topology, firsts, tiers) if max(tiers) else _sprung(topology, firsts)
    marks = tuple(
        Mark(
            _label(topology, part), topology.nodes[part[0]].kind, *places[i], topology.nodes[part[0]].server, len(part)
        )
        for i, part in enumerate(parts)
    )
    return Layout(marks, _strokes(topology, at))


def _orbits(topology: Topology, group: Group) -> list[tuple[int, ...]]:
    images = group.elements
    seen: set[int] = set()
    parts = []
    for node in range(len(topology.nodes)):
        if node not in seen:
            part = tuple(sorted({int(image) for image in images[:, node]}))
            seen.update(part)
            parts.append(part)
    return parts


def _label(topology: Topology, part: Sequence[int]) -> str:
    node = topology.nodes[part[0]]
    name = node.name.removeprefix(f"{node.server}.") if node.server else node.name
    return name if len(part) == 1 else f"{len(part)} x {name}"


def _tiers(topology: Topology) -> list[int]:
    """Return for each node how many links it is above the nearest GPU; NICs stand above switches inside servers."""
    tier = [0 if topology.is_gpu(node) else -1 for node in range(len(topology.nodes))]
    level = list(topology.gpus)
    depth = 0
    while level:
        depth += 1
        fresh = []
        for node in level:
            for link in (*topology.out_links[node], *topology.in_links[node]):
                other = topology.links[link].dst if topology.links[link].src == node else topology.links[link].src
                if tier[other] < 0:
                    tier[other] = depth
                    fresh.append(other)
        level = fresh
    return [depth if value < 0 else value for value in tier]


def _places(topology: Topology, nodes: Sequence[int], tiers: Sequence[int]) -> list[tuple[float, float]]:
    """Return x and y of each node: servers side by side, in a server each tier centred; other nodes over all."""
    servers = list(dict.fromkeys(topology.nodes[node].server for node in nodes))
    blocks = {server: [node for node in nodes if topology.nodes[node].server == server] for server in servers}
    place: dict[int, tuple[float, float]] = {}
    left = 0.0
    for server in [name for name in servers if name] or [""]:
        width = _rows(blocks[server], tiers, place, left=left)
        left += width + 1.0
    if "" in blocks and len(servers) > 1:
        lift = 1 + max(tiers[node] for node in nodes if topology.nodes[node].server)
        loose = {node: max(lift, tiers[node]) for node in blocks[""]}
        for tier in sorted(set(loose.values())):
            row = [node for node in blocks[""] if loose[node] == tier]
            step = (left - 1.0) / len(row)
            place.update({node: (step * (i + 0.5) - 0.5, float(tier) * 1.5) for i, node in enumerate(row)})
    return [place[node] for node in nodes]


def _sprung(topology: Topology, nodes: Sequence[int]) -> list[tuple[float, float]]:
    """Return places for a graph of GPUs alone: near where they are linked, from a fixed start."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(topology.nodes)))
    graph.add_edges_from((link.src, link.dst) for link in topology.links)
    size = _SPREAD * len(topology.nodes) ** 0.5
    placed = nx.spring_layout(graph, seed=1, iterations=300, scale=size)
    return [(float(placed[node][0]), float(placed[node][1]) + size) for node in nodes]


def _rows(nodes: Sequence[int], tiers: Sequence[int], place: dict[int, tuple[float, float]], *, left: float) -> float:
    """Place one server's nodes and return its width."""
    rows = [[node for node in nodes if tiers[node] == tier] for tier in sorted({tiers[node] for node in nodes})]
    width = float(max(map(len, rows), default=1))
    for row in rows:
        step = width / len(row)
        for i, node in enumerate(row):
            place[node] = (left + step * (i + 0.5) - 0.5, tiers[node] * 1.5)
    return width


def _strokes(topology: Topology, at: dict[int, int]) -> tuple[Stroke, ...]:
    found: dict[tuple[int, int, int], list[int]] = {}
    for i, link in enumerate(topology.links):
        one, other = sorted((at[link.src], at[link.dst]))
        found.setdefault((one, other, link.rate), []).append(i)
    return tuple(Stroke(one, other, tuple(links), rate) for (one, other, rate), links in sorted(found.items()))
