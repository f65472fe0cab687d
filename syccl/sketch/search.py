"""Sketches by search: few stages over the levels of the cluster, for sizes at which latency counts.

A sketch says by which level (inside an island, between islands) a chunk reaches whom, in which stage (SyCCL, SIGCOMM
2025, section 4.1). Islands at equal latency from the root's are treated alike, which is the pruning that keeps the
search small; which sketch or mix of sketches is fastest is left to the simulated time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from syccl.sketch.grid import Grid
from syccl.sketch.model import Hop, both_trees, in_tree, out_tree
from syccl.sketch.plan import connection_plan
from syccl.sketch.quotient import Quotient
from syccl.sketch.words import Word, hops_of, spelled, spreading_words, summing_words

_MATES = 0
"""Way into an island in which every mate of the root sends to its own partner there."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A named recipe for the hops of the chunk of any root."""

    name: str
    hops: Callable[[int], tuple[Hop, ...]]


class Levels:
    """Islands, the partner of each rank in every other island, and how far islands are apart.

    Raises nothing; where islands are not fully joined inside, ``is_joined`` is False and no sketch is offered.
    """

    def __init__(self, quotient: Quotient, islands: tuple[tuple[int, ...], ...]) -> None:
        self.quotient, self.islands = quotient, islands
        self.home = {rank: i for i, members in enumerate(islands) for rank in members}
        routed = np.diff(quotient.route_start) > 0
        self.routed = routed[quotient.arc_class]
        np.fill_diagonal(self.routed, val=False)
        self.is_joined = all(self.routed[u, v] for members in islands for u in members for v in members if u != v)
        self.allowed = connection_plan(quotient, islands) if len(islands) > 1 else self.routed
        self.latency_s = quotient.class_latencies_s[quotient.arc_class]
        self._partners: dict[tuple[int, int], int | None] = {}

    def partner(self, rank: int, island: int) -> int | None:
        """Return the rank of another island that ``rank`` sends to."""
        if (rank, island) not in self._partners:
            choices = [v for v in self.islands[island] if self.routed[rank, v]]
            self._partners[rank, island] = min(
                choices, key=lambda v: (not self.allowed[rank, v], self.latency_s[rank, v], v), default=None
            )
        return self._partners[rank, island]

    def gate(self, rank: int, island: int) -> int:
        """Return the rank that sends to another island what ``rank`` has: itself, or a mate where it has no partner.

        Ranks without a partner take the mates that have one by turns.
        """
        if self.partner(rank, island) is not None:
            return rank
        mates = self.islands[self.home[rank]]
        gates = [mate for mate in mates if self.partner(mate, island) is not None]
        if not gates:
            return rank
        without = [mate for mate in mates if mate not in gates]
        return gates[without.index(rank) % len(gates)]

    def others(self, root: int) -> list[int]:
        """Return the islands other than the root's, nearest first."""
        home = self.home[root]
        far = {i: self._distance(root, i) for i in range(len(self.islands)) if i != home}
        return sorted(far, key=lambda i: (far[i], i))

    def rings(self, root: int) -> list[list[int]]:
        """Return the other islands grouped by their latency from the root, nearest first."""
        return [list(group) for _, group in itertools.groupby(self.others(root), key=lambda i: self._distance(root, i))]

    def _distance(self, root: int, island: int) -> float:
        gate = self.gate(root, island)
        partner = self.partner(gate, island)
        if partner is None:
            return np.inf
        return round(float(self.latency_s[root, gate] + self.latency_s[gate, partner]) * 1e12)


def word_sketches(grid: Grid, *, sums: bool, inward: bool = False) -> list[Sketch]:
    """Return the words over the dimensions of a grid, for allreduce or allgather, ``inward`` for reducescatter."""
    words = summing_words(grid.dimensions) if sums else spreading_words(grid.dimensions)
    mirror = inward and not sums
    return [Sketch(spelled(word), partial(_word_hops, word, grid, mirror)) for word in words]


def _word_hops(word: Word, grid: Grid, mirror: bool, root: int) -> tuple[Hop, ...]:
    hops = hops_of(word, grid, root)
    if not mirror:
        return hops
    last = len(word) - 1
    return tuple(Hop(hop.dst, hop.src, last - hop.stage, True) for hop in reversed(hops))


def spreading_sketches(levels: Levels, *, inward: bool = False) -> list[Sketch]:
    """Return sketches for allgather, or with ``inward`` their mirror images for reducescatter."""
    if not levels.is_joined:
        return []
    rings = max(len(levels.rings(root)) for root in levels.quotient.representatives.tolist())
    sizes = {len(members) for members in levels.islands}
    entries = [k for k in range(1, max(sizes) + 1) if all(size % k == 0 for size in sizes)]
    ways = [*entries, _MATES] if len(levels.islands) > 1 else [1]
    make = in_tree if inward else out_tree
    sketches = []
    for choice in itertools.product(ways, repeat=min(rings, 3)):
        name = "spread " + " ".join("mates" if way == _MATES else f"{way} in" for way in choice)
        sketches.append(Sketch(name if choice else "star", _tree_hops(levels, choice, make)))
    return sketches


def _tree_hops(
    levels: Levels, choice: Sequence[int], make: Callable[[int, dict[int, int]], tuple[Hop, ...]]
) -> Callable[[int], tuple[Hop, ...]]:
    return lambda root: make(root, _tree(levels, root, choice))


