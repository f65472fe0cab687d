"""What no choice of paths can beat: bytes that must pass some links, over the bandwidth of these."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from syccl.topology import Topology
from syccl.traffic.c4p.connections import Ways, inner_links

_ROUNDED = 1e-12


@dataclass(frozen=True)
class Cut:
    """Links of which every connection of a set must take one, and how busy the busiest must be at least.

    Parameters
    ----------
    connections
        Positions of the connections.
    whole_s
        Seconds of the busiest link where every connection takes one path.
    split_s
        The same where connections may be split at will.
    """

    links: tuple[int, ...]
    connections: tuple[int, ...]
    whole_s: float
    split_s: float


def cuts(topology: Topology, sizes: Sequence[float], ways: Sequence[Ways]) -> list[Cut]:
    """Return for every set of links that some connections choose among how busy the busiest must be.

    Another such set is all links between switches: a connection takes one of them for every hop between switches.
    """
    hops: dict[frozenset[int], dict[int, int]] = {}
    for item, way in enumerate(ways):
        for layer in way.layers:
            of = hops.setdefault(layer, {})
            of[item] = of.get(item, 0) + 1
    touching: dict[int, list[frozenset[int]]] = {}
    for layer in hops:
        for link in layer:
            touching.setdefault(link, []).append(layer)
    return sorted(
        (_cut(topology, sizes, links, _times(links, touching, hops)) for links in {*hops, _inner(topology, touching)}),
        key=lambda cut: cut.links,
    )


def _inner(topology: Topology, used: Iterable[int]) -> frozenset[int]:
    """Return the links between switches; all links where there is none."""
    return inner_links(topology).intersection(used) or frozenset(used)


def _times(
    links: frozenset[int], touching: dict[int, list[frozenset[int]]], hops: dict[frozenset[int], dict[int, int]]
) -> dict[int, int]:
    """Return how many of some links each connection takes at least."""
    times: dict[int, int] = {}
    for layer in {layer for link in links for layer in touching[link] if layer <= links}:
        for item, count in hops[layer].items():
            times[item] = times.get(item, 0) + count
    return times


def _cut(topology: Topology, sizes: Sequence[float], links: frozenset[int], times: dict[int, int]) -> Cut:
    rates = [topology.links[link].rate for link in sorted(links)]
    mine = sorted((sizes[item] for item, count in times.items() for _ in range(count)), reverse=True)
    whole_s = max(sum(mine) / sum(rates), _whole_s(mine, rates))
    return Cut(tuple(sorted(links)), tuple(sorted(times)), whole_s, sum(mine) / sum(rates))


def least_load(found: Sequence[Cut], *, split: bool = False) -> Cut:
    """Return the cut by which the busiest link must be busiest."""
    return max(found, key=lambda cut: (cut.split_s if split else cut.whole_s, -cut.links[0]))


def _whole_s(ranked: Sequence[float], rates: Sequence[int]) -> float:
    """Return the least time in which links can carry connections, largest first, each on one: a lower bound.

    For every size, connections at least so large are taken as of that size; equal ones go one after the other to the
    link that is then done first, which is optimal.
    """
    counts = {size: at + 1 for at, size in enumerate(ranked)}
    return max(size * _units_s(count, rates) for size, count in counts.items())


def _units_s(count: int, rates: Sequence[int]) -> float:
    """Return when the last of equal connections of 1 byte is done."""
    total = sum(rates)
    placed = [int(count * rate / total * (1 - _ROUNDED)) for rate in rates]
    heap = [((done + 1) / rate, at) for at, (done, rate) in enumerate(zip(placed, rates, strict=True))]
    heapq.heapify(heap)
    for _ in range(count - sum(placed)):
        _, at = heap[0]
        placed[at] += 1
        heapq.heapreplace(heap, ((placed[at] + 1) / rates[at], at))
    return max(done / rate for done, rate in zip(placed, rates, strict=True))
