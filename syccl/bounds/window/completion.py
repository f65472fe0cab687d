"""AllReduce, sharper: until some part of the ranks knows the sum each other part sends, afterwards each receives.

A partition of the ranks into parts is given. For each byte, some part is the first whose ranks together know all
contributions; that moment falls into one of some classes of time. Before it, each rank outside has sent its
contribution out of its part; after it, something enters each other part and gets to each of its ranks. No transfer of
the byte is both. docs/bounds.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syccl.bounds.window.builder import Builder
from syccl.bounds.window.fabric import Fabric, Longs, Mask
from syccl.bounds.window.flows import Classes, Family
from syccl.bounds.window.grid import Grid
from syccl.symmetry.generators import orbit_labels, stabiliser

NEAR_ENDS = 3
"""Points of the grid at which classes of time are cut, from the first moment at which a part can know all, and last."""

BETWEEN = 4
"""Points between them."""


@dataclass(frozen=True, eq=False)
class End:
    """A rank that stands for its orbit, and the classes under the symmetries that fix it."""

    rank: int
    count: int
    ranks: Classes
    hops: Classes


@dataclass(frozen=True, eq=False)
class Completion:
    """A partition of the ranks that symmetries keep.

    Parameters
    ----------
    part
        Part of each rank, shape ``(ranks,)``.
    orbits
        Classes of parts.
    ends
        One rank for each orbit.
    """

    part: Longs
    orbits: Classes
    ends: tuple[End, ...]

    def others(self, rank: int) -> Longs:
        """Return for each class of parts how many do not hold a rank."""
        mine = self.orbits.label[self.part[rank]]
        return np.asarray(self.orbits.size - (np.arange(len(self.orbits.size)) == mine))


@dataclass(frozen=True, eq=False)
class CompletionLayout:
    """Rows of the program, -1 where there is none.

    Parameters
    ----------
    times
        Where classes of time begin, and the end; picoseconds.
    shared
        By (class of hops, interval).
    before, after
        For every class of time and end, by (the end's class of hops, interval).
    """

    times: Longs
    shared: Longs
    before: tuple[tuple[Longs, ...], ...]
    after: tuple[tuple[Longs, ...], ...]


def completion_of(fabric: Fabric, part: Longs) -> Completion | None:
    """Return a partition ready for use; None where symmetries do not keep it, or it has one part."""
    part = np.unique(part, return_inverse=True)[1].reshape(-1)
    first = np.unique(part, return_index=True)[1]
    ranks = fabric.on_ranks(fabric.nodes)
    images = part[ranks]
    if len(first) < 2 or not np.array_equal(images, images[:, first][:, part]):
        return None
    orbits = Classes.of(orbit_labels(images[:, first].astype(np.int32), len(first)))
    kinds = Classes.of(orbit_labels(ranks, fabric.ranks))
    ends = []
    for rank, count in zip(kinds.first.tolist(), kinds.size.tolist(), strict=True):
        moves = stabiliser(fabric.nodes, int(fabric.thin.gpus[rank]))
        own = Classes.of(orbit_labels(fabric.on_ranks(moves), fabric.ranks))
        hops = Classes.of(orbit_labels(fabric.on_hops(moves), fabric.hops))
        ends.append(End(rank, count, own, hops))
    return Completion(part, orbits, tuple(ends))


def add_completion(
    builder: Builder, place: tuple[Fabric, Grid, Longs], family: Family, what: tuple[Completion, Longs]
) -> CompletionLayout:
    """Add the rows of a partition to the program of an allreduce.

    Parameters
    ----------
    place
        The fabric, the grid and the payload's variable.
    what
        The partition, and the family's variables by (class of hops, interval).
    """
    return _Adder(builder, place, family, what).add()


class _Adder:
    def __init__(
        self, builder: Builder, place: tuple[Fabric, Grid, Longs], family: Family, what: tuple[Completion, Longs]
    ) -> None:
        self.builder = builder
        self.fabric, self.grid, self.payload = place
        self.family = family
        self.completion, self.sent = what
        self.times = class_times(self.fabric, self.grid, self.completion.part)
        self.first = builder.variables(np.ones((len(self.completion.orbits.size), len(self.times) - 1), dtype=np.bool_))

    def add(self) -> CompletionLayout:
        builder = self.builder
        whole = builder.constraints((1,), 0.0, 0.0)
        builder.add(whole, self.first, self.completion.orbits.size[:, None].astype(float))
        builder.add(whole, self.payload, -1.0)
        shared = builder.constraints(self.sent.shape, 0.0, np.inf)
        builder.add(shared, self.sent, 1.0)
        before, after = [], []
        for number in range(len(self.times) - 1):
            pre = [self._before(end, number) for end in self.completion.ends]
            post = [self._after(end, number) for end in self.completion.ends]
            before.append(self._carried(pre, shared))
            after.append(self._carried(post, shared))
        return CompletionLayout(self.times, shared, tuple(before), tuple(after))

    def _carried(self, amounts: list[Longs], shared: Longs) -> tuple[Longs, ...]:
        """Add what all ends' flows of one class of time need of each hop; return the rows that say so."""
        label = self.family.hops.label
        groups = [label[end.hops.first] for end in self.completion.ends]
        needed = np.zeros(shared.shape, dtype=np.bool_)
        for group, amount in zip(groups, amounts, strict=True):
            np.logical_or.at(needed, group, amount >= 0)
        carried = self.builder.variables(needed)
        self.builder.add(shared, carried, -1.0)
        rows = []
        for group, amount in zip(groups, amounts, strict=True):
            table = np.full(amount.shape, -1, dtype=np.int64)
            table[amount >= 0] = self.builder.constraints((int((amount >= 0).sum()),), 0.0, np.inf)
            self.builder.add(table, carried[group], 1.0)
            self.builder.add(table, amount, -1.0)
            rows.append(table)
        return tuple(rows)

    def _before(self, end: End, number: int) -> Longs:
        inner, leaving = before_masks(self.fabric, self.grid, (self.completion.part, end.rank, self.times[number + 1]))
        first = end.hops.first
        amount = self.builder.variables(inner[first] | leaving[first])
        balance, _ = self._storage(end)
        self._out(balance, end, amount)
        self._in(balance, end, np.where(inner[first], amount, -1))
        supply = balance[end.ranks.label[end.rank], 0]
        self._owed(supply, end, number)
        served = self.builder.constraints((1,), 0.0, np.inf)
        self.builder.add(served, np.where(leaving[first], amount, -1), end.hops.size[:, None].astype(float))
        self._owed(served, end, number)
        return amount

    def _after(self, end: End, number: int) -> Longs:
        inner, entering = after_masks(self.fabric, self.grid, (self.completion.part, end.rank, self.times[number]))
        first = end.hops.first
        amount = self.builder.variables(inner[first] | entering[first])
        balance, stored = self._storage(end)
        self._out(balance, end, np.where(inner[first], amount, -1))
        self._in(balance, end, amount)
        served = self.builder.constraints((1,), 0.0, np.inf)
        self.builder.add(served, stored[end.ranks.label[end.rank], -1], 1.0)
        self._owed(served, end, number)
        return amount

    def _storage(self, end: End) -> tuple[Longs, Longs]:
        """Add what is stored by (class of ranks, interval), and its balance, -1 outside the end's part."""
        part = self.completion.part
        inside = np.broadcast_to(
            (part[end.ranks.first] == part[end.rank])[:, None], (len(end.ranks.first), self.grid.intervals)
        )
        stored = self.builder.variables(inside)
        balance = np.full(stored.shape, -1, dtype=np.int64)
        balance[inside] = self.builder.constraints((int(inside.sum()),), 0.0, 0.0)
        self.builder.add(balance, stored, 1.0)
        self.builder.add(balance[:, 1:], stored[:, :-1], -1.0)
        return balance, stored

    def _out(self, balance: Longs, end: End, amount: Longs) -> None:
        tail = end.ranks.label[self.fabric.tail[end.hops.first]]
        self.builder.add(balance[tail], amount, (end.hops.size / end.ranks.size[tail])[:, None])

    def _in(self, balance: Longs, end: End, amount: Longs) -> None:
        head = end.ranks.label[self.fabric.head[end.hops.first]]
        arrival = self.grid.arrival(self.fabric.alpha[end.hops.first])
        last = self.grid.intervals - 1
        rows = np.where(arrival <= last, balance[head[:, None], np.minimum(arrival, last)], -1)
        self.builder.add(rows, amount, -(end.hops.size / end.ranks.size[head])[:, None])

    def _owed(self, row: Longs, end: End, number: int) -> None:
        """Take from a row the bytes whose first part does not hold the end."""
        others = self.completion.others(end.rank).astype(float)
        self.builder.add(row, self.first[:, number], -others)


def class_times(fabric: Fabric, grid: Grid, part: Longs) -> Longs:
    """Return where classes of time begin and the last ends, picoseconds.

    Any times are valid. Near both ends, where links serve one rank only, they must be points of the grid to say much.
    """
    nearest = np.array([fabric.distance[:, part == i].min(axis=1).max() for i in range(int(part.max()) + 1)])
    points = grid.points[(grid.points >= nearest.min()) & (grid.points > 0)]
    first, last = points[:NEAR_ENDS], points[-NEAR_ENDS - 1 :]
    ends = np.concatenate([[0], first, last, [grid.horizon]])
    if not len(points) or first[-1] >= last[0]:
        return np.unique(ends)
    between = np.linspace(first[-1], last[0], BETWEEN + 2).astype(np.int64)
    return np.unique(np.concatenate([ends, between]))


def before_masks(fabric: Fabric, grid: Grid, at: tuple[Longs, int, int]) -> tuple[Mask, Mask]:
    """Return when hops within a rank's part, and out of it, may carry its contribution until some time.

    Shapes ``(hops, intervals)``; ``at`` holds the parts, the rank and the time.
    """
    part, rank, until = at
    inside, beyond = part[fabric.tail] == part[rank], part[fabric.head] == part[rank]
    early = grid.end[None, :] > fabric.distance[rank][fabric.tail][:, None]
    landed = grid.begin[None, :] + fabric.alpha[:, None]
    leaving = (inside & ~beyond)[:, None] & early & (landed < until)
    least = fabric.alpha[inside & ~beyond].min(initial=1 << 60)
    inner = (inside & beyond & (fabric.head != rank))[:, None] & early & (landed + least < until)
    return inner, leaving


def after_masks(fabric: Fabric, grid: Grid, at: tuple[Longs, int, int]) -> tuple[Mask, Mask]:
    """Return when hops within a rank's part, and into it, may carry the sum to it from some time on.

    Shapes ``(hops, intervals)``; ``at`` holds the parts, the rank and the time.
    """
    part, rank, since = at
    inside, within = part[fabric.tail] == part[rank], part[fabric.head] == part[rank]
    left = fabric.distance[:, rank][fabric.head]
    in_time = grid.begin[None, :] + (fabric.alpha + np.minimum(left, 1 << 60))[:, None] < grid.horizon
    entering = (~inside & within)[:, None] & in_time & (grid.end[None, :] + fabric.alpha[:, None] > since)
    inner = (inside & within & (fabric.tail != rank))[:, None] & in_time & (grid.end[None, :] > since)
    return inner, entering
