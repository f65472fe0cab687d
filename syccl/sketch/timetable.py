"""Trees of one root on a timetable: every transfer has a time at which its links have room for it.

Time up to a deadline is cut into slots. Every piece grows a tree whose arcs start in given slots. An arc costs what
its links are worth in the slots that it keeps them busy, which rises exponentially as they fill up, so early pieces
save the slow links and late ones use whatever is idle just then. A tree grows in two steps. First it takes in ranks
that make the others cheaper to reach, each over at most two arcs and at the time at which that saves most: the ranks
through which a piece enters a server, and those that pass it on. Then every other rank is served where it is cheapest.
Pieces are taken out and put back at current prices until no link is asked for more than it has [1]_.

References
----------
.. [1] L. McMurchie, C. Ebeling, "PathFinder: a negotiation-based performance-driven router for FPGAs", FPGA 1995.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.roads import Roads, groups
from syccl.sketch.timely import Goal
from syccl.sketch.ways import Ways

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEEP = (6.0, 25.0)
"""Steepness of prices in the first and in the last pass."""
_MOST_EXPONENT = 30.0
_IDLE = 1e-3
"""Price of an idle link, as a share of a full one."""
_HASTE = 1e-6
"""Price of waiting up to the deadline: of equals the earlier start."""
_UNSERVED = 1e9
"""Price of a rank that is not reached in time."""
_FULL = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Timetable:
    """Trees and planned starts, the piece that starts first on average first.

    Parameters
    ----------
    parents
        Parent of every rank in every tree, -1 at the root, shape ``(pieces, ranks)``.
    start_s
        When the transfer to every rank is planned to start, seconds, shape ``(pieces, ranks)``.
    excess
        What links are asked for beyond what they have, as a share of all that they are asked for.
    """

    parents: Longs
    start_s: Floats
    excess: float


def timetable(ways: Ways, root: int, goal: Goal, *, at_end: bool = False) -> Timetable:
    """Return a tree for every piece with a start for every transfer.

    In passes after the first only pieces are routed anew that use links which are asked for too much.

    Parameters
    ----------
    at_end
        As for `Roads.of`.

    Raises
    ------
    InfeasibleError
        When some rank cannot be reached.
    """
    roads = Roads.of(ways, root, chunk_bytes=goal.chunk_bytes, deadline_s=goal.deadline_s, at_end=at_end)
    traffic = _Traffic(roads)
    placed: list[_Tree | None] = [None] * goal.pieces
    first, last = _STEEP
    for turn in range(goal.passes):
        traffic.steepness = first * (last / first) ** (turn / max(1, goal.passes - 1))
        traffic.price_all()
        for i, before in enumerate(placed):
            if before is None:
                placed[i] = traffic.grow()
            elif traffic.is_crowded(before):
                traffic.count(before.arcs, before.starts, -1.0)
                placed[i] = traffic.grow()
    trees = sorted((tree for tree in placed if tree is not None), key=lambda tree: int(tree.starts.sum()))
    parents = np.full((len(trees), ways.ranks), -1, dtype=np.int64)
    starts = np.zeros((len(trees), ways.ranks))
    for i, tree in enumerate(trees):
        parents[i, roads.dst[tree.arcs]] = roads.src[tree.arcs]
        starts[i, roads.dst[tree.arcs]] = tree.starts * roads.slot_s
    return Timetable(parents, starts, traffic.excess)


class _Tree(NamedTuple):
    """Arcs of a tree, and the slot in which each starts."""

    arcs: Longs
    starts: Longs


class _Traffic:
    """What links carry in every slot, and the prices that follow."""

    def __init__(self, roads: Roads) -> None:
        self.roads = roads
        links, longest = roads.share.shape
        # The first slot lies before the first start.
        self.load = np.zeros((links, roads.slots + longest))
        self.prices = np.zeros((links, roads.slots))
        self.steepness = _STEEP[0]

    @property
    def excess(self) -> float:
        """What links are asked for beyond what they have, as a share of all that they are asked for."""
        return float(np.maximum(self.load - 1.0, 0.0).sum() / max(1.0, self.load.sum()))

    def count(self, arcs: Longs, starts: Longs, sign: float) -> None:
        """Add or take out transfers."""
        roads = self.roads
        slots = np.arange(roads.share.shape[1])
        links = roads.links[arcs].ravel()
        begin = (starts[:, None] + roads.delay[arcs]).ravel()
        np.add.at(self.load, (links[:, None], begin[:, None] + slots), sign * roads.share[links])
        self.price(np.unique(links))

    def is_crowded(self, tree: _Tree) -> bool:
        """Return whether a tree uses a link that is asked for too much, when it is."""
        roads = self.roads
        links = roads.links[tree.arcs]
        slots = np.arange(roads.share.shape[1])
        begin = tree.starts[:, None] + roads.delay[tree.arcs]
        load = self.load[links[:, :, None], begin[:, :, None] + slots]
        return bool(((load > _FULL) & (roads.share[links] > 0.0)).any())

    def price_all(self) -> None:
        """Price a start in every slot on all links."""
        self.price(np.arange(len(self.load)))

    def price(self, links: Longs) -> None:
        """Price a start in every slot on some links."""
        fill = np.minimum(self.steepness * (self.load[links] - 1.0), _MOST_EXPONENT)
        worth = np.exp(fill) + _IDLE
        share = self.roads.share[links]
        total = np.zeros((len(links), self.roads.slots))
        for slot in range(share.shape[1]):
            total += share[:, slot : slot + 1] * worth[:, slot : slot + self.roads.slots]
        self.prices[links] = total

    def cost(self, arcs: Longs | slice) -> Floats:
        """Return what a start of some arcs in every slot costs, infinite where it is too late."""
        roads = self.roads
        links, delay = roads.links[arcs], roads.delay[arcs]
        total = self._prices(links[:, 0], delay[:, 0])
        for place in range(1, links.shape[1]):
            total = total + self._prices(links[:, place], delay[:, place])
        total = total + (_HASTE * np.arange(self.roads.slots))
        return np.where(roads.in_time[arcs], total, np.inf)

    def _prices(self, links: Longs, delay: Longs) -> Floats:
        """Return what some links cost from so many slots after the start on, for a start in every slot."""
        if not delay.any():
            return np.asarray(self.prices[links])
        slots = np.minimum(np.arange(self.roads.slots) + delay[:, None], self.roads.slots - 1)
        return np.asarray(self.prices[links[:, None], slots])

    def grow(self) -> _Tree:
        """Return a tree at current prices, its load added."""
        growth = _Growth(self)
        growth.take_helpers()
        growth.serve_others()
        return growth.tree()


class _Growth:
    """A tree that grows."""

    def __init__(self, traffic: _Traffic) -> None:
        roads = traffic.roads
        self.traffic, self.roads = traffic, roads
        self.held = np.full(roads.ranks, roads.slots + 1)
        self.held[roads.root] = 0
        self.is_out = self.held > 0
        self.arc = np.full(roads.ranks, -1, dtype=np.int64)
        self.start = np.zeros(roads.ranks, dtype=np.int64)
        self.later = np.empty((len(roads.src), roads.slots + 1))
        self.arriving = np.empty((len(roads.src), roads.slots + 1))

    def tree(self) -> _Tree:
        """Return what has grown."""
        served = np.flatnonzero(self.arc >= 0)
        return _Tree(self.arc[served], self.start[served])

    def _look(self, arcs: Longs | slice) -> None:
        """Find the costs of some arcs by the slot from which they can be used, and by that in which they arrive."""
        cost = self.traffic.cost(arcs)
        padded = np.concatenate([cost, np.full((len(cost), 1), np.inf)], axis=1)
        self.arriving[self.roads.place[arcs]] = np.take_along_axis(padded, self.roads.before[arcs], axis=1)
        self.later[arcs] = np.minimum(np.minimum.accumulate(padded[:, ::-1], axis=1)[:, ::-1], _UNSERVED)

    def _join(self, arc: int, start: int) -> None:
        """Take in the receiver of an arc."""
        roads = self.roads
        child = int(roads.dst[arc])
        self.arc[child], self.start[child] = arc, start
        self.held[child] = start + roads.span[arc]
        self.is_out[child] = False
        self.traffic.count(np.array([arc]), np.array([start]), 1.0)

    def take_helpers(self) -> None:
        """Take in ranks as long as that makes the others cheaper to reach."""
        roads = self.roads
        self._look(slice(None))
        slots = np.arange(roads.slots + 1)
        while True:
            here = np.where(slots >= self.held[:, None], 0.0, np.inf)
            near = self._reached(here)
            two = np.minimum.accumulate(np.minimum(near, here), axis=1).ravel()[roads.sent] + self.arriving
            reach = roads.least_into(two)
            price = np.where(self.is_out, self._service(), 0.0)
            saving = roads.sum_from(np.maximum(price[roads.dst][:, None] - self.later, 0.0))
            gain = saving + price[:, None] - reach
            gain[~self.is_out] = -np.inf
            rank, slot = divmod(int(gain.argmax()), roads.slots + 1)
            if gain[rank, slot] <= _HASTE:
                return
            self._walk(rank, slot, here, two)

    def _service(self) -> Floats:
        """Return what it costs to serve every rank from the tree."""
        roads = self.roads
        inside = np.flatnonzero(~self.is_out[roads.src])
        held = np.minimum(self.held[roads.src[inside]], roads.slots)
        price = np.full(roads.ranks, _UNSERVED)
        np.minimum.at(price, roads.dst[inside], self.later[inside, held])
        return price

    def _reached(self, here: Floats) -> Floats:
        """Return what it costs to reach every rank in every slot over one arc from the tree."""
        roads = self.roads
        inside = np.flatnonzero(~self.is_out[roads.src[roads.by_dst]])
        costs = here.ravel()[roads.sent[inside]] + self.arriving[inside]
        ranks, first = groups(roads.dst[roads.by_dst[inside]])
        near = np.full(here.shape, np.inf)
        if len(ranks):
            near[ranks] = np.minimum.reduceat(costs, first, axis=0)
        return near

    def _walk(self, rank: int, slot: int, here: Floats, two: Floats) -> None:
        """Take in a rank that is to arrive in a slot, and the rank on the way to it."""
        roads = self.roads
        last = int(roads.into[rank][two[roads.place[roads.into[rank]], slot].argmin()])
        over, start = int(roads.src[last]), int(roads.before[last, slot])
        steps = [(last, start)]
        if self.is_out[over]:
            arcs = roads.into[over]
            place = roads.place[arcs]
            costs = here.ravel()[roads.sent[place]] + self.arriving[place]
            arc, arrival = divmod(int(costs[:, : start + 1].argmin()), start + 1)
            steps.insert(0, (int(arcs[arc]), int(roads.before[arcs[arc], arrival])))
        for arc, begin in steps:
            self._join(arc, begin)
            self.arriving[roads.place[roads.into[roads.dst[arc]]]] = np.inf
            touched = np.unique(
                np.concatenate([roads.of_link[link] for link in self._links(arc)] or [roads.into[0][:0]])
            )
            self._look(touched[self.is_out[roads.dst[touched]]])

    def _links(self, arc: int) -> list[int]:
        """Return the links of an arc that take time."""
        idle = len(self.roads.share) - 1
        return [link for link in self.roads.links[arc].tolist() if link < idle]

    def serve_others(self) -> None:
        """Serve the other ranks where it is cheapest, those that cost most first; late where there is no time."""
        roads = self.roads
        price = self._service()
        slots = np.arange(roads.slots)
        left = [rank for rank in np.argsort(-price, kind="stable").tolist() if self.is_out[rank]]
        is_late = False
        while left:
            for rank in left:
                arcs = roads.into[rank]
                self._serve(arcs[~self.is_out[roads.src[arcs]]], slots, is_late=is_late)
            before, left = left, [rank for rank in left if self.is_out[rank]]
            is_late = len(left) == len(before)

    def _serve(self, arcs: Longs, slots: Longs, *, is_late: bool) -> None:
        """Take in the receiver of some arcs where that is cheapest, if there is time or it has to be late."""
        roads = self.roads
        if not len(arcs):
            return
        held = self.held[roads.src[arcs]]
        cost = np.where(slots >= held[:, None], self.traffic.cost(arcs), np.inf)
        arc, start = divmod(int(cost.argmin()), len(slots))
        if not np.isfinite(cost[arc, start]):
            if not is_late:
                return
            arc = int((held + roads.span[arcs]).argmin())
            start = min(int(held[arc]), len(slots) - 1)
        self._join(int(arcs[arc]), start)
