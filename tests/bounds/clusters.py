"""Clusters of servers with the alphas that the tables of small sizes were measured with."""

from __future__ import annotations

import numpy as np

from syccl.symmetry.group import Group
from syccl.topology import Kind, Link, Node, Topology

GB = 10**9
Parts = tuple[tuple[int, ...], ...]


def cluster(
    servers: int, gpus: int, nics: int, *, nvlink: int, nic: int, alphas_us: tuple[float, float, float]
) -> Topology:
    """Servers with an NVSwitch; NIC k of every server on rail k, all rails on one spine.

    ``alphas_us``: from GPU to GPU by NVSwitch, over one rail, over the spine; the last two equal makes it one leaf.
    """
    inside, network, spine = (round(alpha * 10**6) for alpha in alphas_us)
    n, nvswitches = servers * gpus, servers
    rail0 = n + nvswitches + servers * nics
    nodes = [Node(f"s{s}.gpu{g}", Kind.GPU, f"s{s}") for s in range(servers) for g in range(gpus)]
    nodes += [Node(f"s{s}.nvswitch", Kind.SWITCH, f"s{s}") for s in range(servers)]
    nodes += [Node(f"s{s}.nic{k}", Kind.NIC, f"s{s}") for s in range(servers) for k in range(nics)]
    nodes += [Node(f"rail{k}", Kind.SWITCH) for k in range(nics)] + [Node("spine", Kind.SWITCH)]
    links: list[Link] = []

    def cable(a: int, b: int, rate: int, latency_ps: int) -> None:
        links.extend([Link(a, b, rate * GB, latency_ps), Link(b, a, rate * GB, latency_ps)])

    for s in range(servers):
        for g in range(gpus):
            cable(s * gpus + g, n + s, nvlink, inside // 2)
            cable(s * gpus + g, n + servers + s * nics + g * nics // gpus, nic, network // 4)
        for k in range(nics):
            cable(n + servers + s * nics + k, rail0 + k, nic, network // 4)
    for k in range(nics):
        cable(rail0 + k, rail0 + nics, nic * servers, (spine - network) // 2)
    return Topology(f"cluster{servers}x{gpus}", tuple(nodes), tuple(links))


def a100(servers: int = 4, gpus: int = 8, nics: int = 4) -> Topology:
    """NVSwitch 300 GB/s, NICs of 25 GB/s shared by neighbours, any to any: 0.7 and 5 us."""
    return cluster(servers, gpus, nics, nvlink=300, nic=25, alphas_us=(0.7, 5, 5))


def h800(servers: int = 8, gpus: int = 8) -> Topology:
    """NVSwitch 200 GB/s, a NIC of 50 GB/s for each GPU, rails: 1, 5 and across rails 6 us."""
    return cluster(servers, gpus, gpus, nvlink=200, nic=50, alphas_us=(1, 5, 6))


def islands_of(servers: int, gpus: int) -> Parts:
    return tuple(tuple(range(s * gpus, (s + 1) * gpus)) for s in range(servers))


def rotations(topology: Topology, servers: int, gpus: int, nics: int) -> Group:
    """Rotations of servers and of NICs with their GPUs."""
    n, step = servers * gpus, gpus // nics

    def moved(by_server: int, by_nic: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        image = np.arange(len(topology.nodes), dtype=np.int32)
        for s in range(servers):
            t = (s + by_server) % servers
            image[n + s] = n + t
            for g in range(gpus):
                image[s * gpus + g] = t * gpus + (g + by_nic * step) % gpus
            for k in range(nics):
                image[n + servers + s * nics + k] = n + servers + t * nics + (k + by_nic) % nics
                image[n + servers + servers * nics + k] = n + servers + servers * nics + (k + by_nic) % nics
        return image

    return Group.generated(topology, (moved(1, 0), moved(0, 1)))
