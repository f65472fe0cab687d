"""A group of automorphisms as permutation arrays: orbits, action on links and ranks, checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.topology import Topology

Permutation = NDArray[np.int32]
"""``p[i]`` is where ``i`` goes."""


class _Bundles(NamedTuple):
    """Links sorted so that all links between two nodes stand together, by label, then by id."""

    kinds: NDArray[np.int64]
    """Kind of every node as a number, shape ``(nodes,)``."""
    ends: NDArray[np.int64]
    """Source and destination of every link, shape ``(2, links)``."""
    label: NDArray[np.int64]
    """Number of every link's (bandwidth, latency), shape ``(links,)``."""
    order: NDArray[np.int64]
    """Link ids, sorted; shape ``(links,)``."""
    pairs: NDArray[np.int64]
    """``src * nodes + dst`` of every joined ordered pair, ascending; shape ``(pairs,)``."""
    first: NDArray[np.int64]
    """Where the links of every pair begin in ``order``, shape ``(pairs + 1,)``."""
    pair: NDArray[np.int64]
    """Pair of every link, shape ``(links,)``."""
    slot: NDArray[np.int64]
    """Position of every link within its pair, shape ``(links,)``."""


@lru_cache(maxsize=32)
def _bundles(topology: Topology) -> _Bundles:
    kinds = topology.looks
    table = np.array(topology.links, dtype=np.int64).reshape(-1, 4)
    label = np.unique(table[:, 2:], axis=0, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((label, table[:, 1], table[:, 0]))
    keys = table[:, 0] * len(kinds) + table[:, 1]
    pairs, first, count = np.unique(keys[order], return_index=True, return_counts=True)
    pair, slot = np.empty_like(order), np.empty_like(order)
    pair[order] = np.repeat(np.arange(len(pairs)), count)
    slot[order] = np.arange(len(order)) - np.repeat(first, count)
    ends = np.ascontiguousarray(table[:, :2].T)
    return _Bundles(kinds, ends, label, order, pairs, np.append(first, len(order)), pair, slot)


def _link_images(topology: Topology, elements: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return where permutations of nodes send each link, shape ``(len(elements), links)``; None if one fails."""
    bundles = _bundles(topology)
    if not (np.sort(elements, axis=1) == np.arange(len(bundles.kinds))).all():
        return None
    if not (bundles.kinds[elements] == bundles.kinds).all():
        return None
    if not len(bundles.order):
        return np.empty((len(elements), 0), dtype=np.int32)
    src, dst = bundles.ends[:, bundles.order[bundles.first[:-1]]]
    keys = elements[:, src].astype(np.int64) * len(bundles.kinds) + elements[:, dst]
    target = np.searchsorted(bundles.pairs, keys)
    size = np.diff(bundles.first)
    target[target == len(size)] = 0
    if not ((bundles.pairs[target] == keys).all() and (size[target] == size).all()):
        return None
    image = bundles.order[bundles.first[target[:, bundles.pair]] + bundles.slot]
    return image.astype(np.int32) if (bundles.label[image] == bundles.label).all() else None


def link_permutation(topology: Topology, nodes: Permutation) -> Permutation | None:
    """Return how a permutation of nodes moves links, or None when it is no automorphism.

    Kinds, bandwidths and latencies must be kept; parallel links of equal label go in order.
    """
    images = _link_images(topology, np.asarray(nodes, dtype=np.int32).reshape(1, -1))
    return None if images is None else images[0]


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
        moves = [np.asarray(generator, dtype=np.int32) for generator in generators]
        rows, known = [identity], {identity.tobytes()}
        frontier = identity.reshape(1, -1)
        while len(frontier):
            fresh: list[Permutation] = []
            for product in np.concatenate([frontier, *(move[frontier] for move in moves)])[len(frontier) :]:
                key = product.tobytes()
                if key not in known:
                    known.add(key)
                    fresh.append(product)
            rows += fresh
            if len(rows) > limit:
                msg = f"symmetry group of {topology.name!r} has more than {limit} elements"
                raise InternalError(msg)
            frontier = np.array(fresh, dtype=np.int32)
        return cls(topology, generators, np.array(rows, dtype=np.int32))

    def largest_part(self, accepts: Callable[[int], bool]) -> Group:
        """Return a subgroup of an accepted order, grown greedily from powers of the generators.

        Parameters
        ----------
        accepts
            Says whether an order is acceptable; 1 must be.
        """
        part = trivial_group(self.topology)
        for generator in self.generators:
            for power in _powers(generator):
                larger = Group.generated(self.topology, (*part.generators, power), limit=self.order)
                if larger.order > part.order and accepts(larger.order):
                    part = larger
                    break
        return part

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
        images = _link_images(self.topology, self.elements)
        if images is None:
            msg = f"a symmetry of {self.topology.name!r} does not keep its links"
            raise InternalError(msg)
        return images

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
            first = np.unique(self.ranks[:, orbit[0]], return_index=True)[1]
            table[list(orbit)] = first
        return table

    @cached_property
    def inverse(self) -> NDArray[np.int32]:
        """Index of each element's inverse, shape ``(order,)``."""
        index = {row.tobytes(): i for i, row in enumerate(self.elements)}
        inverses = np.argsort(self.elements, axis=1).astype(np.int32)
        return np.array([index[row.tobytes()] for row in inverses], dtype=np.int32)


def _powers(generator: Permutation) -> Iterator[Permutation]:
    """Yield a permutation and its powers up to, without, the identity."""
    power = generator.astype(np.int32)
    identity = np.arange(len(generator), dtype=np.int32)
    while not np.array_equal(power, identity):
        yield power
        power = generator[power].astype(np.int32)


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
