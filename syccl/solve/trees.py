"""Trees inside irregular groups, by constraint programming.

A set of trees is cut into its sketch (the hops between islands) and its sub-demand (who passes what on inside them);
the sub-demand is solved with the release times that the sketch gives, and both are put together again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from syccl.clock import Clock
from syccl.optimize.status import Status
from syccl.sketch.model import Piece, out_tree
from syccl.sketch.quotient import Quotient
from syccl.solve.remember import solve
from syccl.solve.subdemand import Arc, SubDemand, size_of
from syccl.solve.timing import Timed, time_pieces
from syccl.store import Store

Parents = dict[int, int]
"""A tree as child -> parent."""

_LARGEST, _MOST_MEMBERS = 1600, 32
"""Optional intervals, and ranks of a group, above which the list schedule stands: the solver finds nothing better in
its time."""


@dataclass
class Solver:
    """Solves sub-demands, each once per isomorphism class, and counts what it did.

    Parameters
    ----------
    effort
        Deterministic time units of the constraint solver for one sub-demand.
    store
        Answers found before.
    clock
        Ends the search for better trees.
    solved, reused, too_large
        Sub-demands that the solver was asked, whose answers were known, and that are left to the list schedule.
    statuses
        How the answers ended that were used, found now or before.
    """

    effort: float
    store: Store = field(default_factory=Store)
    clock: Clock = field(default_factory=Clock)
    solved: int = 0
    reused: int = 0
    too_large: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)

    def improve(
        self,
        quotient: Quotient,
        islands: Sequence[Sequence[int]],
        trees: Sequence[tuple[int, Parents]],
        chunk_bytes: float,
    ) -> list[Parents] | None:
        """Return better trees for the same roots and the same hops between islands, or None where none were sought.

        Parameters
        ----------
        quotient
            Flipped for reduction trees.
        trees
            Root and parents of every piece.
        chunk_bytes
            Bytes of one piece.
        """
        pieces = [Piece(root, out_tree(root, parent), "") for root, parent in trees]
        timed = time_pieces(pieces, quotient, chunk_bytes)
        home = {rank: i for i, members in enumerate(islands) for rank in members}
        demand = sub_demand(quotient, home, trees, timed, chunk_bytes=chunk_bytes)
        if size_of(demand) > _LARGEST or max(map(len, islands)) > _MOST_MEMBERS:
            self.too_large += 1
            return None
        inside = self._solution(demand)
        if inside is None:
            return None
        better = [
            {**{v: u for v, u in parent.items() if v in demand.holders[p]}, **inside[p]}
            for p, (_, parent) in enumerate(trees)
        ]
        # Where an island is entered twice, one entry may now depend on the other in a circle.
        whole = all(len(out_tree(root, new)) == len(new) for (root, _), new in zip(trees, better, strict=True))
        return better if whole else None

    def _solution(self, demand: SubDemand) -> Sequence[Parents] | None:
        """Return the trees of a sub-demand, and count how they were found."""
        solution = solve(demand, self.store, effort=self.effort, limit_s=self.clock.left_s())
        self.reused += solution.is_recalled
        self.solved += not solution.is_recalled
        self.statuses[solution.status] += 1
        self.clock.hit |= solution.is_cut
        return solution.parents if solution.status.has_solution else None


def sub_demand(
    quotient: Quotient,
    home: Mapping[int, int],
    trees: Sequence[tuple[int, Parents]],
    timed: Timed,
    *,
    chunk_bytes: float,
) -> SubDemand:
    """Return what is to be done inside the islands when the hops between them stand."""
    per_byte = quotient.class_weights / quotient.capacities
    routed = np.diff(quotient.route_start) > 0
    arcs = []
    for u in range(quotient.ranks):
        for v in range(quotient.ranks):
            kind = int(quotient.arc_class[u, v])
            if u != v and home[u] == home[v] and routed[kind]:
                uses = tuple((int(o), float(per_byte[kind, o]) * chunk_bytes) for o in np.flatnonzero(per_byte[kind]))
                arcs.append(Arc(u, v, uses, float(quotient.class_latencies_s[kind])))
    holders: list[dict[int, float]] = [{root: 0.0} for root, _ in trees]
    for i, (piece, src, dst) in enumerate(zip(timed.rows.piece, timed.rows.src, timed.rows.dst, strict=True)):
        if home[src] != home[dst]:
            holders[piece][dst] = timed.arrival_s(i)
    return SubDemand(quotient.ranks, tuple(arcs), tuple(holders))
