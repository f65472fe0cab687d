"""The cluster as a coloured graph for symmetry search: one vertex for all switches that look alike."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.symmetry.group import Permutation
from syccl.symmetry.refine import spread
from syccl.topology import Kind, Topology

Label = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
"""What joins two nodes, seen from one: (bandwidth, latency) of the links out, and of the links in, each ascending."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A coloured graph whose arcs carry weights; equal weight means equal links in both directions.

    Parameters
    ----------
    colours
        Initial colour of each vertex: its kind and how many nodes it stands for.
    arcs
        For each vertex its neighbours, each once, with the weight of the label seen from the vertex.
    members
        Node ids of each vertex, ascending; more than one only for twins.
    gpus
        Vertex of every rank.
    """

    colours: tuple[int, ...]
    arcs: tuple[tuple[tuple[int, int], ...], ...]
    members: tuple[tuple[int, ...], ...]
    gpus: tuple[int, ...]

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Arcs as rows (vertex, neighbour, weight), sorted by vertex; shape ``(arcs, 3)``."""
        rows = [(v, u, weight) for v, out in enumerate(self.arcs) for u, weight in out]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the arcs of each vertex begin in ``table``, shape ``(vertices + 1,)``."""
        return np.cumsum([0, *map(len, self.arcs)])

    def lift(self, vertices: Permutation) -> Permutation:
        """Return the permutation of nodes behind a permutation of vertices: the i-th twin goes to the i-th twin."""
        nodes = np.empty(sum(map(len, self.members)), dtype=np.int32)
        for v, image in enumerate(vertices.tolist()):
            nodes[list(self.members[v])] = self.members[image]
        return nodes


def collapse(topology: Topology) -> Graph:
    """Return the graph of a topology with every class of twins made one vertex.

    Twins are NICs or switches with the same neighbours over the same links. An automorphism of the topology moves
    whole classes, and one of the graph lifts to the topology (:meth:`Graph.lift`) in step with composition.
    """
    neighbours = _neighbours(topology)
    classes: dict[object, list[int]] = defaultdict(list)
    for i, node in enumerate(topology.nodes):
        key = i if node.kind is Kind.GPU else (node.look, frozenset(neighbours[i].items()))
        classes[key].append(i)
    members = tuple(tuple(nodes) for nodes in classes.values())
    vertex = {nodes[0]: v for v, nodes in enumerate(members)}
    looks = [(int(topology.looks[nodes[0]]), len(nodes)) for nodes in members]
    colour = {look: i for i, look in enumerate(sorted(set(looks)))}
    weight = _weights(neighbours)
    arcs = tuple(
        tuple((vertex[u], weight[label]) for u, label in neighbours[nodes[0]].items() if u in vertex)
        for nodes in members
    )
    return Graph(tuple(colour[look] for look in looks), arcs, members, tuple(vertex[node] for node in topology.gpus))


def _neighbours(topology: Topology) -> list[dict[int, Label]]:
    """Return each node's neighbours with the label of the links between the two."""
    bundles: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for src, dst, rate, latency_ps in topology.links:
        bundles[src, dst].append((rate, latency_ps))
    sorted_bundles = {pair: tuple(sorted(links)) for pair, links in bundles.items()}
    neighbours: list[dict[int, Label]] = [{} for _ in topology.nodes]
    for (src, dst), links in sorted_bundles.items():
        back = sorted_bundles.get((dst, src), ())
        neighbours[src][dst] = (links, back)
        neighbours[dst][src] = (back, links)
    return neighbours


def _weights(neighbours: list[dict[int, Label]]) -> dict[Label, int]:
    """Return a number for each label, the same for the same set of labels."""
    labels = sorted({label for row in neighbours for label in row.values()})
    return {label: spread(i) for i, label in enumerate(labels)}
