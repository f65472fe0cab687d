"""Structured trees by rip-up and re-route: even loads on links *and* on connections.

Every piece gets a tree that enters each island once and spreads inside it by a star (where the island is fully joined);
trees are chosen one by one under prices that grow exponentially with the load of each link orbit, as in global routing
of circuits, and each is taken out and put back at current prices in later passes. Everything happens in the quotient
by the symmetry group, so that a tree stands for all its images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InternalError
from syccl.sketch.model import Hop, Piece, both_trees, in_tree, out_tree
from syccl.sketch.plan import connection_plan
from syccl.sketch.quotient import Quotient

Floats = NDArray[np.float64]

_STEEPNESS = 40.0
_CONNECTION_SHARE = 64e9
"""Soft capacity of one connection, bytes/s: four thread blocks of 20 GB/s, one fifth spare."""
_OPEN, _EVEN, _FAN, _DEPTH, _PREFER, _DETOUR = 0.15, 0.3, 0.1, 0.03, 0.3, 0.02
_NOISE = 1e-5
_REHANG_GAIN = 0.05
_ROOTS_TRIED = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """How trees are built; candidates differ in it.

    Parameters
    ----------
    wave
        Order in which islands feed one another: ``"binomial"``, ``"chain"`` or ``"star"``.
    relays
        0: the holder serves its whole island; else it serves that many relays, which serve the others.
    """

    wave: str = "binomial"
    relays: int = 0


@dataclass
class TreeRouter:
    """Loads of the trees placed so far, and the prices that follow from them.

    Parameters
    ----------
    unit_bound
        Certified bound in units of pieces: seconds per byte of a piece that the busiest link must spend.
    """

    quotient: Quotient
    islands: tuple[tuple[int, ...], ...]
    unit_bound: float
    shape: Shape
    load: Floats = field(init=False)
    use: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Start with nothing placed."""
        q = self.quotient
        n = q.ranks
        self.load = np.zeros(len(q.capacities))
        self.use = np.zeros(len(q.class_weights))
        self.island_of = np.zeros(n, dtype=np.int64)
        for i, members in enumerate(self.islands):
            self.island_of[list(members)] = i
        self.room = q.capacities * self.unit_bound
        self.scale = 0.3 / float(q.capacities.min())
        self.missing = ~np.isfinite(q.arc_costs(np.zeros(len(q.capacities))))
        np.fill_diagonal(self.missing, val=True)
        self.crossing = self.island_of[:, None] != self.island_of[None, :]
        self.is_switch = [is_one_switch(q, members) for members in self.islands]
        if len(self.islands) > 1:
            self.missing |= self.crossing & ~connection_plan(q, self.islands)

    def prices(self) -> Floats:
        """Return the cost of every arc, shape ``(ranks, ranks)``, infinite where there is no route."""
        q = self.quotient
        fill = np.minimum(_STEEPNESS * (self.load / self.room - 1.0), 60.0)
        link = (np.exp(fill) + 1e-3) / q.capacities
        busy = np.minimum(_STEEPNESS * (self.use / (_CONNECTION_SHARE * self.unit_bound) - 1.0), 60.0)
        per_class = q.class_weights @ link + np.exp(busy) / _CONNECTION_SHARE
        costs: Floats = per_class[q.arc_class]
        costs[self.missing] = np.inf
        return costs

    def count(self, hops: tuple[Hop, ...], sign: float) -> None:
        """Add (or take out) the load of hops."""
        for hop in hops:
            kind = self.quotient.arc_class[hop.src, hop.dst]
            self.use[kind] += sign
            self.load += sign * self.quotient.class_weights[kind]

    def tree(self, root: int, wave: int, *, inward: bool = False) -> dict[int, int]:
        """Return a spanning tree from ``root`` as child -> parent at current prices, its load added.

        ``inward`` prices the arcs from child to parent, for reductions.
        """
        grower = _Grower(self, root, wave, inward)
        grower.grow()
        if len(self.islands) > 1 and all(self.is_switch):
            grower.rehang()
        return grower.parent


