"""Parallel links: several links of one latency between two nodes carry what one of their summed bandwidth carries."""

from __future__ import annotations

from dataclasses import replace

from syccl.topology.model import Link, Topology


def merged(topology: Topology) -> Topology:
    """Return the topology with parallel links of equal latency as one link; itself where there are none.

    A runtime spreads the data of a connection over such links, as over the lanes of an NVLink.
    """
    rates: dict[tuple[int, int, int], int] = {}
    for link in topology.links:
        key = (link.src, link.dst, link.latency_ps)
        rates[key] = rates.get(key, 0) + link.rate
    if len(rates) == len(topology.links):
        return topology
    links = tuple(Link(src, dst, rate, latency_ps) for (src, dst, latency_ps), rate in rates.items())
    return replace(topology, links=links)
