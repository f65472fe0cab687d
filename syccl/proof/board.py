"""What a proof states, laid out for checking: prices of all ways, verified symmetries, when ways are of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.findings import Finding
from syccl.proof.distance import INFINITE, arrivals
from syccl.proof.model import Certificate, Priced
from syccl.proof.symmetric import link_images
from syccl.proof.ways import NEVER, Ways, ways_of

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

LARGEST_PRICE = 1 << 34
"""Larger prices are refused, so that sums stay within 64 bits."""

MOST_INTERVALS = 256

FROM_ONE = frozenset({"allgather", "broadcast"})
DIRECT = frozenset({"alltoall", "scatter", "gather"})
ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})
UNEQUAL = "alltoallv"
WHOLE = frozenset({"allreduce", "broadcast", "reduce"})


class WrongError(Exception):
    """A rule that is broken."""

    def __init__(self, rule: str, where: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding("error", rule, where, message)


@dataclass(frozen=True, eq=False)
class Moves:
    """Verified symmetries as permutations of ranks, links and ways."""

    ranks: tuple[Longs, ...]
    links: tuple[Longs, ...]
    ways: tuple[Longs, ...]


class Board:
    """A proof's numbers in tables; everything is computed from topology and statement alone."""

    def __init__(self, certificate: Certificate) -> None:
        self.stated = certificate
        self.topology = certificate.topology
        self.op = certificate.op.name
        self.grid = certificate.grid.astype(np.int64)
        self.intervals = len(self.grid) - 1

    def check_prices(self, where: str, rows: Sequence[Priced], limit: int) -> None:
        """Check that ids are different and below a limit, and prices in range."""
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *(row.ids for row in rows)])
        if len(np.unique(ids)) < len(ids) or (len(ids) and not 0 <= ids.min() <= ids.max() < limit):
            raise WrongError("shape", where, f"ids must be different numbers in 0..{limit - 1}")
        for row in rows:
            if row.price.shape != (self.intervals,) or row.price.min() < 0 or row.price.max() > LARGEST_PRICE:
                text = f"needs {self.intervals} prices in 0..{LARGEST_PRICE}"
                raise WrongError("shape", where, text)

    @cached_property
    def ways(self) -> Ways:
        """All ways from GPU to GPU."""
        return ways_of(self.topology)

    @cached_property
    def arrival(self) -> Longs:
        """See ``distance.arrivals``."""
        return arrivals(self.ways, self.grid)

    def table(self, rows: Sequence[Priced], count: int) -> Longs:
        """Return prices by id and interval, shape ``(count, intervals)``."""
        table = np.zeros((count, self.intervals), dtype=np.int64)
        for row in rows:
            table[row.ids] = row.price
        return table

    @cached_property
    def link_prices(self) -> Longs:
        """Prices of links, shape ``(links, intervals)``."""
        return self.table(self.stated.links, len(self.topology.links))

    @cached_property
    def paid(self) -> Longs:
        """For every link its price times the length of each interval, summed; as Python numbers."""
        lasting = np.diff(self.grid).astype(object)
        return np.asarray(self.link_prices.astype(object) @ lasting)

    @cached_property
    def sources(self) -> Longs:
        """Ranks that hold data at the start."""
        only_root = self.op in {"broadcast", "scatter"}
        return np.array([self.stated.root]) if only_root else np.arange(self.topology.ranks)

    @cached_property
    def way_prices(self) -> Longs:
        """What the links of each way cost a byte that crosses the slowest of them in each interval.

        It crosses faster links in that interval or an earlier one, but not before data can be at the way's start.
        """
        begin = self.ways.distance[self.sources].min(axis=0)[self.ways.tail]
        open_at = self.grid[None, 1:] > begin[:, None]
        padded = np.concatenate([self.link_prices, np.zeros((1, self.intervals), dtype=np.int64)])
        total = np.zeros(open_at.shape, dtype=np.int64)
        for step in range(self.ways.links.shape[1]):
            price = padded[self.ways.links[:, step]]
            ahead = np.minimum.accumulate(np.where(open_at, price, INFINITE), axis=1)
            total += np.where(self.ways.slowest[:, step, None] | ~open_at, price, ahead)
        return total

    def moves(self, moves: tuple[Longs, ...], where: str, fixed: int | None) -> Moves:
        """Return permutations of nodes on ranks, links and ways, after checking that they keep all they must."""
        gpus = self.topology.gpus
        ranks, links, ways = list[Longs](), list[Longs](), list[Longs]()
        for number, move in enumerate(moves):
            name = f"{where}, permutation {number}"
            image = link_images(self.topology, move)
            if image is None:
                raise WrongError("symmetry", name, "is no symmetry of the topology")
            if not np.array_equal(self.link_prices[image], self.link_prices):
                raise WrongError("symmetry", name, "does not keep the prices of links")
            rank = np.array([self.topology.rank_of[int(move[gpu])] for gpu in gpus], dtype=np.int64)
            if fixed is not None and rank[fixed] != fixed:
                raise WrongError("symmetry", name, f"moves rank {fixed}")
            way = self.ways.moved(image)
            if way is None:
                raise WrongError("symmetry", name, "does not keep the ways")
            ranks.append(rank)
            links.append(image)
            ways.append(way)
        return Moves(tuple(ranks), tuple(links), tuple(ways))

    def usable(self, sources: Longs, sinks: Longs) -> Mask:
        """Return when data of a source can take a way and still get to a sink, shape ``(ways, intervals)``."""
        before = self.ways.distance[sources].min(axis=0)[self.ways.tail]
        after = self.ways.distance[:, sinks].min(axis=1)[self.ways.head]
        late = self.grid[None, :-1] + np.minimum(self.ways.alpha + after, NEVER)[:, None] < self.grid[-1]
        return np.asarray((self.grid[None, 1:] > before[:, None]) & late)

    def start(self, source: int) -> Longs:
        """Return what it costs to be at each rank without a way, shape ``(ranks, intervals)``: nothing at a source."""
        start = np.full((self.topology.ranks, self.intervals), INFINITE, dtype=np.int64)
        start[source, 0] = 0
        return start
