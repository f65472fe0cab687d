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

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.findings import Finding
from syccl.proof.board import (
    DIRECT,
    FROM_ONE,
    LARGEST_PRICE,
    MOST_INTERVALS,
    ROOTED,
    UNEQUAL,
    WHOLE,
    Board,
    Moves,
    WrongError,
)
from syccl.proof.completion import check_completion, completion_paid
from syccl.proof.distance import cheapest
from syccl.proof.model import Certificate, Family, Flow
from syccl.proof.symmetric import orbit_of
from syccl.proof.ways import NEVER

Longs = NDArray[np.int64]

PS_PER_SECOND = 10**12


def verify_certificate(certificate: Certificate) -> tuple[Finding, ...]:
    """Return the first thing that is wrong with a proof; empty when every schedule takes longer than it claims.

    Neither a solver nor the code that makes proofs has a part in this.
    """
    try:
        _Check(certificate).run()
    except WrongError as wrong:
        return (wrong.finding,)
    except InputError as error:
        return (Finding("error", "shape", "topology", str(error)),)
    return ()


class _Check(Board):
    def run(self) -> None:
        self._check_shape()
        whole = self.moves(self.stated.symmetry, "symmetry", self.stated.root if self.op in ROOTED else None)
        total = self._total(whole)
        ways_cost = sum(
            link.rate * int(paid) for link, paid in zip(self.topology.links, self.paid.tolist(), strict=True)
        )
        # payload * total > cost, where payload = size / parts and cost is in bytes * picoseconds / second.
        if self.op == UNEQUAL:
            if total * PS_PER_SECOND <= ways_cost:
                raise WrongError("payload", "prices", "the whole matrix may be delivered in time at these prices")
            return
        parts = 1 if self.op in WHOLE else self.topology.ranks
        if self.stated.size_bytes * total * PS_PER_SECOND <= ways_cost * parts:
            most = ways_cost * parts / (total * PS_PER_SECOND) if total else float("inf")
            text = f"{self.stated.size_bytes} bytes may be delivered in time; the prices exclude more than {most:.1f}"
            raise WrongError("payload", "prices", text)

    def _check_shape(self) -> None:
        if not 0 <= self.stated.root < self.topology.ranks or (self.op not in ROOTED and self.stated.root):
            raise WrongError("shape", "root", f"{self.stated.root} is no root of {self.op}")
        self._check_matrix()
        if self.stated.size_bytes < 1:
            raise WrongError("shape", "size", f"{self.stated.size_bytes} is not positive")
        ascending = len(self.grid) >= 2 and self.grid[0] == 0 and (np.diff(self.grid) > 0).all()
        if not ascending or self.intervals > MOST_INTERVALS or self.grid[-1] >= NEVER:
            raise WrongError("shape", "grid", f"must ascend from 0 in at most {MOST_INTERVALS} intervals")
        self.check_prices("links", self.stated.links, len(self.topology.links))
        for number, family in enumerate(self.stated.families):
            for flow in family.flows:
                if not (0 <= flow.source < self.topology.ranks and 0 <= flow.sink < self.topology.ranks):
                    text = f"flow {flow.source}->{flow.sink} has ranks that are not there"
                    raise WrongError("shape", f"family {number}", text)
                self.check_prices(f"flow {flow.source}->{flow.sink}", flow.prices, len(self.ways.tail))
        if self.stated.completion is not None:
            check_completion(self, self.stated.completion)

    def _check_matrix(self) -> None:
        rows, ranks = self.stated.matrix, self.topology.ranks
        if self.op != UNEQUAL:
            if rows:
                raise WrongError("shape", "matrix", f"{self.op} has none")
            return
        if len(rows) != ranks or any(len(row) != ranks or min(row) < 0 for row in rows):
            raise WrongError("shape", "matrix", f"must have {ranks} rows of {ranks} whole numbers from 0 on")
        largest = max(*map(sum, rows), *map(sum, zip(*rows, strict=True)))
        if self.stated.size_bytes != largest:
            raise WrongError("shape", "size", f"the largest buffer of the matrix has {largest} bytes")
        if self.stated.symmetry or self.stated.families:
            raise WrongError("shape", "matrix", "a proof for a matrix states neither symmetries nor flows")

    def _total(self, whole: Moves) -> int:
        """Return what a byte of the payload pays at least, over all flows; for a matrix, what all its bytes pay."""
        if self.op == UNEQUAL:
            return self._matrix_total()
        if self.op in DIRECT:
            return self._direct(whole)
        if self.op != "allreduce":
            return self._shared(whole)
        if len(self.stated.families) > 1:
            raise WrongError("flow", "family 1", "allreduce has one family")
        flows = tuple(flow for family in self.stated.families for flow in family.flows)
        total = self._family(Family((), flows), "family 0", whole)
        if self.stated.completion is not None:
            total += completion_paid(self, self.stated.completion, whole)
        return total

    def _matrix_total(self) -> int:
        """Return what all bytes of the matrix pay at least; every transfer serves one pair."""
        total = 0
        for source, row in enumerate(self.stated.matrix):
            sinks = np.array([sink for sink, wanted in enumerate(row) if wanted and sink != source], dtype=np.int64)
            if not len(sinks):
                continue
            usable = self.usable(np.array([source]), sinks)
            paid = cheapest(self.ways, self.arrival, self.way_prices, (usable, self.start(source)))[:, -1]
            total += sum(row[sink] * min(int(paid[sink]), LARGEST_PRICE) for sink in sinks.tolist())
        return total

    def _direct(self, whole: Moves) -> int:
        """Return what all pairs of source and sink pay at least, where every transfer serves one of them."""
        ranks = np.arange(self.topology.ranks)
        orbit = orbit_of(whole.ranks, len(ranks))
        total = 0
        for source in self.sources[orbit[self.sources] == self.sources].tolist():
            sinks = np.array([self.stated.root]) if self.op == "gather" else ranks[ranks != source]
            usable = self.usable(np.array([source]), sinks)
            paid = cheapest(self.ways, self.arrival, self.way_prices, (usable, self.start(source)))[:, -1]
            wanted = sum(min(int(value), LARGEST_PRICE) for value in paid[sinks[sinks != source]])
            total += int((orbit == source).sum()) * wanted
        return total

    def _shared(self, whole: Moves) -> int:
        """Return what all flows pay at least, after checking that together they pay no way more than its links cost."""
        orbit = orbit_of(whole.ranks, self.topology.ranks)
        seen: set[int] = set()
        total = 0
        for number, family in enumerate(self.stated.families):
            where = f"family {number}"
            if not family.flows:
                continue
            rank = self._common(family, where)
            if self.op in ROOTED and rank != self.stated.root:
                raise WrongError("flow", where, f"begins or ends at rank {rank}, not at the root")
            if int(orbit[rank]) in seen:
                raise WrongError("flow", where, f"is of rank {rank}, but one of its orbit is there already")
            seen.add(int(orbit[rank]))
            moves = self.moves(family.symmetry, where, rank)
            count = 1 if self.op in ROOTED else int((orbit == orbit[rank]).sum())
            total += count * self._family(family, where, moves)
        return total

    def _common(self, family: Family, where: str) -> int:
        """Return the rank that all flows of a family begin or end at."""
        ranks = {flow.source if self.op in FROM_ONE else flow.sink for flow in family.flows}
        if len(ranks) != 1:
            raise WrongError("flow", where, f"has no common end; its flows are of ranks {sorted(ranks)}")
        return ranks.pop()

    def _family(self, family: Family, where: str, moves: Moves) -> int:
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
                raise WrongError("flow", where, text)
            seen.add(label)
            prices = self.table(flow.prices, len(self.ways.tail))
            summed = np.zeros(owed.shape, dtype=np.int64)
            np.add.at(summed, place.reshape(-1), prices)
            owed += count * summed.astype(object)
            total += count * self._least(flow, prices)
        if self.stated.completion is not None:
            shared = self.table(self.stated.completion.shared, len(self.ways.tail))
            summed = np.zeros(owed.shape, dtype=np.int64)
            np.add.at(summed, place.reshape(-1), shared)
            owed += summed.astype(object)
        costs = np.zeros(owed.shape, dtype=np.int64)
        np.add.at(costs, place.reshape(-1), self.way_prices)
        over = np.argwhere(owed > costs.astype(object))
        if len(over):
            way, interval = int(first[over[0][0]]), int(over[0][1])
            name = f"way {way} ({self.ways.tail[way]}->{self.ways.head[way]}) in interval {interval}"
            raise WrongError("price", where, f"flows pay more for {name} than its links cost")
        return total

    def _least(self, flow: Flow, prices: Longs) -> int:
        usable = self.usable(np.array([flow.source]), np.array([flow.sink]))
        paid = cheapest(self.ways, self.arrival, prices, (usable, self.start(flow.source)))[:, -1]
        # No way at all within the time: any payment may be asked for, and this one is enough.
        return min(int(paid[flow.sink]), LARGEST_PRICE)

    def _like(self, flow: Flow, ranks: Longs, pairs: Longs | None) -> tuple[int, int]:
        """Return the label of a flow's orbit and the number of its members."""
        if pairs is not None:
            label = int(pairs[flow.source * self.topology.ranks + flow.sink])
            return label, int((pairs == label).sum())
        label = int(ranks[flow.sink if self.op in FROM_ONE else flow.source])
        return label, int((ranks == label).sum())

    def _pair_orbits(self, moves: Moves) -> Longs:
        n = self.topology.ranks
        pairs = [(move[:, None] * n + move[None, :]).ravel() for move in moves.ranks]
        return orbit_of(pairs, n * n)
