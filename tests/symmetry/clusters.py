"""Clusters and graphs whose largest free symmetry is known, beside those of ``tests.strategies``."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from syccl.topology import Kind, Link, Node, Topology
from tests.strategies import cables, gpus

GB = 1_000_000_000


def servers(sizes: Sequence[int], leaf_of: Sequence[int], *, per_nic: int = 2, spines: int = 1) -> Topology:
    """Servers of GPUs on an NVSwitch, a NIC for every ``per_nic`` GPUs, server s under leaf ``leaf_of[s]``."""
    nodes: list[Node] = []
    links: list[Link] = []
    ports: list[tuple[int, int]] = []
    for s, size in enumerate(sizes):
        base = len(nodes)
        nics = -(-size // per_nic)
        nodes += [Node(f"s{s}g{g}", Kind.GPU, f"s{s}") for g in range(size)]
        nodes.append(Node(f"s{s}nv", Kind.SWITCH, f"s{s}"))
        nodes += [Node(f"s{s}n{k}", Kind.NIC, f"s{s}") for k in range(nics)]
        links += cables([(base + g, base + size) for g in range(size)], 300 * GB)
        links += cables([(base + g, base + size + 1 + g // per_nic) for g in range(size)], 32 * GB)
        ports += [(base + size + 1 + k, leaf_of[s]) for k in range(nics)]
    leaf0 = len(nodes)
    leaves = max(leaf_of) + 1
    nodes += [Node(f"leaf{k}", Kind.SWITCH) for k in range(leaves)]
    nodes += [Node(f"spine{k}", Kind.SWITCH) for k in range(spines if leaves > 1 else 0)]
    links += cables([(nic, leaf0 + leaf) for nic, leaf in ports], 25 * GB)
    links += cables(list(itertools.product(range(leaf0, leaf0 + leaves), range(leaf0 + leaves, len(nodes)))), 400 * GB)
    return Topology("servers", tuple(nodes), tuple(links))


def a100x32() -> Topology:
    """Four servers of 8 GPUs, a NIC for every two, two leaves of two servers."""
    return servers([8] * 4, [0, 0, 1, 1])


def rail(count: int, size: int = 8, spines: int = 4) -> Topology:
    """``count`` servers of ``size`` GPUs, a NIC per GPU, the g-th NICs of all servers under leaf g."""
    nodes: list[Node] = []
    links: list[Link] = []
    ports: list[tuple[int, int]] = []
    for s in range(count):
        base = len(nodes)
        nodes += [Node(f"s{s}g{g}", Kind.GPU, f"s{s}") for g in range(size)]
        nodes.append(Node(f"s{s}nv", Kind.SWITCH, f"s{s}"))
        nodes += [Node(f"s{s}n{g}", Kind.NIC, f"s{s}") for g in range(size)]
        links += cables([(base + g, base + size) for g in range(size)], 200 * GB)
        links += cables([(base + g, base + size + 1 + g) for g in range(size)], 64 * GB)
        ports += [(base + size + 1 + g, g) for g in range(size)]
    leaf0 = len(nodes)
    nodes += [Node(f"rail{g}", Kind.SWITCH) for g in range(size)]
    nodes += [Node(f"spine{k}", Kind.SWITCH) for k in range(spines)]
    links += cables([(nic, leaf0 + g) for nic, g in ports], 50 * GB)
    links += cables(list(itertools.product(range(leaf0, leaf0 + size), range(leaf0 + size, len(nodes)))), 400 * GB)
    return Topology("rail", tuple(nodes), tuple(links))


def grid(*shape: int, wrap: bool = False) -> Topology:
    """A mesh of GPUs, or a torus; a wrapped dimension of two has one cable."""
    points = list(itertools.product(*map(range, shape)))
    index = {point: i for i, point in enumerate(points)}
    pairs = []
    for point in points:
        for axis, length in enumerate(shape):
            if point[axis] + 1 < length or (wrap and length > 2):
                other = (*point[:axis], (point[axis] + 1) % length, *point[axis + 1 :])
                pairs.append((index[point], index[other]))
    return Topology("torus" if wrap else "mesh", gpus(len(points)), cables(pairs))


def hypercube(dimensions: int) -> Topology:
    """2 ** ``dimensions`` GPUs, cables between those that differ in one bit."""
    return grid(*[2] * dimensions)


def dgx1() -> Topology:
    """DGX-1 with V100: a hybrid cube mesh of single and double NVLinks."""
    double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
    single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    return Topology("dgx1", gpus(8), cables(double, 50 * GB) + cables(single, 25 * GB))


def circulant(n: int, steps: Sequence[int]) -> Topology:
    """GPU i joined to i + s for every step s, both ways."""
    pairs = sorted({(min(i, j), max(i, j)) for i in range(n) for s in steps for j in [(i + s) % n]})
    return Topology("circulant", gpus(n), cables(pairs))


def random_graph(n: int, seed: int, *, degree: int = 3) -> Topology:
    """Random duplex cables of a few bandwidths between GPUs, connected by a random tree."""
    rng = random.Random(seed)
    pairs = [(rng.randrange(i), i) for i in range(1, n)]
    pairs += [tuple(sorted(rng.sample(range(n), 2))) for _ in range(n * (degree - 1) // 2)]  # type: ignore[misc]
    links = [link for pair in dict.fromkeys(pairs) for link in cables([pair], rng.choice([25, 50, 100]) * GB)]
    return Topology("random", gpus(n), tuple(links))


def without(topology: Topology, node: str) -> Topology:
    """The topology minus one node and its links."""
    gone = next(i for i, other in enumerate(topology.nodes) if other.name == node)
    kept = [i for i in range(len(topology.nodes)) if i != gone]
    new_id = {old: new for new, old in enumerate(kept)}
    links = [link for link in topology.links if gone not in (link.src, link.dst)]
    moved = tuple(link._replace(src=new_id[link.src], dst=new_id[link.dst]) for link in links)
    return Topology("damaged", tuple(topology.nodes[i] for i in kept), moved)
