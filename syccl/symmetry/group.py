"""A group of automorphisms as permutation arrays: orbits, action on links and ranks, checks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.topology import Kind, Topology

Permutation = NDArray[np.int32]
"""``p[i]`` is where ``i`` goes."""


class _LinkIndex(NamedTuple):
    """Links sorted by ends and label, to find the image of each at once."""

    kinds: NDArray[np.int64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    label: NDArray[np.int64]
    """Number of each link's (bandwidth, latency) pair."""
    keys: NDArray[np.int64]
    """Ascending (src, dst, label), each as one number."""
    order: NDArray[np.int64]
    """Link ids in the order of ``keys``."""
    place: NDArray[np.int64]
    """Position of each link among the links parallel to it with the same label."""


@lru_cache(maxsize=64)
def _link_index(topology: Topology) -> _LinkIndex:
    kinds = np.array([list(Kind).index(node.kind) for node in topology.nodes], dtype=np.int64)
    table = np.array(topology.links, dtype=np.int64).reshape(-1, 4)
    labels = {pair: i for i, pair in enumerate(sorted({(link.rate, link.latency_ps) for link in topology.links}))}
    label = np.array([labels[link.rate, link.latency_ps] for link in topology.links], dtype=np.int64)
    keys = (table[:, 0] * len(kinds) + table[:, 1]) * max(1, len(labels)) + label
    order = np.argsort(keys, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - np.searchsorted(keys[order], keys[order])
    return _LinkIndex(kinds, table[:, 0], table[:, 1], label, keys[order], order, place)


def link_permutation(topology: Topology, nodes: Permutation) -> Permutation | None:
    """Return how a permutation of nodes moves links, or None when it is no automorphism.

    Kinds, bandwidths and latencies must be kept; parallel links of equal label go in order.
    """
    index = _link_index(topology)
    if not np.array_equal(index.kinds[nodes], index.kinds):
        return None
    if not len(index.keys):
        return np.zeros(0, dtype=np.int32)
    labels = int(index.label.max()) + 1
    wanted = (nodes[index.src].astype(np.int64) * len(nodes) + nodes[index.dst]) * labels + index.label
    found = np.minimum(np.searchsorted(index.keys, wanted) + index.place, len(index.keys) - 1)
    if not np.array_equal(index.keys[found], wanted):
        return None
    return index.order[found].astype(np.int32)


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
