"""Parallel ways that act as one: links between the same two nodes, and twin switches or NICs with the same neighbours.

A runtime and a fabric spread the data of many connections over such ways, as over the lanes of an NVLink: channels over
the NICs of a GPU, packets or flows over the spines of a Clos. Every schedule on the single links is one on the joined
ones, so a lower bound of the joined network holds for the single one too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from syccl.topology.model import Kind, Link, Topology

Ends = tuple[int, int, int]
"""Source, destination, latency."""


@dataclass(frozen=True)
class Joined:
    """A topology whose parallel ways are one each, and the names of the nodes that were twins, class by class."""

    topology: Topology
    twins: tuple[tuple[str, ...], ...]


def merged(topology: Topology) -> Topology:
    """Return the topology with every set of parallel ways as one of their summed bandwidth; itself where none is."""
    return joined_ways(topology).topology


def joined_ways(topology: Topology) -> Joined:
    """Return the topology with every set of parallel ways as one, and which nodes now have the first one's name."""
    rates = _rates(topology.links)
    classes: dict[int, list[int]] = {i: [i] for i in range(len(topology.nodes))}
    while True:
        groups = _twins(topology, rates)
        if not groups:
            break
        into = {other: group[0] for group in groups for other in group}
        for group in groups:
            for other in group[1:]:
                classes[group[0]] += classes.pop(other)
        rates = _rates(
            Link(into.get(src, src), into.get(dst, dst), rate, latency) for (src, dst, latency), rate in rates.items()
        )
    if len(classes) == len(topology.nodes) and len(rates) == len(topology.links):
        return Joined(topology, ())
    at = {old: new for new, old in enumerate(classes)}
    links = tuple(Link(at[src], at[dst], rate, latency) for (src, dst, latency), rate in rates.items())
    nodes = tuple(topology.nodes[old] for old in classes)
    twins = tuple(tuple(topology.nodes[i].name for i in sorted(group)) for group in classes.values() if len(group) > 1)
    return Joined(Topology(topology.name, nodes, links, topology.profile), twins)


def _rates(links: Iterable[Link]) -> dict[Ends, int]:
    """Return the summed bandwidth of all links of one latency between two nodes, in order of appearance."""
    rates: dict[Ends, int] = {}
    for link in links:
        key = (link.src, link.dst, link.latency_ps)
        rates[key] = rates.get(key, 0) + link.rate
    return rates


def _twins(topology: Topology, rates: dict[Ends, int]) -> list[list[int]]:
    """Return classes of NICs or switches that the same links join to the same nodes, of more than one member."""
    around: dict[int, list[tuple[bool, int, int, int]]] = defaultdict(list)
    for (src, dst, latency), rate in rates.items():
        around[src].append((True, dst, rate, latency))
        around[dst].append((False, src, rate, latency))
    alike: dict[object, list[int]] = defaultdict(list)
    for node, ends in around.items():
        if topology.nodes[node].kind is not Kind.GPU:
            alike[topology.nodes[node].look, topology.nodes[node].server, tuple(sorted(ends))].append(node)
    return [sorted(group) for group in alike.values() if len(group) > 1]
