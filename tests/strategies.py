"""Topologies for tests: plain builders of known families, and hypothesis strategies over them.

Symmetric families have exact closed forms; random graphs are strongly connected by construction.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from hypothesis import assume
from hypothesis import strategies as st

from syccl.topology.model import Kind, Link, Node, Topology

RATE = 25_000_000_000
LATENCY_PS = 700_000


def duplex(src: int, dst: int, rate: int = RATE, latency_ps: int = LATENCY_PS) -> tuple[Link, Link]:
    """Both directions of a cable."""
    return Link(src, dst, rate, latency_ps), Link(dst, src, rate, latency_ps)


def cables(pairs: Iterable[tuple[int, int]], rate: int = RATE, latency_ps: int = LATENCY_PS) -> tuple[Link, ...]:
    """Both directions of every pair, pair by pair."""
    return tuple(link for src, dst in pairs for link in duplex(src, dst, rate, latency_ps))


def gpus(n: int) -> tuple[Node, ...]:
    """Nodes ``gpu0`` .. ``gpu{n-1}``."""
    return tuple(Node(f"gpu{i}", Kind.GPU) for i in range(n))


def ring(n: int, *, rate: int = RATE, latency_ps: int = LATENCY_PS, one_way: bool = False) -> Topology:
    """``n`` GPUs in a circle; two GPUs share one cable; ``one_way`` keeps only the links i -> i + 1."""
    pairs = [(i, (i + 1) % n) for i in range(n if n > 2 or one_way else n - 1)]
    links = tuple(Link(a, b, rate, latency_ps) for a, b in pairs) if one_way else cables(pairs, rate, latency_ps)
    return Topology(f"ring{n}", gpus(n), links if n > 1 else ())


def mesh(n: int, *, rate: int = RATE, latency_ps: int = LATENCY_PS) -> Topology:
    """``n`` GPUs, a cable between every two."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return Topology(f"mesh{n}", gpus(n), cables(pairs, rate, latency_ps))


