"""How two topologies differ, by the names of their nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from syccl.topology.model import Topology

Wire = tuple[str, str]
Values = tuple[tuple[int, int], ...]
"""Bandwidth and latency of each of the parallel links, ascending."""


@dataclass(frozen=True)
class Difference:
    """What is only in the first topology, only in the second, and in both but not alike."""

    nodes_gone: tuple[str, ...]
    nodes_new: tuple[str, ...]
    nodes_changed: tuple[tuple[str, str, str], ...]
    """Name, kind before, kind after."""
    links_gone: tuple[tuple[Wire, Values], ...]
    links_new: tuple[tuple[Wire, Values], ...]
    links_changed: tuple[tuple[Wire, Values, Values], ...]
    ranks_moved: tuple[tuple[str, int, int], ...]
    """Name of a GPU, rank before, rank after."""

    @property
    def is_empty(self) -> bool:
        """Whether the two are the same up to the order of nodes that are no GPUs and of links."""
        return not any(vars(self).values())


def difference(before: Topology, after: Topology) -> Difference:
    """Return how ``after`` differs from ``before``; nodes are the same where their names are."""
    old = {node.name: node.kind.value for node in before.nodes}
    new = {node.name: node.kind.value for node in after.nodes}
    wires, others = _wires(before), _wires(after)
    ranks = {before.nodes[node].name: rank for node, rank in before.rank_of.items()}
    moved = {after.nodes[node].name: rank for node, rank in after.rank_of.items()}
    return Difference(
        nodes_gone=tuple(name for name in old if name not in new),
        nodes_new=tuple(name for name in new if name not in old),
        nodes_changed=tuple((name, old[name], new[name]) for name in old if new.get(name, old[name]) != old[name]),
        links_gone=tuple((wire, values) for wire, values in wires.items() if wire not in others),
        links_new=tuple((wire, values) for wire, values in others.items() if wire not in wires),
        links_changed=tuple(
            (wire, values, others[wire]) for wire, values in wires.items() if others.get(wire, values) != values
        ),
        ranks_moved=tuple(
            (name, ranks[name], moved[name]) for name in ranks if moved.get(name, ranks[name]) != ranks[name]
        ),
    )


def _wires(topology: Topology) -> dict[Wire, Values]:
    found: dict[Wire, Counter[tuple[int, int]]] = {}
    for link in topology.links:
        ends = topology.nodes[link.src].name, topology.nodes[link.dst].name
        found.setdefault(ends, Counter())[link.rate, link.latency_ps] += 1
    return {ends: tuple(sorted(values.elements())) for ends, values in found.items()}
