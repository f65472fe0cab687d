"""Whether a proof of a lower bound holds, in exact whole numbers, from topology and prices alone.

The theorem is in docs/bounds.md. Rules (all are errors):

============  ==========================================================================
``shape``     a number, list or rank is out of range
``symmetry``  a permutation does not keep links, their prices, the root or a flow's end
``flow``      a flow does not belong to the collective, or one like it is there already
``price``     what flows pay for a way is more than its links cost
``payload``   so much can be paid for within the time: the claim does not follow
============  ==========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.findings import Finding
from syccl.proof.distance import INFINITE, arrivals, cheapest
from syccl.proof.model import Certificate, Family, Flow, Priced
from syccl.proof.symmetric import link_images, orbit_of
from syccl.proof.ways import NEVER, Ways, ways_of

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

LARGEST_PRICE = 1 << 34
MOST_INTERVALS = 256
PS_PER_SECOND = 10**12

FROM_ONE = frozenset({"allgather", "broadcast"})
TO_ONE = frozenset({"reducescatter", "reduce"})
DIRECT = frozenset({"alltoall", "scatter", "gather"})
ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})
WHOLE = frozenset({"allreduce", "broadcast", "reduce"})


class _WrongError(Exception):
    """A rule that is broken."""

    def __init__(self, rule: str, where: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding("error", rule, where, message)


def verify_certificate(certificate: Certificate) -> tuple[Finding, ...]:
    """Return the first thing that is wrong with a proof; empty when every schedule takes longer than it claims.

    Neither a solver nor the code that makes proofs has a part in this.
    """
    try:
        _Check(certificate).run()
    except _WrongError as wrong:
        return (wrong.finding,)
    except InputError as error:
        return (Finding("error", "shape", "topology", str(error)),)
    return ()


@dataclass(frozen=True, eq=False)
class _Moves:
    """Verified symmetries as permutations of ranks, links and ways."""

    ranks: tuple[Longs, ...]
    links: tuple[Longs, ...]
    ways: tuple[Longs, ...]


class _Check:
    def __init__(self, certificate: Certificate) -> None:
        self.stated = certificate
        self.topology = certificate.topology
        self.op = certificate.op.name
        self.grid = certificate.grid.astype(np.int64)
        self.intervals = len(self.grid) - 1

    def run(self) -> None:
        self._check_shape()
        whole = self._moves(self.stated.symmetry, "symmetry", self.stated.root if self.op in ROOTED else None)
        total = self._direct(whole) if self.op in DIRECT else self._shared(whole)
        ways_cost = sum(
            link.rate * int(paid) for link, paid in zip(self.topology.links, self._paid.tolist(), strict=True)
        )
        # payload * total > cost, where payload = size / parts and cost is in bytes * picoseconds / second.
        parts = 1 if self.op in WHOLE else self.topology.ranks
        if self.stated.size_bytes * total * PS_PER_SECOND <= ways_cost * parts:
            most = ways_cost * parts / (total * PS_PER_SECOND) if total else float("inf")
            text = f"{self.stated.size_bytes} bytes may be delivered in time; the prices exclude more than {most:.1f}"
            raise _WrongError("payload", "prices", text)

    def _check_shape(self) -> None:
        if not 0 <= self.stated.root < self.topology.ranks or (self.op not in ROOTED and self.stated.root):
            raise _WrongError("shape", "root", f"{self.stated.root} is no root of {self.op}")
        if self.stated.size_bytes < 1:
            raise _WrongError("shape", "size", f"{self.stated.size_bytes} is not positive")
        ascending = len(self.grid) >= 2 and self.grid[0] == 0 and (np.diff(self.grid) > 0).all()
        if not ascending or self.intervals > MOST_INTERVALS or self.grid[-1] >= NEVER:
            raise _WrongError("shape", "grid", f"must ascend from 0 in at most {MOST_INTERVALS} intervals")
        self._check_prices("links", self.stated.links, len(self.topology.links))
        for number, family in enumerate(self.stated.families):
            for flow in family.flows:
                if not (0 <= flow.source < self.topology.ranks and 0 <= flow.sink < self.topology.ranks):
                    text = f"flow {flow.source}->{flow.sink} has ranks that are not there"
                    raise _WrongError("shape", f"family {number}", text)
                self._check_prices(f"flow {flow.source}->{flow.sink}", flow.prices, len(self.ways.tail))

    def _check_prices(self, where: str, rows: tuple[Priced, ...], limit: int) -> None:
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *(row.ids for row in rows)])
        if len(np.unique(ids)) < len(ids) or (len(ids) and not 0 <= ids.min() <= ids.max() < limit):
            raise _WrongError("shape", where, f"ids must be different numbers in 0..{limit - 1}")
        for row in rows:
            if row.price.shape != (self.intervals,) or row.price.min() < 0 or row.price.max() > LARGEST_PRICE:
                text = f"needs {self.intervals} prices in 0..{LARGEST_PRICE}"
                raise _WrongError("shape", where, text)

    @cached_property
    def ways(self) -> Ways:
        return ways_of(self.topology)

    @cached_property
    def arrival(self) -> Longs:
        return arrivals(self.ways, self.grid)

    def _table(self, rows: tuple[Priced, ...], count: int) -> Longs:
        table = np.zeros((count, self.intervals), dtype=np.int64)
        for row in rows:
            table[row.ids] = row.price
        return table

    @cached_property
    def link_prices(self) -> Longs:
        return self._table(self.stated.links, len(self.topology.links))

    @cached_property
    def _paid(self) -> Longs:
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

    def _moves(self, moves: tuple[Longs, ...], where: str, fixed: int | None) -> _Moves:
        gpus, ranks, links, ways = self.topology.gpus, [], [], []
        for number, move in enumerate(moves):
            name = f"{where}, permutation {number}"
            image = link_images(self.topology, move)
            if image is None:
                raise _WrongError("symmetry", name, "is no symmetry of the topology")
            if not np.array_equal(self.link_prices[image], self.link_prices):
                raise _WrongError("symmetry", name, "does not keep the prices of links")
            rank = np.array([self.topology.rank_of[int(move[gpu])] for gpu in gpus], dtype=np.int64)
            if fixed is not None and rank[fixed] != fixed:
                raise _WrongError("symmetry", name, f"moves rank {fixed}")
            way = self.ways.moved(image)
            if way is None:
                raise _WrongError("symmetry", name, "does not keep the ways")
            ranks.append(rank)
            links.append(image)
            ways.append(way)
        return _Moves(tuple(ranks), tuple(links), tuple(ways))

    def _usable(self, sources: Longs, sinks: Longs) -> Mask:
        """Return when data of a source can take a way and still get to a sink, shape ``(ways, intervals)``."""
        before = self.ways.distance[sources].min(axis=0)[self.ways.tail]
        after = self.ways.distance[:, sinks].min(axis=1)[self.ways.head]
        late = self.grid[None, :-1] + np.minimum(self.ways.alpha + after, NEVER)[:, None] < self.grid[-1]
        return np.asarray((self.grid[None, 1:] > before[:, None]) & late)

    def _start(self, source: int) -> Longs:
        start = np.full((self.topology.ranks, self.intervals), INFINITE, dtype=np.int64)
        start[source, 0] = 0
        return start

    def _direct(self, whole: _Moves) -> int:
        """Return what all pairs of source and sink pay at least, where every transfer serves one of them."""
        ranks = np.arange(self.topology.ranks)
        orbit = orbit_of(whole.ranks, len(ranks))
        total = 0
        for source in self.sources[orbit[self.sources] == self.sources].tolist():
            sinks = np.array([self.stated.root]) if self.op == "gather" else ranks[ranks != source]
            usable = self._usable(np.array([source]), sinks)
            paid = cheapest(self.ways, self.arrival, self.way_prices, (usable, self._start(source)))
            wanted = sum(min(int(value), LARGEST_PRICE) for value in paid[sinks[sinks != source]])
            total += int((orbit == source).sum()) * wanted
        return total

    def _shared(self, whole: _Moves) -> int:
        """Return what all flows pay at least, after checking that together they pay no way more than its links cost."""
        orbit = orbit_of(whole.ranks, self.topology.ranks)
        seen: set[int] = set()
        total = 0
        for number, family in enumerate(self.stated.families):
            where = f"family {number}"
            if not family.flows:
                continue
            if self.op == "allreduce":
                if number:
                    raise _WrongError("flow", where, "allreduce has one family")
                total += self._family(family, where, whole)
                continue
            rank = self._common(family, where)
            if self.op in ROOTED and rank != self.stated.root:
                raise _WrongError("flow", where, f"begins or ends at rank {rank}, not at the root")
            if int(orbit[rank]) in seen:
                raise _WrongError("flow", where, f"is of rank {rank}, but one of its orbit is there already")
            seen.add(int(orbit[rank]))
            moves = self._moves(family.symmetry, where, rank)
            count = 1 if self.op in ROOTED else int((orbit == orbit[rank]).sum())
            total += count * self._family(family, where, moves)
        return total

    def _common(self, family: Family, where: str) -> int:
        """Return the rank that all flows of a family begin or end at."""
        ranks = {flow.source if self.op in FROM_ONE else flow.sink for flow in family.flows}
        if len(ranks) != 1:
            raise _WrongError("flow", where, f"has no common end; its flows are of ranks {sorted(ranks)}")
        return ranks.pop()

    def _family(self, family: Family, where: str, moves: _Moves) -> int:
        """Return what the flows of a family pay at least, after the sum over each orbit of ways is checked."""
        pairs = self._pair_orbits(moves) if self.op == "allreduce" else None
        ranks = orbit_of(moves.ranks, self.topology.ranks)
        orbit = orbit_of(moves.ways, len(self.ways.tail))
        first, place = np.unique(orbit, return_inverse=True)
        owed = np.zeros((len(first), self.intervals), dtype=object)
        total, seen = 0, set[int]()
        for flow in family.flows:
            label, count = self._like(flow, ranks, pairs)
            if label in seen or flow.source == flow.sink:
                text = f"{flow.source}->{flow.sink} is no flow, or one of its orbit is there already"
                raise _WrongError("flow", where, text)
            seen.add(label)
            prices = self._table(flow.prices, len(self.ways.tail))
            summed = np.zeros(owed.shape, dtype=np.int64)
            np.add.at(summed, place.reshape(-1), prices)
            owed += count * summed.astype(object)
            total += count * self._least(flow, prices)
        costs = np.zeros(owed.shape, dtype=np.int64)
        np.add.at(costs, place.reshape(-1), self.way_prices)
        over = np.argwhere(owed > costs.astype(object))
        if len(over):
            way, interval = int(first[over[0][0]]), int(over[0][1])
            name = f"way {way} ({self.ways.tail[way]}->{self.ways.head[way]}) in interval {interval}"
            raise _WrongError("price", where, f"flows pay more for {name} than its links cost")
        return total

    def _least(self, flow: Flow, prices: Longs) -> int:
        usable = self._usable(np.array([flow.source]), np.array([flow.sink]))
        paid = cheapest(self.ways, self.arrival, prices, (usable, self._start(flow.source)))
        # No way at all within the time: any payment may be asked for, and this one is enough.
        return min(int(paid[flow.sink]), LARGEST_PRICE)

    def _like(self, flow: Flow, ranks: Longs, pairs: Longs | None) -> tuple[int, int]:
        """Return the label of a flow's orbit and the number of its members."""
        if pairs is not None:
            label = int(pairs[flow.source * self.topology.ranks + flow.sink])
            return label, int((pairs == label).sum())
        label = int(ranks[flow.sink if self.op in FROM_ONE else flow.source])
        return label, int((ranks == label).sum())

    def _pair_orbits(self, moves: _Moves) -> Longs:
        n = self.topology.ranks
        pairs = [(move[:, None] * n + move[None, :]).ravel() for move in moves.ranks]
        return orbit_of(pairs, n * n)
