"""Which parts of the cluster explain what is slow: the fewest, each by the connections that go through it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.topology import Kind, Topology
from syccl.traffic.c4d.matrix import Cells
from syccl.traffic.c4d.records import Ints
from syccl.traffic.c4d.routes import Routes

_EXPLAINED, _CONTRADICTED = 15.0, 5.0
"""Logarithms of odds: of a healthy connection that looks slow (1 of 3 million), of a slow one that looks healthy (1 of
150)."""
_PART, _CONNECTION = 9.0, 12.0
"""Logarithms of odds against a fault of a part, and of one connection alone: these are many more."""
_AS_LIKELY = 3.0
"""Difference of these below which two explanations of the same connections are not told apart."""
_LEAST_SHARE = 0.6
"""Share of the connections through a part that must be slow."""
_LEAST_OF_EVEN = 0.5
"""The same of one of several links that a hash uses, over the share that it would have where all are used evenly."""
_MOST_FAULTS = 64

Ways = Mapping[tuple[int, int], int]
"""Links that a directed link stands for, by its ends."""

KINDS = ("tx side", "rx side", "node", "link", "server", "leaf pair", "connection")


@dataclass(frozen=True)
class Suspect:
    """What may be at fault.

    Parameters
    ----------
    kind
        One of ``KINDS``; a NIC's or GPU's links away from the GPU are its tx side, those towards it its rx side.
    name
        In words.
    parts
        The parts to leave out, in the grammar of ``--without``; none where it is no part by itself.
    """

    kind: str
    name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Tables:
    arcs: list[tuple[int, int]]
    cables: list[tuple[int, int]]
    servers: list[str]
    leaf_pairs: list[tuple[int, int]]
    ways: list[int]
    """How many links of the cluster each directed link stands for."""


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which connections go through what can be at fault.

    ``suspect`` and ``cell`` list every pair of both, by numbers; ``first`` is where the numbers of each kind begin:
    directed links, cables, nodes, servers, pairs of leaves, ranks as senders and as receivers, one of the links
    that a link stands for, connections.
    """

    topology: Topology
    cells: Cells
    suspect: Ints
    cell: Ints
    first: tuple[int, ...]
    tables: _Tables

    @property
    def count(self) -> int:
        """Number of suspects."""
        return self.first[-1] + len(self.cells)

    def named(self, number: int) -> Suspect:
        """Return a suspect by its number."""
        kind = max(at for at, first in enumerate(self.first) if first <= number)
        at = number - self.first[kind]
        names = [node.name for node in self.topology.nodes]
        if kind == 0:
            return _arc(self.topology, *self.tables.arcs[at])
        if kind == 1:
            one, other = (names[end] for end in self.tables.cables[at])
            return Suspect("link", f"{one} and {other}", (f"link:{one}/{other}",))
        if kind == 2:
            return Suspect("node", names[at], (f"{self.topology.nodes[at].kind.value}:{names[at]}",))
        if kind == 3:
            server = self.tables.servers[at]
            nodes = self.topology.nodes
            nics = [f"nic:{node.name}" for node in nodes if node.kind is Kind.NIC and node.server == server]
            return Suspect("server", server, tuple(nics))
        if kind == 4:
            one, other = (names[end] for end in self.tables.leaf_pairs[at])
            return Suspect("leaf pair", f"{one} to {other}")
        if kind in {5, 6}:
            return _rank_side(self.topology, at, sends=kind == 5)
        if kind == 7:
            one, other = (names[end] for end in self.tables.arcs[at])
            return Suspect("link", f"one of {self.tables.ways[at]} like {one} -> {other}")
        cells = self.cells
        words = f"{cells.src[at]} -> {cells.dst[at]}, channel {cells.channel[at]}, queue pair {cells.queue_pair[at]}"
        return Suspect("connection", words)


@dataclass(frozen=True)
class Explained:
    """What explains some connections equally well, and cannot be told apart by them."""

    suspects: tuple[Suspect, ...]
    cells: tuple[int, ...]


def incidence(topology: Topology, cells: Cells, routes: Routes, ways: Ways) -> Incidence:
    """Return everything that can be at fault on the routes of connections.

    ``ways`` says for the ends of directed links how many links each stands for, where these are more than one.
    """
    ends = [link[:2] for link in topology.links]
    arcs = sorted(set(ends))
    cables = sorted({(min(pair), max(pair)) for pair in arcs})
    arc_at, cable_at = ({pair: at for at, pair in enumerate(table)} for table in (arcs, cables))
    arc_of = np.array([arc_at[pair] for pair in ends])
    cable_of = np.array([cable_at[min(pair), max(pair)] for pair in ends])
    src_of, dst_of = (np.array(column) for column in zip(*ends, strict=True))
    everyone = np.arange(len(cells))
    start = src_of[routes.link[routes.start]]
    servers, server_of = _servers(topology)
    one, other = server_of[start], server_of[dst_of[routes.link[routes.start + routes.length - 1]]]
    leaves, first, last = _leaves(topology, dst_of[routes.link], routes)
    between, pair = np.unique(first[leaves] * len(topology.nodes) + last[leaves], return_inverse=True)
    leaf_pairs = [divmod(int(key), len(topology.nodes)) for key in between]
    counts = [ways.get(pair, 1) for pair in arcs]
    hashed = np.array(counts)[arc_of[routes.link]] > 1
    away = [everyone[(one != other) & (side > 0)] for side in (one, other)]
    entries = (
        (len(arcs), arc_of[routes.link], routes.cell),
        (len(cables), cable_of[routes.link], routes.cell),
        (len(topology.nodes), np.append(dst_of[routes.link], start), np.append(routes.cell, everyone)),
        (len(servers), np.append(one[away[0]], other[away[1]]), np.append(away[0], away[1])),
        (len(leaf_pairs), pair.reshape(-1), everyone[leaves]),
        (topology.ranks, cells.src, everyone),
        (topology.ranks, cells.dst, everyone),
        (len(arcs), arc_of[routes.link[hashed]], routes.cell[hashed]),
        (len(cells), everyone, everyone),
    )
    begins = np.concatenate([[0], np.cumsum([count for count, _, _ in entries])[:-1]])
    return Incidence(
        topology,
        cells,
        np.concatenate([numbers + begin for (_, numbers, _), begin in zip(entries, begins, strict=True)]),
        np.concatenate([cell for _, _, cell in entries]),
        tuple(begins.tolist()),
        _Tables(arcs, cables, servers, leaf_pairs, counts),
    )


