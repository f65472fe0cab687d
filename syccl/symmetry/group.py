"""A group of automorphisms as permutation arrays: orbits, action on links and ranks, checks."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.topology import Topology

Permutation = NDArray[np.int32]
"""``p[i]`` is where ``i`` goes."""


def link_permutation(topology: Topology, nodes: Permutation) -> Permutation | None:
    """Return how a permutation of nodes moves links, or None when it is no automorphism.

    Kinds, bandwidths and latencies must be kept; parallel links of equal label go in order.
    """
    kinds = [node.kind for node in topology.nodes]
    if any(kinds[i] is not kinds[int(j)] for i, j in enumerate(nodes)):
        return None
    bundles: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
    for i, link in enumerate(topology.links):
        bundles[link].append(i)
    image = np.empty(len(topology.links), dtype=np.int32)
    for (src, dst, rate, latency_ps), members in bundles.items():
        target = bundles.get((int(nodes[src]), int(nodes[dst]), rate, latency_ps))
        if target is None or len(target) != len(members):
            return None
        image[members] = target
    return image


@dataclass(frozen=True, eq=False)
class Group:
    """All elements of a symmetry group of a topology, the identity first.

    Parameters
    ----------
    topology
        The cluster that the group acts on.
    generators
        Permutations of all nodes that generate the group; empty for the trivial group.
    elements
        Permutations of all nodes, shape ``(order, nodes)``, row 0 the identity.
    """

    topology: Topology
    generators: tuple[Permutation, ...]
    elements: NDArray[np.int32]

    @classmethod
    def generated(cls, topology: Topology, generators: tuple[Permutation, ...], *, limit: int = 1 << 20) -> Group:
        """Close ``generators`` under composition.

        Raises
        ------
        InternalError
            When more than ``limit`` elements appear.
        """
        identity = np.arange(len(topology.nodes), dtype=np.int32)
        elements = {identity.tobytes(): identity}
        frontier = [identity]
        while frontier:
            fresh = []
            for element, generator in itertools.product(frontier, generators):
                product = generator[element].astype(np.int32)
                if elements.setdefault(product.tobytes(), product) is product:
                    fresh.append(product)
            if len(elements) > limit:
                msg = f"symmetry group of {topology.name!r} has more than {limit} elements"
                raise InternalError(msg)
            frontier = fresh
        return cls(topology, generators, np.array(list(elements.values()), dtype=np.int32))

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.elements)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """Where each element sends each rank, shape ``(order, ranks)``."""
        gpus = np.array(self.topology.gpus)
        to_rank = np.full(len(self.topology.nodes), -1, dtype=np.int32)
        to_rank[gpus] = np.arange(len(gpus))
        return np.asarray(to_rank[self.elements[:, gpus]], dtype=np.int32)

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """Where each element sends each link, shape ``(order, links)``.

        Raises
        ------
        InternalError
            When an element is no automorphism.
        """
        rows = []
        for element in self.elements:
            row = link_permutation(self.topology, element)
            if row is None:
                msg = f"a symmetry of {self.topology.name!r} does not keep its links"
                raise InternalError(msg)
            rows.append(row)
        return np.array(rows, dtype=np.int32).reshape(self.order, len(self.topology.links))

    @cached_property
    def rank_orbits(self) -> tuple[tuple[int, ...], ...]:
        """Orbits of ranks, each ascending, ordered by least member."""
        return orbits(self.ranks)

    @cached_property
    def link_orbits(self) -> tuple[tuple[int, ...], ...]:
        """Orbits of links, each ascending, ordered by least member."""
        return orbits(self.links)

    @cached_property
    def is_semiregular(self) -> bool:
        """Whether only the identity fixes a GPU."""
        return all(len(orbit) == self.order for orbit in self.rank_orbits)

    @cached_property
    def mover(self) -> NDArray[np.int32]:
        """Element that carries the representative (least member) of a rank's orbit to that rank, shape ``(ranks,)``.

        Unique for semiregular groups; else the first such element.
        """
        table = np.full(self.ranks.shape[1], -1, dtype=np.int32)
        for orbit in self.rank_orbits:
            images = self.ranks[:, orbit[0]]
            for element in range(self.order - 1, -1, -1):
                table[images[element]] = element
        return table

    @cached_property
    def inverse(self) -> NDArray[np.int32]:
        """Index of each element's inverse, shape ``(order,)``."""
        index = {row.tobytes(): i for i, row in enumerate(self.elements)}
        return np.array([index[np.argsort(row).astype(np.int32).tobytes()] for row in self.elements], dtype=np.int32)


def orbits(images: NDArray[np.int32]) -> tuple[tuple[int, ...], ...]:
    """Return the orbits under all elements, given where each element sends each point, shape ``(order, points)``."""
    lowest = images.min(axis=0) if images.size else np.arange(images.shape[1])
    groups: dict[int, list[int]] = {}
    for point, least in enumerate(lowest.tolist()):
        groups.setdefault(least, []).append(point)
    return tuple(tuple(groups[least]) for least in sorted(groups))


def trivial_group(topology: Topology) -> Group:
    """Return the group of the identity alone, always valid."""
    return Group(topology, (), np.arange(len(topology.nodes), dtype=np.int32).reshape(1, -1))