class _Grower:
    """Prim's algorithm over islands, with stars (or local Prim) inside; counts each arc as it is taken."""

    def __init__(self, router: TreeRouter, root: int, wave: int, inward: bool) -> None:
        self.router, self.root, self.wave, self.inward = router, root, wave, inward
        n = router.quotient.ranks
        self.parent: dict[int, int] = {}
        self.holder: dict[int, int] = {}
        self.outgoing: dict[int, int] = {}
        self.held = np.zeros(n, dtype=bool)
        self.depth = np.zeros(n)
        self.fan = np.zeros(n)
        self.noise = _noise(n, root * 64 + wave) * (_NOISE * router.scale)
        # Without symmetry one tree hardly moves the prices; with it each arc stands for many.
        self.live = router.quotient.group.order > 1
        self._worth = _REHANG_GAIN * router.scale
        self._read_prices()

    def _read_prices(self) -> None:
        costs, uses = self.router.prices(), self.router.use[self.router.quotient.arc_class]
        self.costs, self.uses = (costs.T, uses.T) if self.inward else (costs, uses)
        self.stale = False

    def grow(self) -> None:
        self._enter(self.root, None)
        self._spread_islands()

    def rehang(self) -> None:
        """Give leaves a cheaper parent where the gain is worth it."""
        busy = set(self.parent.values()) | {self.root}
        leaves = [v for v in self.parent if v not in busy]
        total = self._arc_totals()
        over = [self.parent[v] for v in leaves]
        gains = total[over, leaves] - total[:, leaves].min(axis=0)
        for leaf in [v for v, gain in zip(leaves, gains.tolist(), strict=True) if gain > self._worth]:
            if self.live and self.stale:
                total = self._arc_totals()
            best = int(np.argmin(total[:, leaf]))
            gain = total[self.parent[leaf], leaf] - total[best, leaf]
            if gain > self._worth and not _is_below(self.parent, best, leaf):
                self._count(leaf, self.parent[leaf], -1.0)
                self.parent[leaf] = best
                self._count(leaf, best, 1.0)

    def _arc_totals(self) -> Floats:
        """Return current costs with what opening a connection between islands costs; infinite on the diagonal."""
        if self.live and self.stale:
            self._read_prices()
        opening = self.router.scale * _OPEN / (1.0 + self.uses)
        total: Floats = self.costs + np.where(self.router.crossing, opening, 0.0)
        np.fill_diagonal(total, np.inf)
        return total

    def _count(self, child: int, over: int, sign: float) -> None:
        self.router.count((Hop(child, over, 0) if self.inward else Hop(over, child, 0),), sign)
        self.stale = True

    def _attach(self, child: int, over: int) -> None:
        self.parent[child] = over
        self.held[child] = True
        self.depth[child] = self.depth[over] + 1
        self.fan[over] += 1
        self._count(child, over, 1.0)

    def _enter(self, entry: int, over: int | None) -> None:
        """Hold ``entry`` and serve its island from it, directly or over relays."""
        if over is not None:
            self._attach(entry, over)
        self.held[entry] = True
        island = int(self.router.island_of[entry])
        self.holder[island] = entry
        if self.router.is_switch[island]:
            self._star(entry, [v for v in self.router.islands[island] if v != entry])
        else:
            self._spread_ranks(self.router.islands[island])

    def _star(self, entry: int, mates: list[int]) -> None:
        relays = self.router.shape.relays or len(mates)
        turn = (self.wave + entry) % max(1, len(mates))
        mates = mates[turn:] + mates[:turn]
        for i, mate in enumerate(mates):
            self._attach(mate, entry if i < relays else mates[i % relays])

    def _spread_islands(self) -> None:
        router = self.router
        of = router.island_of
        preferred = _preferred(len(router.islands), int(of[self.root]), self.wave, router.shape.wave)
        wrong = of[:, None] != preferred[of][None, :]
        crossing = router.crossing & ~router.missing
        for step in range(len(router.islands) - 1):
            if step == 0 or (self.live and self.stale):
                if self.stale and self.live:
                    self._read_prices()
                base = self._entry_costs(crossing) + router.scale * _PREFER * wrong
            total = base + self._sender_costs()[:, None]
            total[~self.held, :] = np.inf
            total[:, self.held] = np.inf
            src, dst = divmod(int(np.argmin(total)), len(of))
            self.outgoing[int(of[src])] = self.outgoing.get(int(of[src]), 0) + 1
            self._enter(dst, src)

    def _entry_costs(self, crossing: NDArray[np.bool_]) -> Floats:
        """Return the cost of entering the head's island over each arc, and of serving it from there."""
        scale = self.router.scale
        average = self._average(crossing)
        local = np.where(self.router.crossing | self.router.missing, 0.0, self.costs).sum(axis=1)
        total: Floats = self.costs + local[None, :] + scale * _OPEN / (1.0 + self.uses) + self.noise
        total += scale * _EVEN * (self.uses - average) / (average + 2.0)
        total[~crossing] = np.inf
        return total

    def _sender_costs(self) -> Floats:
        """Return what is added for each sender: its island's depth and fan-out, and a detour from its entry."""
        of = self.router.island_of
        island = np.zeros(len(self.router.islands))
        for i, head in self.holder.items():
            island[i] = _DEPTH * self.depth[head] + _FAN * self.outgoing.get(i, 0)
        detour = np.full(len(of), _DETOUR)
        detour[list(self.holder.values())] = 0.0
        total: Floats = self.router.scale * (detour + island[of])
        return total

    def _average(self, crossing: NDArray[np.bool_]) -> Floats:
        """Return the mean use of the arcs in use between each pair of islands, spread over the arcs."""
        of, islands = self.router.island_of, len(self.router.islands)
        pair = of[:, None] * islands + of[None, :]
        used = np.where(crossing, self.uses, 0.0)
        total = np.bincount(pair.ravel(), weights=used.ravel(), minlength=islands**2)
        open_arcs = np.bincount(pair.ravel(), weights=(used > 0).ravel(), minlength=islands**2)
        mean: Floats = (total / np.maximum(open_arcs, 1.0))[pair]
        return mean

    def _spread_ranks(self, members: tuple[int, ...]) -> None:
        """Grow rank by rank inside an island, preferring shallow trees of small fan-out."""
        scale = self.router.scale
        inside = np.array(members)
        waiting = ~self.held[inside]
        while waiting.any():
            if self.live and self.stale:
                self._read_prices()
            rows, columns = inside[~waiting], inside[waiting]
            penalty = scale * (_DEPTH * self.depth[rows] + _FAN / 10 * self.fan[rows])
            total = self.costs[np.ix_(rows, columns)] + self.noise[np.ix_(rows, columns)] + penalty[:, None]
            row, column = divmod(int(np.argmin(total)), len(columns))
            self._attach(int(columns[column]), int(rows[row]))
            waiting = ~self.held[inside]


