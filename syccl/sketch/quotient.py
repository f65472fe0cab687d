"""The topology seen through a symmetry group: arcs between ranks in classes, loads and prices on link orbits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.symmetry.group import Group, link_permutation
from syccl.topology import Topology, last_links

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quotient:
    """What trees cost and load when every tree is copied by a semiregular group.

    The group moves any arc ``(u, v)`` of ranks to exactly one arc that starts at a representative, so arcs fall into
    ``len(representatives) * ranks`` classes: class ``i * ranks + w`` holds the copies of ``(representatives[i], w)``.

    Parameters
    ----------
    reverse
        Whether a tree arc ``(parent, child)`` is a transfer from child to parent (reduction trees).
    representatives
        Least rank of every rank orbit, ascending.
    arc_class
        Class of the transfer behind the tree arc ``(parent, child)``, shape ``(ranks, ranks)``.
    route_start
        Where the route of each class begins in ``route_links``, shape ``(classes + 1,)``; no links, no route.
    route_links
        Link ids of the routes of all classes, each from the representative on, in path order.
    link_orbit
        Orbit of every link, orbits numbered by their least link, shape ``(links,)``.
    orbit_sizes
        Number of links in every orbit, shape ``(orbits,)``.
    capacities
        Bandwidth of one link of every orbit, bytes per second, shape ``(orbits,)``.
    """

    topology: Topology
    group: Group
    reverse: bool
    representatives: Ints
    arc_class: Ints
    route_start: Ints
    route_links: Ints
    link_orbit: Ints
    orbit_sizes: Ints
    capacities: Floats

    @classmethod
    def of(cls, topology: Topology, group: Group, *, reverse: bool = False) -> Quotient:
        """Build the quotient with the topology's default routes.

        Raises
        ------
        InternalError
            When an element other than the identity fixes a rank, or a generator is no automorphism.
        """
        if not group.is_semiregular:
            msg = f"a quotient of {topology.name!r} needs a group of which only the identity fixes a rank"
            raise InternalError(msg)
        representatives = np.array([orbit[0] for orbit in group.rank_orbits], dtype=np.int32)
        arc_class = _arc_classes(group)
        start, links = _paths_back(topology, representatives, last_links(topology, representatives.tolist()))
        orbit = _link_orbits(topology, group)
        _, first, sizes = np.unique(orbit, return_index=True, return_counts=True)
        return cls(
            topology,
            group,
            reverse,
            representatives,
            arc_class.T if reverse else arc_class,
            start,
            links,
            orbit,
            sizes.astype(np.int32),
            topology.link_rates[first],
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.topology.ranks

    @property
    def orbits(self) -> int:
        """Number of link orbits."""
        return len(self.orbit_sizes)

    @cached_property
    def flipped(self) -> Quotient:
        """The same quotient with the other meaning of a tree arc."""
        return replace(self, reverse=not self.reverse, arc_class=self.arc_class.T)

    @cached_property
    def orbit_weights(self) -> Floats:
        """Load on each link of an orbit when every copy of a transfer uses one link of it, shape ``(orbits,)``.

        The copies make ``group.order`` uses, spread evenly over the links of the orbit.
        """
        weights: Floats = self.group.order / self.orbit_sizes.astype(np.float64)
        return weights

    @cached_property
    def _route_classes(self) -> Ints:
        lengths = np.diff(self.route_start)
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)

    def route(self, src: int, dst: int) -> tuple[int, ...]:
        """Return the link ids that a transfer from rank ``src`` to rank ``dst`` passes; empty where no route is.

        It is the image of the representative's route, so it keeps the symmetry.
        """
        kind = int(self.arc_class[dst, src] if self.reverse else self.arc_class[src, dst])
        links = self.route_links[self.route_start[kind] : self.route_start[kind + 1]]
        return tuple(self.group.links[self.group.mover[src]][links].tolist())

    @cached_property
    def class_weights(self) -> Floats:
        """Load on each link of every orbit by one transfer of every class, shape ``(classes, orbits)``."""
        classes = len(self.route_start) - 1
        where = self._route_classes.astype(np.int64) * self.orbits + self.link_orbit[self.route_links]
        uses = np.bincount(where, minlength=classes * self.orbits).reshape(classes, self.orbits)
        return np.asarray(uses * self.orbit_weights)

    @cached_property
    def _route_table(self) -> NDArray[np.int64]:
        """Orbits of the links of every class's route, shape ``(classes, longest)``; filled up with ``orbits``."""
        lengths = np.diff(self.route_start)
        place = np.arange(len(self.route_links)) - np.repeat(self.route_start[:-1], lengths)
        table = np.full((len(lengths), int(lengths.max(initial=0))), self.orbits, dtype=np.int64)
        table[self._route_classes, place] = self.link_orbit[self.route_links]
        return table

    @cached_property
    def _orbits_of(self) -> dict[int, tuple[int, ...]]:
        return {}

    def class_orbits(self, kind: int) -> tuple[int, ...]:
        """Return the orbit of every link that a transfer of a class passes."""
        if kind not in self._orbits_of:
            links = self.route_links[self.route_start[kind] : self.route_start[kind + 1]]
            self._orbits_of[kind] = tuple(self.link_orbit[links].tolist())
        return self._orbits_of[kind]

    def class_sums(self, prices: Floats) -> Floats:
        """Return what one transfer of every class pays, shape ``(classes,)``; 0 where no route is.

        Parameters
        ----------
        prices
            Price of a unit of load on each link of every orbit, shape ``(orbits,)``.
        """
        paid = np.append(prices * self.orbit_weights, 0.0)
        return np.asarray(paid[self._route_table].sum(axis=1))

    def class_loads(self, classes: Ints) -> Floats:
        """Return the load on each link of every orbit of one transfer of every listed class (with repeats)."""
        uses = np.bincount(self._route_table[classes].ravel(), minlength=self.orbits + 1)[: self.orbits]
        return np.asarray(uses * self.orbit_weights)

    @cached_property
    def class_latencies_s(self) -> Floats:
        """Latency of the route of every class in seconds, shape ``(classes,)``; 0 where no route is."""
        latency = self.topology.link_latencies_s[self.route_links]
        latencies = np.bincount(self._route_classes, weights=latency, minlength=len(self.route_start) - 1)
        return latencies.astype(np.float64)

    def class_costs(self, prices: Floats) -> Floats:
        """Return what one transfer of every class pays, shape ``(classes,)``, infinite where no route is.

        Parameters
        ----------
        prices
            Price of a unit of load on each link of every orbit, shape ``(orbits,)``.
        """
        paid = (prices * self.orbit_weights)[self.link_orbit[self.route_links]]
        lengths = np.diff(self.route_start)
        costs: Floats = np.bincount(self._route_classes, weights=paid, minlength=len(lengths)).astype(np.float64)
        costs[lengths == 0] = np.inf
        return costs

    def arc_costs(self, prices: Floats) -> Floats:
        """Return the cost of every tree arc ``(parent, child)`` over the quotient's routes, ``(ranks, ranks)``."""
        return np.asarray(self.class_costs(prices)[self.arc_class])

    def rerouted(self, prices: Floats) -> Quotient:
        """Return the same quotient with the cheapest path under ``prices`` as the route of every class."""
        _, last = self._cheapest_paths(prices)
        start, links = _paths_back(self.topology, self.representatives, last)
        return replace(self, route_start=start, route_links=links)

    def _cheapest_paths(self, prices: Floats) -> tuple[Floats, Ints]:
        """Bellman-Ford from every representative: least cost and last link per node, ``(representatives, nodes)``."""
        links = self.topology.links
        by_target = np.array(sorted(range(len(links)), key=lambda i: links[i].dst), dtype=np.int32)
        paid = (prices * self.orbit_weights)[self.link_orbit]
        source = np.array([link.src for link in links], dtype=np.int32)
        target = np.array([link.dst for link in links], dtype=np.int32)
        relays = by_target[[not self.topology.is_gpu(links[i].src) for i in by_target]]
        rows = np.arange(len(self.representatives))
        starts = np.array(self.topology.gpus)[self.representatives]
        distances = np.full((len(rows), len(self.topology.nodes)), np.inf)
        distances[rows, starts] = 0.0
        last = np.full(distances.shape, -1, dtype=np.int32)
        active = by_target
        while len(active):
            offers = distances[:, source[active]] + paid[active]
            segment = np.flatnonzero(np.diff(target[active], prepend=-1))
            best = np.minimum.reduceat(offers, segment, axis=1)
            lengths = np.diff(np.append(segment, len(active)))
            chosen = np.where(offers == np.repeat(best, lengths, axis=1), active, np.int32(len(links)))
            nodes = target[active][segment]
            better = best < distances[:, nodes]
            if not better.any():
                break
            last[:, nodes] = np.where(better, np.minimum.reduceat(chosen, segment, axis=1), last[:, nodes])
            distances[:, nodes] = np.where(better, best, distances[:, nodes])
            active = relays
        return distances, last

    def arc_loads(self, classes: Ints) -> Floats:
        """Return the load on each link of every orbit when one unit goes over every listed class (with repeats)."""
        uses = np.bincount(classes, minlength=len(self.route_start) - 1)
        orbit = self.link_orbit[self.route_links]
        load = np.bincount(orbit, weights=uses[self._route_classes], minlength=self.orbits)
        return np.asarray(load * self.orbit_weights)

    def tree_loads(self, parents: Ints) -> Floats:
        """Return the load on each link of every orbit when all copies of a tree carry one unit each.

        Parameters
        ----------
        parents
            Parent of every rank, -1 at the root, shape ``(ranks,)``.
        """
        children = np.flatnonzero(parents >= 0)
        return self.arc_loads(self.arc_class[parents[children], children])


