"""Routes: how one GPU reaches another through NICs and switches, never through a third GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.topology.model import Topology
from syccl.units import LARGEST_RATE

_STRIDE = 0.6180339887498949
"""Fractional part of the golden ratio: its multiples are spread evenly over 0 to 1."""


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

    The default is what a runtime takes: the fewest links (a direct link before a switch, a switch before the network),
    among those the widest, then the one of least latency. Of several such routes what enters a switch by its i-th port
    takes the i-th (a GPU of rank i its i-th), counted around, so that they share the load.
    """
    start = topology.gpus[rank]
    found: dict[int, Route] = {}
    reached = {start}
    level: dict[int, Route] = {start: Route((), 0, 0)}
    while level:
        following: dict[int, list[Route]] = {}
        for node, route in level.items():
            for i in topology.out_links[node]:
                link = topology.links[i]
                if link.dst not in reached:
                    rate = min(route.rate or link.rate, link.rate)
                    further = Route((*route.links, i), rate, route.latency_ps + link.latency_ps)
                    following.setdefault(link.dst, []).append(further)
        best = {node: _chosen(topology, routes, rank) for node, routes in following.items()}
        reached.update(best)
        found.update({topology.rank_of[node]: route for node, route in best.items() if topology.is_gpu(node)})
        level = {node: route for node, route in best.items() if not topology.is_gpu(node)}
    return dict(sorted(found.items()))


def last_links(topology: Topology, ranks: Sequence[int]) -> NDArray[np.int32]:
    """Return the last link of the default route from some ranks to every node, -1 where no route is.

    Routes are those of `routes_from`, found for all ranks at once; shape ``(len(ranks), nodes)``.
    """
    src, dst, link_rate, link_latency = np.array(topology.links, dtype=np.int64).reshape(-1, 4).T
    starts, rows = np.array(topology.gpus)[list(ranks)], np.arange(len(ranks))
    passable = np.array([not topology.is_gpu(node) for node in range(len(topology.nodes))])
    last = np.full((len(rows), len(passable)), -1, dtype=np.int32)
    rate, latency = np.full(last.shape, LARGEST_RATE, dtype=np.int64), np.zeros(last.shape, dtype=np.int64)
    reached = np.zeros(last.shape, dtype=np.bool_)
    reached[rows, starts] = True
    active = reached
    while active.any():
        row, link = np.nonzero(active[:, src] & ~reached[:, dst])
        width = np.minimum(rate[row, src[link]], link_rate[link])
        delay = latency[row, src[link]] + link_latency[link]
        order = np.lexsort((link, delay, -width, dst[link], row))
        row, link, width, delay = row[order], link[order], width[order], delay[order]
        node = dst[link]
        opens = np.append(True, (np.diff(row) != 0) | (np.diff(node) != 0))[: len(row)]
        first, group = np.flatnonzero(opens), np.cumsum(opens) - 1
        tied = (width == width[first][group]) & (delay == delay[first][group])
        chosen = link[first]
        for i in np.flatnonzero(np.bincount(group[tied], minlength=len(first)) > 1).tolist():
            ways = [_walked(topology, last[row[first[i]]], int(end)) for end in link[(group == i) & tied]]
            chosen[i] = _chosen(topology, ways, ranks[int(row[first[i]])]).links[-1]
        row, node = row[first], node[first]
        last[row, node], rate[row, node], latency[row, node] = chosen, width[first], delay[first]
        active = np.zeros_like(reached)
        active[row, node] = passable[node]
        reached[row, node] = True
    return last


def _walked(topology: Topology, last: NDArray[np.int32], end: int) -> Route:
    """Return the links up to a given one as a route among equals, of which neither rate nor latency counts."""
    links = [end]
    while (before := int(last[topology.links[links[-1]].src])) >= 0:
        links.append(before)
    return Route(tuple(reversed(links)), 0, 0)


def default_route(topology: Topology, src: int, dst: int) -> Route | None:
    """Return the default route between two ranks, or None where only other GPUs join them."""
    return routes_from(topology, src).get(dst)