def route_allgather(router: TreeRouter, pieces: int, *, inward: bool = False, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` trees for every representative root; ``inward`` makes them in-trees (reducescatter)."""

    def build(slot: tuple[int, int]) -> Piece:
        root, wave = slot
        parent = router.tree(root, wave, inward=inward)
        return Piece(root, in_tree(root, parent) if inward else out_tree(root, parent), "structured")

    slots = [(root, wave) for wave in range(pieces) for root in router.quotient.representatives.tolist()]
    return _negotiate(router, slots, build, passes)


def route_allreduce(router: TreeRouter, pieces: int, *, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` in-tree and out-tree pairs, each at the root where both together cost least."""
    reps = router.quotient.representatives.tolist()
    step = max(1, len(reps) // _ROOTS_TRIED)

    def build(slot: tuple[int, int]) -> Piece:
        turn, wave = slot
        best: tuple[float, Piece] | None = None
        for i in range(min(len(reps), _ROOTS_TRIED)):
            root = reps[(turn + i * step) % len(reps)]
            costs = router.prices()
            inward, outward = router.tree(root, wave, inward=True), router.tree(root, wave)
            piece = Piece(root, both_trees(root, inward, outward), "structured")
            router.count(piece.hops, -1.0)
            price = float(sum(costs[hop.src, hop.dst] for hop in piece.hops))
            if best is None or price < best[0]:
                best = (price, piece)
        if best is None:
            msg = "a topology without ranks cannot be routed"
            raise InternalError(msg)
        router.count(best[1].hops, 1.0)
        return best[1]

    slots = [(k % len(reps), k // len(reps)) for k in range(pieces)]
    return _negotiate(router, slots, build, passes)


def _negotiate(
    router: TreeRouter,
    slots: list[tuple[int, int]],
    build: Callable[[tuple[int, int]], Piece],
    passes: int,
) -> tuple[Piece, ...]:
    """Place every piece, then take each out and put it back at current prices."""
    placed = [build(slot) for slot in slots]
    for _ in range(passes - 1):
        for i, slot in enumerate(slots):
            router.count(placed[i].hops, -1.0)
            placed[i] = build(slot)
    return tuple(placed)


def is_one_switch(quotient: Quotient, members: tuple[int, ...]) -> bool:
    """Return whether a group behaves as one non-blocking switch.

    All pairs have routes of one rate, and every link serves one sender or one receiver only.
    """
    routes = [(u, v, quotient.route(u, v)) for u in members for v in members if u != v]
    if any(not path for _, _, path in routes):
        return False
    senders: dict[int, set[int]] = defaultdict(set)
    receivers: dict[int, set[int]] = defaultdict(set)
    for u, v, path in routes:
        for link in path:
            senders[link].add(u)
            receivers[link].add(v)
    rates = quotient.topology.link_rates
    alone = all(len(senders[link]) == 1 or len(receivers[link]) == 1 for link in senders)
    return alone and len({min(float(rates[link]) for link in path) for _, _, path in routes}) <= 1


def _is_below(parent: dict[int, int], node: int, top: int) -> bool:
    while node in parent:
        node = parent[node]
        if node == top:
            return True
    return False


def _preferred(islands: int, home: int, wave: int, shape: str) -> NDArray[np.int64]:
    """Return the island that should feed each island, positions counted from the root's island."""
    preferred = np.full(islands, home, dtype=np.int64)
    order = [home] + [i for i in (np.arange(islands) + home + wave % max(1, islands)) % islands if i != home]
    for position in range(1, islands):
        before = {"binomial": position & (position - 1), "chain": position - 1, "star": 0}[shape]
        preferred[order[position]] = order[before]
    return preferred


def _noise(n: int, seed: int) -> Floats:
    """Return fixed pseudo-random values in [0, 1) per arc, so that equal costs do not always fall the same way."""
    return np.random.default_rng(seed).random((n, n))
