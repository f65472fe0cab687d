"""Roads: arcs between ranks as transfers of a piece see them, in slots of time up to a deadline."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InfeasibleError
from syccl.sketch.ways import Ways

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_FEWEST_SLOTS, _MOST_SLOTS = 32, 48
"""Slots up to the deadline."""
_EARLY = 0.02
"""Part of a slot by which a transfer may arrive before its time is over."""
_SLACK = 1.05
"""Arcs that cannot arrive by the deadline, or a little later, are left out."""
_IN_SIGHT = 2
"""Arcs over which a tree sees whom it can reach."""
_BLUR = 0.25
"""Share of a transfer that is taken to pass one slot earlier than planned, and as much one slot later."""


@dataclass(frozen=True, eq=False)
class Roads:
    """All arcs that do not lead to the root, by sender, and what a piece takes of their links.

    Parameters
    ----------
    links
        Links of every arc, shape ``(arcs, longest)``; the last link takes no time.
    span
        Slots from the start of a transfer to its arrival, shape ``(arcs,)``.
    latest
        Slot in which each rank must hold a piece at the latest, shape ``(ranks,)``.
    share
        What a piece that takes a link from a slot on takes of it in the slot before, in this one and in those after
        it, shape ``(links, longest)``.
    delay
        Slots from the start of a transfer until it takes each link, shape ``(arcs, longest)``: none, or as many as are
        left when it takes the link just before it arrives.
    """

    root: int
    ranks: int
    src: Longs
    dst: Longs
    links: Longs
    span: Longs
    latest: Longs
    share: Floats
    delay: Longs
    slot_s: float
    slots: int

    @classmethod
    def of(cls, ways: Ways, root: int, *, chunk_bytes: float, deadline_s: float, at_end: bool = False) -> Roads:
        """Return the arcs that can be of use up to a deadline, which is put off where no tree could keep it.

        Parameters
        ----------
        at_end
            Whether transfers take links just before they arrive, as those do that are mirrored in time, instead of when
            they start.

        Raises
        ------
        InfeasibleError
            When some rank cannot be reached.
        """
        length = ways.uses(chunk_bytes) + ways.latency_s
        reached, above = _shortest(length, root)
        if not np.isfinite(reached).all():
            msg = f"no tree joins rank {root} with every other rank; check the directions of the links"
            raise InfeasibleError(msg)
        deadline_s = max(deadline_s, float(reached.max()))
        usable = reached[:, None] + length <= _SLACK * deadline_s
        usable[:, root] = False
        number, spans = _spans(length, root, deadline_s)
        slot_s = deadline_s / number
        src, dst = np.nonzero(usable)
        busy = ways.seconds_per_byte * chunk_bytes / slot_s
        links, span = ways.links[src, dst], spans[src, dst].astype(np.int64)
        free = span[:, None] - np.maximum(1, np.ceil(busy - _EARLY).astype(np.int64))[links]
        return cls(
            root=root,
            ranks=ways.ranks,
            src=src,
            dst=dst,
            links=links,
            span=span,
            latest=number - _needed_after(spans, above),
            share=_shares(busy),
            delay=np.maximum(0, free) if at_end else np.zeros_like(links),
            slot_s=slot_s,
            slots=number,
        )

    @cached_property
    def in_time(self) -> NDArray[np.bool_]:
        """Whether a transfer that starts in a slot arrives before it must, shape ``(arcs, slots)``."""
        return np.asarray(np.arange(self.slots) <= (self.latest[self.dst] - self.span)[:, None])

    @cached_property
    def before(self) -> Longs:
        """Slot in which a transfer starts that arrives in a slot; ``self.slots`` where none does."""
        start = np.arange(self.slots + 1) - self.span[:, None]
        return np.where(start < 0, self.slots, start)

    @cached_property
    def by_dst(self) -> Longs:
        """Arcs by receiver."""
        return np.argsort(self.dst, kind="stable")

    @cached_property
    def place(self) -> Longs:
        """Place of every arc among all arcs by receiver."""
        return np.argsort(self.by_dst, kind="stable")

    @cached_property
    def sent(self) -> Longs:
        """Place of the sender at the start of a transfer that arrives in a slot, for all arcs by receiver.

        Places are those of an array of shape ``(ranks, slots + 1)``, made flat.
        """
        return np.asarray((self.src[:, None] * (self.slots + 1) + self.before)[self.by_dst])

    @cached_property
    def into(self) -> list[Longs]:
        """Arcs into every rank."""
        return [np.flatnonzero(self.dst == rank) for rank in range(self.ranks)]

    @cached_property
    def of_link(self) -> list[Longs]:
        """Arcs over every link."""
        return [np.flatnonzero((self.links == link).any(axis=1)) for link in range(len(self.share) - 1)]

    @cached_property
    def senders(self) -> tuple[Longs, Longs]:
        """Ranks that have arcs, and the first arc of each."""
        return groups(self.src)

    @cached_property
    def receivers(self) -> tuple[Longs, Longs]:
        """Ranks that have arcs to them, and the first of each by receiver."""
        return groups(self.dst[self.by_dst])

    def least_into(self, costs: Floats) -> Floats:
        """Return the least of some costs over all arcs into every rank; arcs by receiver, in every slot."""
        least = np.full((self.ranks, costs.shape[1]), np.inf)
        ranks, first = self.receivers
        if len(ranks):
            least[ranks] = np.minimum.reduceat(costs, first, axis=0)
        return least

    def sum_from(self, values: Floats) -> Floats:
        """Return the sum of some values over all arcs from every rank, in every slot."""
        total = np.zeros((self.ranks, values.shape[1]))
        ranks, first = self.senders
        if len(ranks):
            total[ranks] = np.add.reduceat(values, first, axis=0)
        return total


def _shares(busy: Floats) -> Floats:
    """Return what a transfer takes of links that it keeps busy for some slots, in each slot from one before its own."""
    slots = max(1, int(np.ceil(busy.max(initial=0.0) - 1e-9)))
    used = np.clip(busy[:, None] - np.arange(slots), 0.0, 1.0)
    share = np.zeros((len(busy), slots + 2))
    for shift, weight in enumerate((_BLUR, 1.0 - 2.0 * _BLUR, _BLUR)):
        share[:, shift : shift + slots] += weight * used
    return share


def _spans(length_s: Floats, root: int, deadline_s: float) -> tuple[int, Floats]:
    """Return a number of slots and what arcs take of them, rounded with little waste, so that every rank is reached.

    Arcs are rounded up where that leaves enough time, else to the nearest.
    """
    lengths_s = np.unique(length_s[length_s <= deadline_s])
    tried = []
    for early in (_EARLY, 0.5):
        for number in range(_FEWEST_SLOTS, _MOST_SLOTS + 1):
            filled = lengths_s * (number / deadline_s)
            waste = round(float(np.abs(np.ceil(filled - early) - filled).max(initial=0.0)) / number, 6)
            tried.append((early, waste, number))
    for early, _, number in sorted(tried):
        spans = np.ceil(np.minimum(length_s * (number / deadline_s), 2.0 * number) - early)
        spans[~np.isfinite(length_s)] = np.inf
        if _shortest(spans, root)[0].max() <= number:
            break
    return number, spans


def _shortest(length: Floats, root: int) -> tuple[Floats, list[int]]:
    """Return the length of the shortest chain of arcs from the root to every rank, and the rank before each, or -1."""
    reached = np.full(len(length), np.inf)
    reached[root] = 0.0
    above = np.full(len(length), -1, dtype=np.int64)
    waiting = reached.copy()
    for _ in range(len(length)):
        near = int(waiting.argmin())
        if not np.isfinite(waiting[near]):
            break
        waiting[near] = np.inf
        there = reached[near] + length[near]
        sooner = there < reached
        reached[sooner], waiting[sooner], above[sooner] = there[sooner], there[sooner], near
    return reached, above.tolist()


def _needed_after(spans: Floats, above: Sequence[int]) -> Longs:
    """Return how many slots before the deadline each rank needs a piece so that ranks far away are reached through it.

    Of ranks that are many arcs away from the root, one shortest chain is kept open. Where fewer arcs lead from the
    root to a rank, a tree sees for itself how to reach it.
    """
    needed = np.zeros(len(above), dtype=np.int64)
    for rank in range(len(above)):
        chain = [rank]
        while above[chain[-1]] >= 0:
            chain.append(above[chain[-1]])
        if len(chain) > _IN_SIGHT + 1:
            left = 0
            for child, over in itertools.pairwise(chain):
                left += int(spans[over, child])
                needed[over] = max(needed[over], left)
    return needed


def groups(sorted_ranks: Longs) -> tuple[Longs, Longs]:
    """Return the distinct values of an ascending sequence, and where each begins."""
    ranks, first = np.unique(sorted_ranks, return_index=True)
    return ranks, first