def path_set(topology: Topology, src: int, dst: int, *, most: int = 4096) -> tuple[Route, ...]:
    """Return all routes between two ranks that are as good as the default: as short, as wide, of as little latency.

    A schedule may pin any of them. At most ``most`` are returned, those of the lowest link ids; none where only other
    GPUs join the two.
    """
    end, start = topology.gpus[dst], topology.gpus[src]
    left = _links_to(topology, end)
    if src == dst or start not in left:
        return ()
    best = _best_of(topology, start, end)
    found: list[Route] = []
    stack = [(start, Route((), 0, 0))]
    while stack and len(found) < most:
        node, route = stack.pop()
        if node == end:
            if (route.rate, route.latency_ps) == best:
                found.append(route)
            continue
        for i in reversed(topology.out_links[node]):
            link = topology.links[i]
            passable = link.dst == end or not topology.is_gpu(link.dst)
            if passable and left.get(link.dst) == left[node] - 1:
                rate = min(route.rate or link.rate, link.rate)
                stack.append((link.dst, Route((*route.links, i), rate, route.latency_ps + link.latency_ps)))
    return tuple(found)


def route_layers(topology: Topology, src: int, dst: int) -> tuple[tuple[int, ...], ...]:
    """Return for each hop the links of all shortest routes between two ranks; nothing where only GPUs join them."""
    end, node = topology.gpus[dst], topology.gpus[src]
    left = _links_to(topology, end)
    if src == dst or node not in left:
        return ()
    layers: list[tuple[int, ...]] = []
    nodes = [node]
    for remaining in range(left[node] - 1, -1, -1):
        ends = ((i, topology.links[i].dst) for start in nodes for i in topology.out_links[start])
        layer = [i for i, to in ends if left.get(to) == remaining and (to == end or not topology.is_gpu(to))]
        layers.append(tuple(sorted(layer)))
        nodes = sorted({topology.links[i].dst for i in layer})
    return tuple(layers)


def route_of(topology: Topology, links: Sequence[int]) -> Route:
    """Return links that follow one another as a route."""
    rates = [topology.links[i].rate for i in links]
    return Route(tuple(links), min(rates), sum(topology.links[i].latency_ps for i in links))


def nth_route(topology: Topology, layers: Sequence[Sequence[int]], at: int) -> Route:
    """Return one of very many shortest routes: up over the ``at``-th link, then over any; down as it went up.

    Successive numbers use the links of each hop about evenly.

    Parameters
    ----------
    layers
        What `route_layers` returned for the two ends.
    """
    node, n = topology.links[layers[0][0]].src, len(layers)
    links: list[int] = []
    picked: list[int] = []
    branched = False
    for hop, layer in enumerate(layers):
        onward = [i for i in layer if topology.links[i].src == node]
        if 2 * (hop + 1) > n:
            pick = picked[n - hop - 2] if hop < n - 1 else 0
        else:
            pick = int(at * _STRIDE % 1.0 * len(onward)) if branched else at
            branched = branched or len(onward) > 1
        picked.append(pick % len(onward))
        links.append(onward[picked[-1]])
        node = topology.links[links[-1]].dst
    return route_of(topology, links)


def _best_of(topology: Topology, start: int, end: int) -> tuple[int, int]:
    """Return bandwidth and latency of the widest of the shortest routes between two nodes, of those the quickest."""
    left = _links_to(topology, end)
    level = {start: (LARGEST_RATE, 0)}
    for _ in range(left[start]):
        following: dict[int, tuple[int, int]] = {}
        for node, (rate, less_latency) in level.items():
            for i in topology.out_links[node]:
                link = topology.links[i]
                if left.get(link.dst) == left[node] - 1 and (link.dst == end or not topology.is_gpu(link.dst)):
                    reached = min(rate, link.rate), less_latency - link.latency_ps
                    following[link.dst] = max(following.get(link.dst, reached), reached)
        level = following
    rate, less_latency = level[end]
    return rate, -less_latency


@lru_cache(maxsize=16)
def _links_to(topology: Topology, end: int) -> dict[int, int]:
    """Return over how few links each node reaches one without passing a GPU."""
    left = {end: 0}
    level = [end]
    while level:
        following = []
        for node in level:
            for i in topology.in_links[node]:
                before = topology.links[i].src
                if before not in left:
                    left[before] = left[node] + 1
                    if not topology.is_gpu(before):
                        following.append(before)
        level = following
    return left


def _chosen(topology: Topology, routes: list[Route], rank: int) -> Route:
    """Return the route to take among some of equally many links from one rank to one node."""
    if len(routes) == 1:
        return routes[0]
    least = min((-route.rate, route.latency_ps) for route in routes)
    tied = sorted(route for route in routes if (-route.rate, route.latency_ps) == least)
    common = sum(1 for _ in takewhile(lambda links: len(set(links)) == 1, zip(*(r.links for r in tied), strict=True)))
    if common == 0:
        return tied[rank % len(tied)]
    last = tied[0].links[common - 1]
    port = topology.in_links[topology.links[last].dst].index(last)
    return tied[port % len(tied)]
