"""Whether permutations are symmetries, checked link by link, and what they make of ranks, links and ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.topology import Topology

Longs = NDArray[np.int64]


def link_images(topology: Topology, move: Longs) -> Longs | None:
    """Return where a permutation of nodes sends each link; None where it keeps not all nodes and links.

    Kinds, bandwidths and latencies must be kept. Links of equal ends and looks go in order of their ids.
    """
    nodes = range(len(topology.nodes))
    if sorted(move.tolist()) != list(nodes):
        return None
    image = move.tolist()
    if any(topology.nodes[image[i]].look != topology.nodes[i].look for i in nodes):
        return None
    places: dict[tuple[int, int, int, int], list[int]] = {}
    for i, link in enumerate(topology.links):
        places.setdefault((link.src, link.dst, link.rate, link.latency_ps), []).append(i)
    images = np.empty(len(topology.links), dtype=np.int64)
    for (src, dst, rate, latency), ids in places.items():
        target = places.get((image[src], image[dst], rate, latency), [])
        if len(target) != len(ids):
            return None
        images[ids] = target
    return images


def orbit_of(moves: Sequence[Longs], points: int) -> Longs:
    """Return for each point the least point that permutations and their inverses carry it to, shape ``(points,)``."""
    parent = list(range(points))

    def top(point: int) -> int:
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point

    for move in moves:
        for point, image in enumerate(move.tolist()):
            a, b = top(point), top(image)
            parent[max(a, b)] = min(a, b)
    return np.array([top(point) for point in range(points)], dtype=np.int64)