def one_switch(n: int, *, rate: int = RATE, latency_ps: int = LATENCY_PS // 2) -> Topology:
    """``n`` GPUs on one non-blocking switch; values are per link, so a route costs two latencies."""
    nodes = (*gpus(n), Node("switch", Kind.SWITCH))
    return Topology(f"switch{n}", nodes, cables([(i, n) for i in range(n)], rate, latency_ps))


def torus(rows: int, columns: int, *, rate: int = RATE, latency_ps: int = LATENCY_PS) -> Topology:
    """A ``rows`` x ``columns`` torus of GPUs; a dimension of two has one cable, not two."""
    pairs = []
    for i in range(rows):
        for j in range(columns):
            if columns > 2 or j == 0 < columns - 1:
                pairs.append((i * columns + j, i * columns + (j + 1) % columns))
            if rows > 2 or i == 0 < rows - 1:
                pairs.append((i * columns + j, (i + 1) % rows * columns + j))
    return Topology(f"torus{rows}x{columns}", gpus(rows * columns), cables(pairs, rate, latency_ps))


def two_servers(
    gpus_a: int = 4,
    gpus_b: int | None = None,
    *,
    nics: int = 2,
    nvlink_rate: int = 12 * RATE,
    nic_rate: int = RATE,
    rails: bool = False,
) -> Topology:
    """Two servers of GPUs on an internal switch, with ``nics`` NICs each on one leaf, or one leaf a rail.

    ``gpus_a`` and ``gpus_b`` (default: as many) may differ; GPU g of a server uses NIC g * nics // its GPUs.
    """
    sizes = (gpus_a, gpus_a if gpus_b is None else gpus_b)
    nodes: list[Node] = []
    links: list[Link] = []
    ports: list[list[int]] = []
    for s, size in enumerate(sizes):
        base = len(nodes)
        switch, nic0 = base + size, base + size + 1
        nodes += [Node(f"s{s}.gpu{g}", Kind.GPU, f"s{s}") for g in range(size)]
        nodes += [Node(f"s{s}.nvswitch", Kind.SWITCH, f"s{s}")]
        nodes += [Node(f"s{s}.nic{k}", Kind.NIC, f"s{s}") for k in range(nics)]
        links += cables([(base + g, switch) for g in range(size)], nvlink_rate, 350_000)
        links += cables([(base + g, nic0 + g * nics // size) for g in range(size)], nic_rate, 500_000)
        ports.append([nic0 + k for k in range(nics)])
    leaf0 = len(nodes)
    nodes += [Node(f"leaf{k}", Kind.SWITCH) for k in range(nics if rails else 1)]
    for server in ports:
        links += cables([(nic, leaf0 + (k if rails else 0)) for k, nic in enumerate(server)], nic_rate, 350_000)
    return Topology(f"servers{sizes[0]}+{sizes[1]}", tuple(nodes), tuple(links))


def without_links(topology: Topology, removed: Iterable[int]) -> Topology:
    """The topology minus some link ids; node ids stay."""
    gone = set(removed)
    links = tuple(link for i, link in enumerate(topology.links) if i not in gone)
    return Topology(f"{topology.name}-damaged", topology.nodes, links)


def scrambled(topology: Topology, seed: int) -> tuple[Topology, tuple[int, ...]]:
    """The same graph with node names, node order and link order shuffled, and no server labels.

    The second value maps ranks: rank r of the given topology is rank ``ranks[r]`` of the returned one.
    """
    rng = random.Random(seed)
    order = list(range(len(topology.nodes)))
    rng.shuffle(order)
    new_id = {old: new for new, old in enumerate(order)}
    names = [f"n{i}" for i in range(len(order))]
    rng.shuffle(names)
    nodes = tuple(Node(names[new], topology.nodes[old].kind) for new, old in enumerate(order))
    links = [link._replace(src=new_id[link.src], dst=new_id[link.dst]) for link in topology.links]
    rng.shuffle(links)
    copy = Topology("scrambled", nodes, tuple(links))
    return copy, tuple(copy.rank_of[new_id[node]] for node in topology.gpus)


def reaches_all(topology: Topology) -> bool:
    """Whether every GPU reaches every GPU, forwarding through GPUs included."""
    start, wanted = topology.gpus[0], set(topology.gpus)
    forward = [(link.src, link.dst) for link in topology.links]
    return wanted <= _closure(start, forward) and wanted <= _closure(start, [(b, a) for a, b in forward])


def _closure(start: int, arcs: Sequence[tuple[int, int]]) -> set[int]:
    seen: set[int] = {start}
    grown = True
    while grown:
        new = {b for a, b in arcs if a in seen} - seen
        seen |= new
        grown = bool(new)
    return seen


def rates() -> st.SearchStrategy[int]:
    """Bandwidths in bytes per second: mostly round ones, some odd, so that symmetric and lopsided graphs both occur."""
    return st.sampled_from([RATE, RATE, 2 * RATE, 12 * RATE]) | st.integers(10**9, 5 * 10**11)


def latencies_ps() -> st.SearchStrategy[int]:
    """Latencies in picoseconds, zero included."""
    return st.sampled_from([0, 350_000, 700_000, 700_000]) | st.integers(1, 3_000_000)


@st.composite
def topologies(draw: st.DrawFn, min_gpus: int = 2, max_gpus: int = 8) -> Topology:
    """Random strongly connected graphs of GPUs and up to two switches, one-way, duplex and parallel links mixed."""
    n = draw(st.integers(min_gpus, max_gpus), label="gpus")
    switches = draw(st.integers(0, 2 if n > 1 else 0), label="switches")
    nodes = (*gpus(n), *(Node(f"switch{i}", Kind.SWITCH) for i in range(switches)))
    total = len(nodes)
    circle = draw(st.permutations(range(total)), label="circle")
    pairs = [(circle[i], circle[(i + 1) % total]) for i in range(total)] if total > 1 else []
    if total > 1:
        node = st.integers(0, total - 1)
        extra = st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])
        pairs += draw(st.lists(extra, max_size=2 * total), label="more pairs")
    links: list[Link] = []
    for src, dst in pairs:
        both = duplex(src, dst, draw(rates()), draw(latencies_ps()))
        links += both[: draw(st.sampled_from([2, 2, 1]))]
    return Topology("random", nodes, tuple(links))


def symmetric_topologies() -> st.SearchStrategy[Topology]:
    """Small members of every symmetric family: rings, meshes, one switch, servers with NICs, tori."""
    return st.one_of(
        st.builds(ring, st.integers(2, 8), one_way=st.booleans()),
        st.builds(mesh, st.integers(2, 6)),
        st.builds(one_switch, st.integers(2, 8)),
        st.builds(two_servers, st.sampled_from([2, 4]), nics=st.sampled_from([1, 2]), rails=st.booleans()),
        st.builds(torus, st.sampled_from([2, 3]), st.integers(2, 4)),
    )


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[Topology] | None = None) -> Topology:
    """One link of a topology removed so that every GPU still reaches every GPU."""
    topology = draw(symmetric_topologies() | topologies(min_gpus=3) if whole is None else whole)
    for removed in draw(st.permutations(range(len(topology.links))), label="first to try"):
        candidate = without_links(topology, [removed])
        if reaches_all(candidate):
            return candidate
    assume(False)
    return topology
