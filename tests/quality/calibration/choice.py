"""Which algorithm and protocol NCCL takes at a size: its own model, ``src/graph/tuning.cc`` of NCCL 2.30.

Ring and tree on one or several servers; the factors by which it corrects trees of middle sizes are left out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tests.quality.calibration.points import Cluster

RING, TREE = "ring", "tree"
PROTOCOLS = ("LL", "LL128", "Simple")
_MULTI_SERVER_SIMPLE, _LEAST_EACH = 1.4, 64
"""What NCCL puts on the latency of an allreduce ring of several servers with so many bytes a channel and rank."""


class Generation(NamedTuple):
    """Caps of one generation of GPUs, GB/s; three values are for 1, 2 and more servers."""

    most_ll: tuple[float, float, float]
    ring_ll128: float
    tree: tuple[float, float, float]
    tree_ll128: tuple[float, float, float]


GENERATIONS = {
    "a100": Generation((87.7, 22.5, 19), 20, (24, 23.6, 17.8), (20, 20, 20)),
    "h100": Generation((141, 45, 35), 36.7, (38.7, 41.4, 36), (36.7, 36.7, 29)),
}
"""By the name of the profile."""


class Latency(NamedTuple):
    """Microseconds of a call, of a hop on NVLink and of a hop through a network."""

    base: float
    near: float
    far: float


_LATENCY = {
    (TREE, "LL"): Latency(6.8, 0.6, 5),
    (TREE, "LL128"): Latency(14, 1.25, 8.5),
    (TREE, "Simple"): Latency(8.4, 4.0, 14),
    (RING, "LL"): Latency(6.6, 0.6, 2.7),
    (RING, "LL128"): Latency(14, 1.9, 4),
    (RING, "Simple"): Latency(8.4, 3.4, 14),
}


def choice(cluster: Cluster, op: str, *, ranks: int, size_bytes: int) -> tuple[str, str]:
    """Return the algorithm and protocol that NCCL's model finds fastest; trees are for several servers."""
    kinds = (RING, TREE) if op == "allreduce" and cluster.servers > 1 else (RING,)
    ways = [(kind, protocol) for kind in kinds for protocol in PROTOCOLS]
    return min(ways, key=lambda way: model_us(cluster, op, way, ranks=ranks, size_bytes=size_bytes))


def model_us(cluster: Cluster, op: str, way: tuple[str, str], *, ranks: int, size_bytes: int) -> float:
    """Return what NCCL's model says for an algorithm and protocol, microseconds."""
    kind, protocol = way
    rounds = 2 if op == "allreduce" else 1
    if kind == TREE:
        algbw, latency_us = _tree(cluster, protocol, ranks)
    else:
        algbw, latency_us = _ring(cluster, protocol, ranks, rounds)
        is_long = size_bytes >= _LEAST_EACH * cluster.channels * ranks
        if protocol == "Simple" and rounds == 2 and cluster.servers > 1 and is_long:
            latency_us *= _MULTI_SERVER_SIMPLE
    return latency_us + size_bytes / (1000 * algbw)


def _ring(cluster: Cluster, protocol: str, ranks: int, rounds: int) -> tuple[float, float]:
    """Return the algbw in GB/s and the latency in microseconds of a ring."""
    caps, bus = GENERATIONS[cluster.profile], cluster.channels * cluster.channel_rate / 1e9
    if protocol == "LL":
        bus = min(caps.most_ll[min(cluster.servers, 3) - 1], bus / 2)
    elif protocol == "LL128":
        bus = min(bus * 0.92, cluster.channels * caps.ring_ll128)
    latency = _LATENCY[RING, protocol]
    steps, far = rounds * (ranks - 1), rounds * (cluster.servers - 1)
    overhead = (3.0 if protocol == "Simple" else 1.0) if far else 0.0
    return bus * ranks / steps, latency.base + (steps - far) * max(latency.near, overhead) + far * latency.far


def _tree(cluster: Cluster, protocol: str, ranks: int) -> tuple[float, float]:
    """Return the algbw in GB/s and the latency in microseconds of a double tree."""
    caps, which = GENERATIONS[cluster.profile], min(cluster.servers, 3) - 1
    bus = min(cluster.channels * cluster.channel_rate / 1e9 * 0.92, cluster.channels * caps.tree[which])
    if protocol == "LL":
        bus = min(bus / 3.8, caps.most_ll[which])
    elif protocol == "LL128":
        bus = min(bus * (7 / 9 if cluster.servers == 1 else 120 / 128), cluster.channels * caps.tree_ll128[which])
    latency, near = _LATENCY[TREE, protocol], ranks // cluster.servers - 1
    return bus / 2, latency.base + 2 * (near * latency.near + math.log2(cluster.servers) * latency.far)
