"""Ways: every direct arc between two ranks as the links that can make a transfer wait, in arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.quotient import Quotient

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ways:
    """All arcs between ranks.

    Only links that can bind are kept: a link that is never used without another one that is no faster is left out.

    Parameters
    ----------
    links
        Numbers of the binding links of every arc, filled up with ``len(seconds_per_byte) - 1``, a link that takes no
        time; shape ``(ranks, ranks, longest)``.
    seconds_per_byte
        Time that a byte occupies each binding link, shape ``(binding links + 1,)``, the last 0.
    latency_s
        Sum of alphas of every arc, infinite where no route is, shape ``(ranks, ranks)``.
    """

    links: Longs
    seconds_per_byte: Floats
    latency_s: Floats
    kept: Longs
    """Link of the topology behind every binding link, shape ``(binding links,)``."""
    can_queue: NDArray[np.bool_]
    """Whether a binding link can be asked for more than it has: false where all links before it, or all after it on
    its routes, together are no faster, so that transfers only have to share it well; shape ``(binding links + 1,)``."""

    @classmethod
    def of(cls, quotient: Quotient) -> Ways:
        """Return the ways of the quotient's routes, all of them one by one."""
        table = _route_table(quotient)
        rates = quotient.topology.link_rates
        kept = _binding(table, rates)
        number = np.full(len(rates) + 1, len(kept), dtype=np.int64)
        number[kept] = np.arange(len(kept))
        named = number[table]
        short = np.take_along_axis(named, np.argsort(named == len(kept), axis=2, kind="stable"), axis=2)
        longest = max(1, int((short < len(kept)).sum(axis=2).max(initial=0)))
        latency = np.append(quotient.topology.link_latencies_s, 0.0)[table].sum(axis=2)
        latency[(table == len(rates)).all(axis=2)] = np.inf
        queues = np.append(_can_queue(short, rates[kept]), False)
        return cls(short[:, :, :longest], np.append(1.0 / rates[kept], 0.0), latency, kept, queues)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.links)

    @property
    def reversed(self) -> Ways:
        """The same with every arc named by its other end first, for trees that lead to their root."""
        return replace(self, links=self.links.transpose(1, 0, 2), latency_s=self.latency_s.T)

    def near(self, islands: tuple[tuple[int, ...], ...]) -> Ways:
        """Return the same without detours between islands.

        Arcs that stay are of least latency from their sender to the other island, or from the own island to their
        receiver. On a rail fabric these are the rails, which do not meet.
        """
        latency = self.latency_s.copy()
        for tails in islands:
            for heads in islands:
                if tails != heads:
                    block = self.latency_s[np.ix_(tails, heads)]
                    shortest = (block == block.min(axis=1, keepdims=True)) | (block == block.min(axis=0, keepdims=True))
                    latency[np.ix_(tails, heads)] = np.where(shortest, block, np.inf)
        return replace(self, latency_s=latency)

    def uses(self, chunk_bytes: float) -> Floats:
        """Return the seconds that a chunk occupies the slowest link of every arc, shape ``(ranks, ranks)``."""
        return np.asarray(self.seconds_per_byte[self.links].max(axis=2) * chunk_bytes)


def _route_table(quotient: Quotient) -> Longs:
    """Return the links of the route of every arc, filled up with the number of links."""
    topology, group = quotient.topology, quotient.group
    lengths = np.diff(quotient.route_start)
    longest = max(1, int(lengths.max(initial=0)))
    filler = len(topology.links)
    place = np.arange(longest)[None, :]
    taken = np.minimum(quotient.route_start[:-1, None] + place, max(0, len(quotient.route_links) - 1))
    known = quotient.route_links[taken] if len(quotient.route_links) else np.zeros(taken.shape, dtype=np.int64)
    base = np.where(place < lengths[:, None], known, filler).astype(np.int64)
    routes = base[quotient.arc_class]
    if group.order == 1:
        return routes
    images = np.append(group.links, np.full((group.order, 1), filler, dtype=group.links.dtype), axis=1)
    return np.asarray(images[group.mover[:, None, None], routes], dtype=np.int64)


def _binding(table: Longs, rates: Floats) -> Longs:
    """Return the links that no other link of at most their rate accompanies on all of their routes, ascending.

    Links that accompany one on all of its routes are among those of any route of it, so only these are counted.
    """
    links = len(rates)
    used = np.bincount(table.ravel(), minlength=links + 1)
    flat = table.reshape(-1, table.shape[2])
    mates = np.full((links + 1, flat.shape[1]), links, dtype=np.int64)
    for place in range(flat.shape[1]):
        mates[flat[:, place]] = flat
    # Of links that always go together and are equally fast the first stays.
    speed = np.append(rates, np.inf)
    number = np.arange(links + 1)[:, None]
    mutual = used[mates] == used[:, None]
    no_faster = (speed[mates] < speed[:, None]) | ((speed[mates] == speed[:, None]) & (~mutual | (mates < number)))
    covered = np.zeros(links + 1, dtype=np.bool_)
    for column in np.flatnonzero((no_faster & (mates != number)).any(axis=0)):
        together = np.zeros(links + 1, dtype=np.int64)
        for place in range(flat.shape[1]):
            both = (flat == mates[flat[:, place], column][:, None]).any(axis=1)
            together += np.bincount(flat[both, place], minlength=links + 1)
        covered |= (together == used) & no_faster[:, column] & (mates[:, column] != number[:, 0])
    return np.flatnonzero((used > 0)[:links] & ~covered[:links])


def _can_queue(table: Longs, rates: Floats) -> NDArray[np.bool_]:
    """Return which links neither all links before them nor all links after them keep from being overloaded."""
    links = len(rates)
    flat = table.reshape(-1, table.shape[2])
    neighbours = [flat[:, i : i + 2] for i in range(table.shape[2] - 1)]
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *neighbours])
    pairs = pairs[(pairs < links).all(axis=1)]
    pairs = np.stack(np.divmod(np.unique(pairs[:, 0] * links + pairs[:, 1]), links), axis=1)
    found = np.ones(links, dtype=np.bool_)
    for near, far in ((0, 1), (1, 0)):
        total = (
            np.bincount(pairs[:, far], weights=rates[pairs[:, near]], minlength=links)
            if len(pairs)
            else np.zeros(links)
        )
        ends = flat[:, 0] if near == 0 else flat[np.arange(len(flat)), np.maximum((flat < links).sum(axis=1) - 1, 0)]
        outermost = np.zeros(links + 1, dtype=np.bool_)
        outermost[ends] = True
        found &= outermost[:links] | (total > rates)
    return found
