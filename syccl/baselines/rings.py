"""Rings as NCCL builds them, found from islands, routes and link loads: one for each NIC, or edge-disjoint ones.

Between islands each ring leaves by one port and enters by another, so that together the rings load the ports evenly;
inside an island it visits the ranks in turn. Without islands of ranks behind switches, rings are edge-disjoint
Hamiltonian cycles. Where the topology has symmetries, rings are built to repeat under them: a ring is a path followed
by its images, and further rings are images of the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from syccl.baselines.arcs import Arcs, Floats, Ranks
from syccl.baselines.cycles import disjoint_cycles, hamiltonian_path, powers
from syccl.symmetry import Group, trivial_group
from syccl.topology import Topology

Islands = tuple[tuple[int, ...], ...]

_BETTER = 1 + 1e-9
_MOST_RINGS = 32
_TURNS_TRIED = 16
_TURNS_FINISHED = 4
_RETRIES = 8


@dataclass(frozen=True, eq=False)
class Rings:
    """Rings that share the data equally.

    Parameters
    ----------
    successors
        The next rank of every rank on each ring, shape ``(rings, ranks)``.
    rate
        What each ring carries when all are in use, bytes per second.
    """

    successors: Ranks
    rate: float


@lru_cache(maxsize=16)
def find_rings(topology: Topology, islands: Islands, group: Group | None = None) -> Rings | None:
    """Return the rings of a topology, or None where none is found.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition.
    group
        Symmetries to build the rings on; ignored unless only the identity fixes a rank.
    """
    if topology.ranks < 2:
        return None
    arcs = Arcs(topology)
    usable = group if group is not None and group.is_semiregular else trivial_group(topology)
    rings = None
    if len(islands) > 1:
        rings = _Weaver(arcs, islands, usable).rings()
    elif bool((arcs.joined | np.eye(topology.ranks, dtype=bool)).all()) and not arcs.direct.any():
        rings = _Weaver(arcs, tuple((rank,) for rank in range(topology.ranks)), usable).rings()
    return rings or _disjoint(arcs, usable)


def ring_order(successors: Sequence[int]) -> list[int]:
    """Return the ranks of a ring in order, from rank 0 on."""
    order = [0]
    while len(order) < len(successors):
        order.append(successors[order[-1]])
    return order


def _scored(arcs: Arcs, successors: Ranks) -> Rings:
    return Rings(successors, arcs.share(arcs.load(successors)))


def _total(rings: Rings) -> float:
    return rings.rate * len(rings.successors)


def _is_better(rings: Rings, than: Rings | None) -> bool:
    return than is None or _total(rings) > _total(than) * _BETTER


def _successors(ring: list[int]) -> Ranks:
    table = np.empty((1, len(ring)), dtype=np.int32)
    table[0, ring] = np.roll(ring, -1)
    return table


def _disjoint(arcs: Arcs, group: Group) -> Rings | None:
    """Return edge-disjoint Hamiltonian cycles, both ways round where the links allow."""
    best: Rings | None = None
    *others, identity = _by_order(group)
    for unit in sorted({int(rate) for rate in arcs.rates[arcs.joined].tolist()}, reverse=True):
        lanes = (arcs.rates // unit).astype(np.int64)
        both = len(lanes) > 2 and bool((lanes == lanes.T).all())
        most = min(int(min(lanes.sum(axis=0).min(), lanes.sum(axis=1).min())) >> both, _MOST_RINGS >> both)
        for turn in [*others[:_TURNS_TRIED], identity] if most else []:
            cycles = disjoint_cycles(lanes, turn, most, both=both)
            ways = [cycle[::step] for cycle in cycles for step in ((1, -1) if both else (1,))]
            for count in range(1 + both, len(ways) + 1, 1 + both):
                rings = _scored(arcs, np.concatenate([_successors(way) for way in ways[:count]]))
                best = rings if _is_better(rings, best) else best
            if len(cycles) == most:
                break
    return best


def _by_order(group: Group) -> list[NDArray[np.int32]]:
    """Return the elements of a group as permutations of ranks, those of the highest order first, the identity last."""
    return sorted(group.ranks, key=_order, reverse=True)


def _order(turn: NDArray[np.int32]) -> int:
    """Return the order of a permutation of which only the trivial powers fix rank 0."""
    rank, order = int(turn[0]), 1
    while rank != 0:
        rank, order = int(turn[rank]), order + 1
    return order


@dataclass(frozen=True, eq=False)
class _Turn:
    """A permutation of the ranks that turns the islands freely.

    Parameters
    ----------
    images
        Where each of its powers sends each rank, the identity first.
    islands
        Where each of its powers sends each island; shape ``(order, islands)``.
    """

    images: list[list[int]]
    islands: NDArray[np.int64]


class _Weaver:
    """Rings through islands whose ranks see each other, or through single ranks on a switch."""

    def __init__(self, arcs: Arcs, islands: Islands, group: Group) -> None:
        self.arcs, self.group = arcs, group
        self.islands = [list(members) for members in islands]
        self.island_of = np.empty(arcs.topology.ranks, dtype=np.int64)
        for i, members in enumerate(self.islands):
            self.island_of[members] = i

    def rings(self) -> Rings | None:
        """Return rings, one more (with its images) as long as all together carry more."""
        best: Rings | None = None
        while best is None or len(best.successors) < _MOST_RINGS:
            grown = self._grown(best)
            if grown is not None and not _is_better(grown, best) and len(self.group.rank_orbits) > 1:
                grown = self._rerouted(grown)
            if grown is None or not _is_better(grown, best):
                return best
            best = grown
        return best

    def _rerouted(self, rings: Rings) -> Rings:
        """Take out one ring after the other and put it back on the links that the others leave idle."""
        for i in [*range(len(rings.successors))] * 2:
            others = np.delete(rings.successors, i, axis=0)
            ring = _Tour(self, self._turns[-1], self.arcs.prices(self.arcs.load(others))).ring()
            if ring is not None:
                changed = _scored(self.arcs, np.insert(others, i, _successors(ring), axis=0))
                rings = rings if _is_better(rings, changed) else changed
        return rings

    def _grown(self, before: Rings | None) -> Rings | None:
        """Return the rings so far and the best further ones: the most rate, then the least cost and most symmetry."""
        load = np.zeros(len(self.arcs.topology.links)) if before is None else self.arcs.load(before.successors)
        prices = self.arcs.prices(load)
        made = [(turn, _Tour(self, turn, prices).ring()) for turn in self._turns]
        seeds = [
            (round(float(prices[ring, np.roll(ring, -1)].sum()), 9), -len(turn.images), i, ring)
            for i, (turn, ring) in enumerate(made)
            if ring is not None
        ]
        grown = [self._multiplied(before, _successors(ring)) for *_, ring in sorted(seeds)[:_TURNS_FINISHED]]
        return max(grown, key=lambda rings: round(_total(rings)), default=None)

    @cached_property
    def _turns(self) -> list[_Turn]:
        """Elements of the group that turn the islands freely, those of the longest cycles first, the identity last."""
        found: list[_Turn] = []
        first = [members[0] for members in self.islands]
        *others, identity = _by_order(self.group)
        for turn in [*others, identity]:
            images = powers(turn)
            moved = self.island_of[np.array(images)]
            keeps = (moved == moved[:, first][:, self.island_of]).all()
            if keeps and (moved[1:] != self.island_of).all() and (len(found) < _TURNS_TRIED or turn is identity):
                found.append(_Turn(images, moved[:, first]))
        return found

    def _multiplied(self, before: Rings | None, seed: Ranks) -> Rings:
        """Return rings with the images of one more ring that raise the rate of all together most."""
        earlier = before.successors if before is not None else seed[:0]
        chosen = [0]
        best = _scored(self.arcs, np.concatenate([earlier, seed]))
        while True:
            tried = []
            for element in self._keepers:
                if element not in chosen:
                    subgroup = self._closure([*chosen, element])
                    images = np.concatenate([earlier, self._images(seed, subgroup)])
                    if len(images) <= _MOST_RINGS:
                        tried.append((_scored(self.arcs, images), subgroup))
            tried.sort(key=lambda found: (-round(_total(found[0])), len(found[0].successors)))
            if not tried or not _is_better(tried[0][0], best):
                return best
            best, chosen = tried[0]

    @cached_property
    def _keepers(self) -> list[int]:
        """Elements that keep the first island."""
        first = self.islands[0]
        return np.flatnonzero((self.island_of[self.group.ranks[:, first]] == 0).all(axis=1)).tolist()

    @cached_property
    def _element_of(self) -> dict[int, int]:
        """Element that carries rank 0 to a rank; there is one at most."""
        return {rank: element for element, rank in enumerate(self.group.ranks[:, 0].tolist())}

    def _closure(self, elements: list[int]) -> list[int]:
        ranks = self.group.ranks
        found = [0]
        for product in found:
            for element in elements:
                image = self._element_of[int(ranks[element, ranks[product, 0]])]
                if image not in found:
                    found.append(image)
        return found

    def _images(self, seed: Ranks, elements: list[int]) -> Ranks:
        moved = self.group.ranks[elements]
        images = np.empty_like(moved)
        np.put_along_axis(images, moved, np.take_along_axis(moved, np.repeat(seed, len(moved), axis=0), axis=1), axis=1)
        return images[sorted({image.tobytes(): i for i, image in reversed(list(enumerate(images)))}.values())]


class _Tour:
    """One ring that repeats under a permutation: through one island of each orbit, then through its image."""

    def __init__(self, weaver: _Weaver, turn: _Turn, prices: Floats) -> None:
        self.weaver, self.turn, self.prices = weaver, turn, prices
        self.closed = set[tuple[int, int]]()

    def ring(self) -> list[int] | None:
        """Return the cheapest ring found, if any."""
        islands = self._segment()
        for _ in range(_RETRIES):
            gates = self._gates(islands)
            if gates is None:
                return None
            path, blocked = self._path(islands, *gates)
            if blocked is None:
                return [image[v] for image in self.turn.images for v in path]
            self.closed.add(blocked)
        return None

    def _segment(self) -> list[int]:
        """Return one island of each orbit, each next to the one before, beginning with the first island."""
        moved = self.turn.islands
        segment, left = [0], set(range(moved.shape[1])) - set(moved[:, 0].tolist())
        while left:
            near = self._nearness[segment[-1]]
            following = min(sorted(left), key=lambda i: float(near[i]))
            segment.append(following)
            left -= set(moved[:, following].tolist())
        return segment

    @cached_property
    def _nearness(self) -> Floats:
        """Price of the cheapest hop between any two islands."""
        islands = self.weaver.islands
        starts = np.cumsum([0, *(len(members) for members in islands)])[:-1]
        order = np.concatenate([np.array(members) for members in islands])
        by_row = np.minimum.reduceat(self.prices[np.ix_(order, order)], starts, axis=0)
        return np.asarray(np.minimum.reduceat(by_row, starts, axis=1))

    def _gates(self, segment: list[int]) -> tuple[list[int], list[int]] | None:
        """Return where the ring enters and where it leaves each island of a segment, at least cost in all."""
        islands, images = self.weaver.islands, self.turn.images
        members = [islands[i] for i in segment]
        following = [*members[1:], [images[1 % len(images)][v] for v in members[0]]]
        steps = [self._crossing(here, there) for here, there in zip(members, following, strict=True)]
        best: tuple[float, list[int]] | None = None
        for entry in range(len(members[0])):
            cost = np.full(len(members[0]), np.inf)
            cost[entry] = 0.0
            back = []
            for price, _ in steps:
                through = cost[:, None] + price
                back.append(through.argmin(axis=0))
                cost = through.min(axis=0)
            if np.isfinite(cost[entry]) and (best is None or cost[entry] < best[0]):
                entries = [entry]
                for choice in reversed(back):
                    entries.append(int(choice[entries[-1]]))
                best = float(cost[entry]), entries[::-1]
        if best is None:
            return None
        entries = best[1]
        exits = [int(leave[a, b]) for (_, leave), (a, b) in zip(steps, itertools.pairwise(entries), strict=True)]
        enter = [members[i][entry] for i, entry in enumerate(entries[:-1])]
        return enter, [members[i][leave] for i, leave in enumerate(exits)]

    def _crossing(self, here: list[int], there: list[int]) -> tuple[Floats, NDArray[np.int64]]:
        """Return, for every way to enter an island and to enter the next, the least price and where to leave."""
        blocked = np.where(np.eye(len(here), dtype=bool) & (len(here) > 1), np.inf, 0.0)
        for a, b in itertools.product(range(len(here)), repeat=2) if self.closed else ():
            if (here[a], here[b]) in self.closed:
                blocked[a, b] = np.inf
        options = blocked[:, :, None] + self.prices[np.ix_(here, there)]
        return options.min(axis=1), options.argmin(axis=1)

    def _path(self, segment: list[int], enter: list[int], leave: list[int]) -> tuple[list[int], tuple[int, int] | None]:
        """Return a path through the islands between their gates, or the gates between which there is none."""
        whole: list[int] = []
        for i, first, last in zip(segment, enter, leave, strict=True):
            members = self.weaver.islands[i]
            prices = self.prices[np.ix_(members, members)]
            path = hamiltonian_path(prices, members.index(first), members.index(last))
            if path is None:
                return [], (first, last)
            whole += [members[v] for v in path]
        return whole, None
