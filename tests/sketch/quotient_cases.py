"""Small clusters and their symmetries, written out, for the tests of the linear-programming side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from syccl.symmetry.group import Group
from syccl.topology import Kind, Link, Node, Topology

GB = 10**9


class Builder:
    """Collects nodes and duplex links by name."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.ids: dict[str, int] = {}
        self.links: list[Link] = []

    def node(self, name: str, kind: Kind) -> None:
        self.ids[name] = len(self.nodes)
        self.nodes.append(Node(name, kind))

    def duplex(self, a: str, b: str, rate: float, latency_us: float = 0.5) -> None:
        for src, dst in ((a, b), (b, a)):
            self.links.append(Link(self.ids[src], self.ids[dst], int(rate * GB), int(latency_us * 10**6)))

    def topology(self, name: str) -> Topology:
        return Topology(name, tuple(self.nodes), tuple(self.links))


def gpu_mesh(ranks: int, cables: list[tuple[int, int, float]]) -> Topology:
    """GPUs joined by cables ``(a, b, GB/s)``."""
    b = Builder()
    for i in range(ranks):
        b.node(f"g{i}", Kind.GPU)
    for x, y, rate in cables:
        b.duplex(f"g{x}", f"g{y}", rate)
    return b.topology("mesh")


def two_spines() -> Topology:
    """Four GPUs on two leaves that two equal spines of 25 GB/s join; ports of a leaf take turns among them."""
    b = Builder()
    for i in range(4):
        b.node(f"g{i}", Kind.GPU)
    for name in ("leaf0", "leaf1", "spine0", "spine1"):
        b.node(name, Kind.SWITCH)
    for i in range(4):
        b.duplex(f"g{i}", f"leaf{i // 2}", 100)
    for leaf in ("leaf0", "leaf1"):
        for spine in ("spine0", "spine1"):
            b.duplex(leaf, spine, 25)
    return b.topology("spines")


def clos(servers: int = 4, *, dead: str = "") -> Topology:
    """Servers of 8 GPUs (NVLink 300) with 4 NICs of 25, each shared by two GPUs; leaves of two servers, one spine."""
    b = Builder()
    for s in range(servers):
        for g in range(8):
            b.node(f"g{s}.{g}", Kind.GPU)
    for s in range(servers):
        b.node(f"nv{s}", Kind.SWITCH)
        for i in range(4):
            b.node(f"nic{s}.{i}", Kind.NIC)
    for leaf in range((servers + 1) // 2):
        b.node(f"leaf{leaf}", Kind.SWITCH)
    b.node("spine", Kind.SWITCH)
    for s in range(servers):
        for g in range(8):
            b.duplex(f"g{s}.{g}", f"nv{s}", 300, 0.35)
            b.duplex(f"g{s}.{g}", f"nic{s}.{g // 2}", 50, 0.2)
        for i in range(4):
            if f"nic{s}.{i}" != dead:
                b.duplex(f"nic{s}.{i}", f"leaf{s // 2}", 25, 0.65)
    for leaf in range((servers + 1) // 2):
        b.duplex(f"leaf{leaf}", "spine", 200, 0.35)
    return b.topology("clos")


def clos_group(topology: Topology) -> Group:
    """Order 32 on four servers: swap leaves, swap servers of a leaf, turn the NICs, swap the GPUs of a NIC."""
    ids = {node.name: i for i, node in enumerate(topology.nodes)}

    def moved(leaf: int, server: int, nic: int, mate: int) -> np.ndarray:
        image = np.arange(len(ids), dtype=np.int32)
        for name, i in ids.items():
            image[i] = ids[turn_clos(name, leaf, server, nic, mate)]
        return image

    moves = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    return Group.generated(topology, tuple(moved(*move) for move in moves))


def turn_clos(name: str, leaf: int, server: int, nic: int, mate: int) -> str:
    if name == "spine":
        return name
    if name.startswith("leaf"):
        return f"leaf{int(name[4:]) ^ leaf}"
    head = name.rstrip("0123456789.")
    parts = [int(part) for part in name[len(head) :].split(".")]
    s = parts[0] ^ (2 * leaf) ^ server
    if head == "nv":
        return f"nv{s}"
    if head == "nic":
        return f"nic{s}.{(parts[1] + nic) % 4}"
    pair, side = divmod(parts[1], 2)
    return f"g{s}.{(pair + nic) % 4 * 2 + (side ^ mate)}"


def rails(servers: int, nvlink: float = 200, nic: float = 50, per_server: int = 8) -> Topology:
    """Servers with an NVSwitch and one NIC per GPU, one switch per rail."""
    b = Builder()
    for s in range(servers):
        for g in range(per_server):
            b.node(f"g{s}.{g}", Kind.GPU)
    for s in range(servers):
        b.node(f"nv{s}", Kind.SWITCH)
        for g in range(per_server):
            b.node(f"nic{s}.{g}", Kind.NIC)
    for g in range(per_server):
        b.node(f"rail{g}", Kind.SWITCH)
    for s in range(servers):
        for g in range(per_server):
            b.duplex(f"g{s}.{g}", f"nv{s}", nvlink, 0.35)
            b.duplex(f"g{s}.{g}", f"nic{s}.{g}", nic, 0.2)
            b.duplex(f"nic{s}.{g}", f"rail{g}", nic, 0.65)
    return b.topology("rails")


def rails_group(topology: Topology, servers: int, per_server: int = 8) -> Group:
    """Turn the servers, turn the rails."""
    ids = {node.name: i for i, node in enumerate(topology.nodes)}

    def turned(name: str, ds: int, dg: int) -> str:
        head = name.rstrip("0123456789.")
        parts = [int(part) for part in name[len(head) :].split(".")]
        if head == "rail":
            return f"rail{(parts[0] + dg) % per_server}"
        if head == "nv":
            return f"nv{(parts[0] + ds) % servers}"
        return f"{head}{(parts[0] + ds) % servers}.{(parts[1] + dg) % per_server}"

    def moved(ds: int, dg: int) -> np.ndarray:
        return np.array([ids[turned(node.name, ds, dg)] for node in topology.nodes], dtype=np.int32)

    return Group.generated(topology, (moved(1, 0), moved(0, 1)))


CUBE_MESH = [(0, 1, 25), (0, 2, 25), (0, 3, 50), (0, 4, 50), (1, 2, 50), (1, 3, 25), (1, 5, 50), (2, 3, 50), (2, 6, 25),
             (3, 7, 25), (4, 5, 25), (4, 6, 25), (4, 7, 50), (5, 6, 50), (5, 7, 25), (6, 7, 50)]  # fmt: skip


def cube_mesh() -> Topology:
    """The hybrid cube mesh of DGX-1."""
    return gpu_mesh(8, CUBE_MESH)


def bench(path: Path) -> Topology:
    """Read an edge list as it lies in the shared data."""
    data = json.loads(path.read_text())
    names = [*data["gpus"], *data["switches"]]
    ids = {name: i for i, name in enumerate(names)}
    nodes = [Node(str(n), Kind.GPU if i < len(data["gpus"]) else Kind.SWITCH) for i, n in enumerate(names)]
    links = [Link(ids[a], ids[b], round(rate * GB), round(us * 10**6)) for a, b, rate, us in data["links"]]
    return Topology(path.stem, tuple(nodes), tuple(links))