def _servers(topology: Topology) -> tuple[list[str], Ints]:
    """Return the labels of servers, the first for nodes without, and the number of each node's."""
    labels = list(dict.fromkeys(["", *(node.server for node in topology.nodes)]))
    at = {label: number for number, label in enumerate(labels)}
    return labels, np.array([at[node.server] for node in topology.nodes])


def _leaves(topology: Topology, entered: Ints, routes: Routes) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """Return which connections pass several switches outside of servers, and the first and the last of these."""
    outer = np.array([node.kind is Kind.SWITCH and not node.server for node in topology.nodes])
    at = np.arange(len(entered))
    n = len(entered)
    first = np.minimum.reduceat(np.where(outer[entered], at, n), routes.start)
    last = np.maximum.reduceat(np.where(outer[entered], at, -1), routes.start)
    return first < last, entered[np.minimum(first, n - 1)], entered[np.maximum(last, 0)]


def _arc(topology: Topology, one: int, other: int) -> Suspect:
    a, b = topology.nodes[one], topology.nodes[other]
    kind = "link"
    order = (Kind.GPU, Kind.NIC, Kind.SWITCH)
    if Kind.NIC in {a.kind, b.kind} or Kind.GPU in {a.kind, b.kind}:
        kind = "tx side" if order.index(a.kind) < order.index(b.kind) else "rx side"
    return Suspect(kind, f"{a.name} -> {b.name}", (f"arc:{a.name}/{b.name}",))


def _rank_side(topology: Topology, rank: int, *, sends: bool) -> Suspect:
    """Return all links by which a rank sends, or receives."""
    gpu = topology.gpus[rank]
    links = topology.out_links[gpu] if sends else topology.in_links[gpu]
    arcs = (_arc(topology, *topology.links[i][:2]) for i in links)
    parts = tuple(dict.fromkeys(part for arc in arcs for part in arc.parts))
    return Suspect("tx side" if sends else "rx side", f"all of {topology.nodes[gpu].name}", parts)


def explain(made: Incidence, bad: NDArray[np.bool_]) -> list[Explained]:
    """Return the fewest things that explain the bad connections, the one that explains most first."""
    suspect, cell, n = made.suspect, made.cell, made.count
    total = np.bincount(suspect, minlength=n)
    all_bad = np.bincount(suspect[bad[cell]], minlength=n)
    prior = np.where(np.arange(n) >= made.first[-1], _CONNECTION, _PART)
    ways = np.ones(n)
    ways[made.first[-2] : made.first[-1]] = made.tables.ways
    gain, contradicted = _EXPLAINED - np.log(ways), np.full(n, _CONTRADICTED)
    contradicted[ways > 1] = -np.log1p(-1 / ways[ways > 1])
    fits = all_bad >= np.where(ways > 1, _LEAST_OF_EVEN / ways, _LEAST_SHARE) * total
    left = bad.copy()
    found: list[Explained] = []
    while left.any() and len(found) < _MOST_FAULTS:
        new = np.bincount(suspect[left[cell]], minlength=n)
        score = np.where(fits, gain * new - contradicted * (total - all_bad) - prior, -math.inf)
        best = int(np.argmax(score))
        if score[best] <= 0:
            break
        mine = _left_of(made, best, left)
        ties = np.flatnonzero((score > score[best] - _AS_LIKELY) & (new == new[best])).tolist()
        equal = [made.named(at) for at in ties if np.array_equal(_left_of(made, at, left), mine)]
        narrow = [each for each in equal if not any(_is_within(other, each) for other in equal)]
        narrow.sort(key=lambda each: KINDS.index(each.kind))
        found.append(Explained(tuple(narrow), tuple(np.unique(cell[(suspect == best) & bad[cell]]).tolist())))
        left[mine] = False
    return found


def _left_of(made: Incidence, at: int, left: NDArray[np.bool_]) -> Ints:
    """Return the connections through a suspect that are not explained yet."""
    mine = made.cell[made.suspect == at]
    return np.unique(mine[left[mine]])


def _is_within(one: Suspect, other: Suspect) -> bool:
    """Return whether one suspect says the same of fewer parts, or of the same in fewer words."""
    if not one.parts or one == other:
        return False
    a, b = set(one.parts), set(other.parts)
    return a < b or (a == b and len(one.name) < len(other.name))
