"""Broadcast and reduce as trees of their root: arcs, numbers of pieces, and trees as plans.

Reduce is broadcast run backwards: its trees lead away from the root over reversed arcs, and are mirrored in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from syccl.planning.problem import MAX_CHUNKS, ROWS_OF_ROOTED_PROGRAM, Plan, Problem
from syccl.sketch.ways import Ways
from syccl.solve.forest import Forest, listed, mirrored, shop_of
from syccl.solve.timing import Timed

_ROWS_OF_SHORT_PROGRAM = 300
"""Transfers of the longest plan for a program where latency counts."""


@dataclass(frozen=True, eq=False)
class Field:
    """A broadcast or reduce and the arcs of its trees."""

    problem: Problem
    all_ways: Ways

    @cached_property
    def ways(self) -> Ways:
        """Arcs away from the root; those of a reduce are reversed."""
        return self.all_ways.reversed if self.problem.op.reduces else self.all_ways

    @cached_property
    def near(self) -> Ways:
        """Arcs away from the root without detours."""
        return self.ways.near(self.problem.islands)

    def counts(self, most_rows: int) -> list[int]:
        """Return the numbers of pieces that a plan of so many transfers can have, ascending."""
        problem, n = self.problem, self.ways.ranks
        if problem.most_hops is not None:
            most_rows = min(most_rows, _ROWS_OF_SHORT_PROGRAM if problem.is_short else ROWS_OF_ROOTED_PROGRAM)
        counts = [1 << i for i in range(16) if problem.cuts_evenly(1 << i) and 1 << i <= MAX_CHUNKS]
        return [c for c in counts if c * (n - 1) <= most_rows and problem.fits(c)] or [1]

    def chunk_bytes(self, count: int) -> float:
        """Return the bytes of one of ``count`` pieces."""
        return self.problem.size_bytes / count

    def plan(self, name: str, forest: Forest, timed: Timed) -> Plan:
        """Return trees away from the root with their times as a plan, mirrored for a reduce."""
        inward = self.problem.op.reduces
        pieces = forest.pieces(name, inward=inward)
        times = mirrored(timed, reduces=True) if inward else timed
        return Plan(name, pieces, len(pieces), times, self.problem.chunks(len(pieces)))

    def listed(self, name: str, forest: Forest) -> Plan:
        """Return a plan timed by a list schedule."""
        rows = forest.rows()
        count = len(forest.picks)
        return self.plan(name, forest, listed(rows, shop_of(rows, self.ways, self.chunk_bytes(count)), count))
