"""Clusters with little symmetry or none: damaged, uneven, mixed and odd ones.

Rates are GB/s, latencies those of the bundled a100x32: 0.7 us from GPU to GPU over an NVSwitch, 1.7 us over one leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from syccl.topology import Kind, Link, Node, Topology
from syccl.topology.catalog import load_topology

_NVLINK_PS, _NIC_PS, _LEAF_PS = 350_000, 500_000, 350_000


@dataclass(frozen=True)
class Server:
    """GPUs on an NVSwitch; ``nic_of`` says which NIC each GPU uses."""

    nic_of: tuple[int, ...]
    nic_rate: float = 25
    nvlink_rate: float = 300


def _cable(a: int, b: int, rate: float, latency_ps: int) -> list[Link]:
    return [Link(a, b, round(rate * 1e9), latency_ps), Link(b, a, round(rate * 1e9), latency_ps)]


def _on_one_leaf(name: str, servers: Sequence[Server]) -> Topology:
    """Servers whose NICs all hang on one non-blocking leaf."""
    nodes: list[Node] = [Node("leaf", Kind.SWITCH)]
    links: list[Link] = []
    for s, server in enumerate(servers):
        gpu0, label = len(nodes), f"s{s}"
        switch = gpu0 + len(server.nic_of)
        nodes += [Node(f"{label}.gpu{g}", Kind.GPU, label) for g in range(len(server.nic_of))]
        nodes.append(Node(f"{label}.nvswitch", Kind.SWITCH, label))
        nodes += [Node(f"{label}.nic{k}", Kind.NIC, label) for k in range(max(server.nic_of) + 1)]
        for g, nic in enumerate(server.nic_of):
            links += _cable(gpu0 + g, switch, server.nvlink_rate, _NVLINK_PS)
            links += _cable(gpu0 + g, switch + 1 + nic, server.nic_rate, _NIC_PS)
        for k in range(max(server.nic_of) + 1):
            links += _cable(switch + 1 + k, 0, server.nic_rate, _LEAF_PS)
    return Topology(name, tuple(nodes), tuple(links))


def _shared(gpus: int, nic_rate: float = 25) -> Server:
    """A server of which every two GPUs share a NIC."""
    return Server(tuple(g // 2 for g in range(gpus)), nic_rate)


def _without(name: str, topology: Topology, gone: Iterable[str]) -> Topology:
    """The topology minus some nodes and their links."""
    dropped = set(gone)
    kept = [i for i, node in enumerate(topology.nodes) if node.name not in dropped]
    place = {old: new for new, old in enumerate(kept)}
    links = [
        link._replace(src=place[link.src], dst=place[link.dst])
        for link in topology.links
        if link.src in place and link.dst in place
    ]
    return Topology(name, tuple(topology.nodes[i] for i in kept), tuple(links))


def _changed(name: str, topology: Topology, ends: tuple[str, str], factor: float) -> Topology:
    """The topology with the rate of one cable changed; 0 cuts it."""
    links = []
    for link in topology.links:
        names = {topology.nodes[link.src].name, topology.nodes[link.dst].name}
        rate = round(link.rate * factor) if names == set(ends) else link.rate
        links += [link._replace(rate=rate)] if rate else []
    return Topology(name, topology.nodes, tuple(links))


def _graph(name: str, gpus: int, cables: Iterable[tuple[int, int, float]]) -> Topology:
    """GPUs joined by cables (a, b, GB/s) of 0.7 us."""
    nodes = tuple(Node(f"gpu{i}", Kind.GPU) for i in range(gpus))
    return Topology(name, nodes, tuple(link for a, b, rate in cables for link in _cable(a, b, rate, 700_000)))


def _dgx1_part() -> Topology:
    """GPUs 0, 1, 2, 3 and 7 of a DGX-1 V100."""
    return _without("dgx1-5", load_topology("dgx1-v100"), ["gpu4", "gpu5", "gpu6"])


def _cube_mesh_5() -> Topology:
    """Five of eight cube-mesh GPUs, every link 20 GB/s: 3-7 is the only way to the last."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]
    return _graph("cubemesh-5", 5, [(a, b, 20) for a, b in pairs])


def _nvlink_pair() -> Topology:
    """Three GPUs with 20 GB/s each into a PCIe switch, two of them joined by 50 GB/s."""
    nodes = (*(Node(f"gpu{i}", Kind.GPU) for i in range(3)), Node("pcie", Kind.SWITCH))
    links = [link for g in range(3) for link in _cable(g, 3, 20, 350_000)] + _cable(0, 1, 50, 700_000)
    return Topology("nvlink-pair", nodes, tuple(links))


def _odd(gpus: int) -> Topology:
    """Servers of at most four GPUs, two to a NIC."""
    sizes = [4] * (gpus // 4) + [gpus % 4] * (gpus % 4 > 0)
    return _on_one_leaf(f"odd-{gpus}", [_shared(size) for size in sizes])


CLUSTERS: dict[str, Callable[[], Topology]] = {
    "a100-nic": lambda: _without("a100-nic", load_topology("a100x32"), ["server0.nic0"]),
    "a100-gpu": lambda: _without("a100-gpu", load_topology("a100x32"), ["server0.gpu0"]),
    "a100-nvlink": lambda: _changed("a100-nvlink", load_topology("a100x32"), ("server0.gpu0", "server0.nvswitch"), 0),
    "a100-half": lambda: _changed("a100-half", load_topology("a100x32"), ("server0.nic0", "leaf0"), 0.5),
    "h800-nic": lambda: _without("h800-nic", load_topology("h800x64"), ["server0.nic0"]),
    "7+8": lambda: _on_one_leaf("7+8", [_shared(7), _shared(8)]),
    "8+8+4": lambda: _on_one_leaf("8+8+4", [_shared(8), _shared(8), _shared(4)]),
    "8+8+4b": lambda: _on_one_leaf("8+8+4b", [_shared(8), _shared(8), Server((0, 1, 2, 3))]),
    "nic25+50": lambda: _on_one_leaf("nic25+50", [_shared(8), _shared(8, nic_rate=50)]),
    "mixed": lambda: _on_one_leaf("mixed", [_shared(8), Server(tuple(range(8)), nic_rate=50, nvlink_rate=200)]),
    "dgx1-5": _dgx1_part,
    "cubemesh-5": _cube_mesh_5,
    "nvlink-pair": _nvlink_pair,
    **{f"odd-{n}": lambda n=n: _odd(n) for n in (3, 5, 6, 7, 10, 12)},
}