def _arc_classes(group: Group) -> Ints:
    """Return the class of every arc: its representative's position and where the moved head is."""
    order, ranks = group.ranks.shape
    back = np.empty_like(group.ranks)
    back[np.arange(order)[:, None], group.ranks] = np.arange(ranks, dtype=np.int32)
    position = np.empty(ranks, dtype=np.int32)
    for i, orbit in enumerate(group.rank_orbits):
        position[list(orbit)] = i
    return np.asarray(position[:, None] * np.int32(ranks) + back[group.mover], dtype=np.int32)


def _paths_back(topology: Topology, representatives: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return the paths of all classes, one after the other, and where each starts.

    Parameters
    ----------
    last
        Last link of the path from every representative to every node, -1 where none is, shape
        ``(representatives, nodes)``.
    """
    source = np.array([link.src for link in topology.links], dtype=np.int32)
    gpus, ranks = np.array(topology.gpus, dtype=np.int32), topology.ranks
    row = np.repeat(np.arange(len(representatives)), ranks)
    here = np.tile(gpus, len(representatives))
    here[np.arange(len(representatives)) * ranks + representatives] = -1
    hops: list[Ints] = []
    while True:
        link = np.where(here < 0, np.int32(-1), last[row, here])
        if not (link >= 0).any():
            break
        hops.append(link)
        here = np.where(link < 0, np.int32(-1), source[link])
    table = np.array(hops[::-1], dtype=np.int32).reshape(len(hops), len(row)).T
    start = np.concatenate(([0], np.cumsum((table >= 0).sum(axis=1)))).astype(np.int32)
    return start, table[table >= 0]


def _link_orbits(topology: Topology, group: Group) -> Ints:
    """Return the orbit of every link, numbered by least link; generators suffice."""
    label = np.arange(len(topology.links), dtype=np.int32)
    images = [link_permutation(topology, generator) for generator in group.generators]
    before = None
    while before is None or not np.array_equal(before, label):
        before = label
        for image in images:
            if image is None:
                msg = f"a generator of the symmetry group of {topology.name!r} does not keep its links"
                raise InternalError(msg)
            label = _cycle_minima(label, image)
    return np.unique(label, return_inverse=True)[1].astype(np.int32)


def _cycle_minima(label: Ints, image: Ints) -> Ints:
    """Return the least label on each point's cycle, by doubling the stride."""
    stride = image
    for _ in range(max(1, len(label)).bit_length()):
        label = np.minimum(label, label[stride])
        stride = stride[stride]
    return label