def _tree(levels: Levels, root: int, choice: Sequence[int]) -> dict[int, int]:
    """Return child -> parent: the root's island as a star, each other island by the way chosen for its distance."""
    mates = levels.islands[levels.home[root]]
    parent = {mate: root for mate in mates if mate != root}
    for ring, islands in enumerate(levels.rings(root)):
        way = choice[min(ring, len(choice) - 1)]
        for island in islands:
            parent.update(_by_mates(levels, mates, island) if way == _MATES else _by_entries(levels, root, island, way))
    return parent


def _by_mates(levels: Levels, mates: Sequence[int], island: int) -> dict[int, int]:
    members = levels.islands[island]
    parent: dict[int, int] = {}
    for mate in mates:
        partner = levels.partner(mate, island)
        if partner is not None:
            parent.setdefault(partner, mate)
    heads = list(parent)
    rest = [v for v in members if v not in parent] if heads else []
    parent.update({v: heads[i % len(heads)] for i, v in enumerate(rest)})
    return parent


def _by_entries(levels: Levels, root: int, island: int, entries: int) -> dict[int, int]:
    """Return an island served over some entries that the root, or a mate for it, sends to; each serves its share."""
    members = list(levels.islands[island])
    root = levels.gate(root, island)
    partner = levels.partner(root, island)
    turn = members.index(partner) if partner is not None else 0
    members = members[turn:] + members[:turn]
    reached = [v for v in members if levels.routed[root, v]]
    heads = reached[:: max(1, len(reached) // entries)][:entries]
    rest = [v for v in members if v not in heads] if heads else []
    return {**dict.fromkeys(heads, root), **{v: heads[i * len(heads) // len(rest)] for i, v in enumerate(rest)}}


def summing_sketches(levels: Levels) -> list[Sketch]:
    """Return sketches for allreduce: exchanges in which several ranks form the same sum, and tree pairs."""
    if not levels.is_joined:
        return []
    pairs = [Sketch("tree pair, " + s.name, _pair_hops(levels, s)) for s in _few(spreading_sketches(levels))]
    if len(levels.islands) == 1:
        return [Sketch("all to all", lambda root: _one_step(levels.islands[0], 0)), *pairs]
    return [
        Sketch("reduce, exchange, spread", lambda root: _owner_exchange(levels, root)),
        Sketch("exchange, all to all", lambda root: _exchange_first(levels)),
        Sketch("all to all, exchange", lambda root: _exchange_last(levels)),
        Sketch("gather to owners, spread", lambda root: _raw_to_owners(levels, root)),
        *pairs,
    ]


def _few(sketches: list[Sketch]) -> list[Sketch]:
    return [s for s in sketches if len(set(s.name.removeprefix("spread ").split(" "))) <= 2]


def _pair_hops(levels: Levels, sketch: Sketch) -> Callable[[int], tuple[Hop, ...]]:
    def hops(root: int) -> tuple[Hop, ...]:
        tree = {hop.dst: hop.src for hop in sketch.hops(root)}
        return both_trees(root, tree, tree)

    return hops


def _one_step(members: Sequence[int], stage: int) -> tuple[Hop, ...]:
    return tuple(Hop(u, v, stage, True) for u in members for v in members if u != v)


def _owners(levels: Levels, root: int) -> list[int]:
    """Return one owner per island: the root and its partners."""
    owners = []
    for island in range(len(levels.islands)):
        partner = root if island == levels.home[root] else levels.partner(root, island)
        owners.append(levels.islands[island][0] if partner is None else partner)
    return owners


def _owner_exchange(levels: Levels, root: int) -> tuple[Hop, ...]:
    owners = _owners(levels, root)
    local = [(u, owner) for owner in owners for u in levels.islands[levels.home[owner]] if u != owner]
    up = tuple(Hop(u, owner, 0, True) for u, owner in local)
    down = tuple(Hop(owner, u, 2) for u, owner in local)
    return up + _one_step(owners, 1) + down


def _raw_to_owners(levels: Levels, root: int) -> tuple[Hop, ...]:
    owners = _owners(levels, root)
    ranks = sorted(levels.home)
    up = tuple(Hop(u, owner, 0, True) for owner in owners for u in ranks if u != owner)
    down = tuple(Hop(owner, u, 1) for owner in owners for u in levels.islands[levels.home[owner]] if u != owner)
    return up + down


def _exchanges(levels: Levels, stage: int) -> tuple[Hop, ...]:
    """Return the hops in which every rank sends what it holds to its partners in all other islands."""
    hops = []
    for rank, home in sorted(levels.home.items()):
        for island in range(len(levels.islands)):
            partner = levels.partner(rank, island) if island != home else None
            if partner is not None:
                hops.append(Hop(rank, partner, stage, True))
    return tuple(hops)


def _exchange_first(levels: Levels) -> tuple[Hop, ...]:
    return _exchanges(levels, 0) + tuple(hop for members in levels.islands for hop in _one_step(members, 1))


def _exchange_last(levels: Levels) -> tuple[Hop, ...]:
    return tuple(hop for members in levels.islands for hop in _one_step(members, 0)) + _exchanges(levels, 1)
