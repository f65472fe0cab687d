"""Routes: how one GPU reaches another through NICs and switches, never through a third GPU."""

from __future__ import annotations

import heapq
from functools import lru_cache
from typing import NamedTuple

from syccl.topology.model import Topology


class Route(NamedTuple):
    """A path between two ranks; every link of it is busy while a transfer passes."""

    links: tuple[int, ...]
    rate: int
    """Bandwidth of its slowest link, bytes per second."""
    latency_ps: int
    """Sum of its links' latencies, picoseconds."""


@lru_cache(maxsize=65536)
def routes_from(topology: Topology, rank: int) -> dict[int, Route]:
    """Return the default route from one rank to every rank it reaches without passing a GPU.

    The default is what a runtime takes: the widest path, among those the one of least latency, then fewest
    links, then lowest link ids.
    """
    routes: dict[int, Route] = {}
    for rate in sorted({link.rate for link in topology.links}, reverse=True):
        for other, path in _least_latency(topology, topology.gpus[rank], rate).items():
            if other not in routes:
                latency = sum(topology.links[i].latency_ps for i in path)
                routes[other] = Route(path, rate, latency)
    return dict(sorted(routes.items()))


def default_route(topology: Topology, src: int, dst: int) -> Route | None:
    """Return the default route between two ranks, or None where only other GPUs join them."""
    return routes_from(topology, src).get(dst)


def _least_latency(topology: Topology, start: int, rate: int) -> dict[int, tuple[int, ...]]:
    """Return the least-latency path to each rank over links of at least ``rate`` bytes per second."""
    found: dict[int, tuple[int, ...]] = {}
    done: set[int] = set()
    heap: list[tuple[int, int, tuple[int, ...], int]] = [(0, 0, (), start)]
    while heap:
        latency, hops, path, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        if node != start and topology.is_gpu(node):
            found[topology.rank_of[node]] = path
            continue
        for i in topology.out_links[node]:
            link = topology.links[i]
            if link.rate >= rate and link.dst not in done:
                heapq.heappush(heap, (latency + link.latency_ps, hops + 1, (*path, i), link.dst))
    return found
