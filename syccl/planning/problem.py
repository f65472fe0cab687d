"""What is to be planned, and what a plan is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from syccl.collective import Op
from syccl.optimize.status import Status
from syccl.sketch.ground import Ground
from syccl.sketch.model import Piece
from syccl.sketch.quotient import Quotient
from syccl.sketch.search import Levels
from syccl.solve.timing import Timed, time_pieces
from syccl.symmetry import Group

MAX_CHUNKS = 32768
"""Chunk offsets are 16 bits in the runtimes."""
FEW_PIECES = 8
"""Pieces that are always tried, also where that makes a long plan; enough where latency counts most."""
LATENCY_RULES = 4.0
"""Below this many latency bounds a bandwidth bound is too small for many pieces to pay."""

_MANY_RANKS = 128
_LATENCY_MATTERS = 50.0
_PIECES_WANTED = 8
ROWS_OF_ROUNDS, ROWS_OF_SCHEDULE, ROWS_OF_PROGRAM, ROWS_OF_RANKS = 132_000, 66_000, 33_000, 30_000
"""Hops of the longest plan without much symmetry: of one that uses its trees round after round, of one that is no
program, of an allreduce that is lowered, and of one of which several shapes are lowered, or whose trees are grown rank
by rank because some island is no switch."""
BANDWIDTH_RULES = 20.0
"""Above this many latency bounds a bandwidth bound makes few pieces pointless."""
_FEW_ROOTS, _VERY_FEW_ROOTS = 8, 2
ROWS_OF_ROOTED_PROGRAM, _ROWS_OF_PLAN = 17_000, 6_000
"""Hops of the longest plan for a program with one root, whose thread blocks end the later the larger its pieces are;
and where symmetry makes a few trees do."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective on a topology, seen through a symmetry group.

    Parameters
    ----------
    elements
        Number of elements of the total buffer.
    unit_s_per_byte
        Certified least time of any mix of trees: seconds per byte of a shard (allgather, reducescatter) or of the
        whole buffer (allreduce).
    bandwidth_s, latency_s, bound_s
        The two simple bounds and the largest of all, seconds.
    most_hops
        Sends and receives that a program can hold per rank; None where no program is wanted.
    root
        Root of rooted ops.
    root_group
        Symmetry that leaves the root in place; None where none is used.
    most_rows
        Hops of the longest plan that there is time for; None where time does not matter.
    exact
        Whether only what a runtime selects at exactly this size is wanted, be it of few pieces.
    """

    op: Op
    size_bytes: int
    elements: int
    group: Group
    quotient: Quotient
    islands: tuple[tuple[int, ...], ...]
    unit_s_per_byte: float
    bandwidth_s: float
    latency_s: float
    bound_s: float
    most_hops: int | None = None
    root: int = 0
    root_group: Group | None = None
    most_rows: int | None = None
    exact: bool = False

    @property
    def sends_to_one(self) -> bool:
        """Whether every chunk has one source and one target (alltoall, gather, scatter), so that pieces are paths."""
        return self.op.source != "all" and self.op.target != "all"

    @property
    def is_rooted(self) -> bool:
        """Whether only one rank's data is spread, collected or summed."""
        return self.op.rooted

    @property
    def sums_everywhere(self) -> bool:
        """Whether the root of each piece is free (allreduce)."""
        return self.op.source == self.op.target == "all"

    @property
    def root_ranks(self) -> list[int]:
        """Ranks whose pieces are planned: the root of rooted ops, else the representatives."""
        if self.is_rooted:
            return [self.root]
        ranks: list[int] = self.quotient.representatives.tolist()
        return ranks

    @property
    def chunk_share(self) -> float:
        """Share of the group's data in one piece of one image: 1 for a shard, 1 / order for an allreduce buffer."""
        return float(self.group.order) if self.sums_everywhere else 1.0

    @property
    def reachable_s(self) -> float:
        """The bound, or what the best mix of trees needs where that is longer, seconds."""
        share = self.size_bytes if self.sums_everywhere else self.size_bytes / self.quotient.ranks
        return max(self.bound_s, self.unit_s_per_byte * share)

    def gap(self, plan: Plan) -> float:
        """Return how much longer a plan takes than what is reachable, relative to that."""
        return plan.seconds / self.reachable_s - 1.0 if self.reachable_s else 0.0

    @property
    def has_many_ranks(self) -> bool:
        """Whether there are too many ranks to look at each arc for each of them."""
        return self.quotient.ranks > _MANY_RANKS

    @property
    def is_short(self) -> bool:
        """Whether latency counts at this size: the bandwidth bound is below some latency bounds."""
        return self.bandwidth_s < _LATENCY_MATTERS * max(self.latency_s, 1e-12)

    @property
    def roots(self) -> int:
        """Number of representative ranks."""
        return len(self.quotient.representatives)

    def chunks(self, count: int) -> int:
        """Return the chunks of the total buffer when ``count`` pieces are made.

        They are counted per root, per pair of ranks where chunks have one source and one target, and for allreduce in
        all (without images).
        """
        if self.sums_everywhere:
            return count * self.group.order
        return count if self.is_rooted and not self.sends_to_one else count * self.quotient.ranks

    @property
    def few(self) -> int:
        """Number of pieces that is enough where latency counts most; allreduce counts the pieces of all roots."""
        return FEW_PIECES * (self.roots if self.sums_everywhere else 1)

    @cached_property
    def joins_servers(self) -> bool:
        """Whether the islands are servers, each behaving as one switch, though perhaps unlike."""
        return len(self.islands) > 1 and all(self.ground.is_star) and min(map(len, self.islands)) > 1

    @property
    def wants_many_rows(self) -> bool:
        """Whether there is hardly any symmetry, so that only long plans load all links and connections evenly."""
        if self.joins_servers and self.roots > _FEW_ROOTS:
            return True
        return self.roots > _VERY_FEW_ROOTS and self.bandwidth_s > BANDWIDTH_RULES * self.latency_s

    @cached_property
    def longest_plan(self) -> int:
        """Hops of the longest plan worth making."""
        if self.is_rooted and self.most_hops is not None:
            return ROWS_OF_ROOTED_PROGRAM
        if not self.wants_many_rows:
            return _ROWS_OF_PLAN
        if self.most_hops is not None:
            return self.longest_routed
        return ROWS_OF_SCHEDULE if all(self.ground.is_star) else ROWS_OF_ROUNDS

    @cached_property
    def longest_routed(self) -> int:
        """Hops of the longest plan whose trees are all routed one by one, where there is hardly any symmetry."""
        if not all(self.ground.is_star):
            return ROWS_OF_RANKS
        if self.most_hops is None:
            return ROWS_OF_SCHEDULE
        return ROWS_OF_PROGRAM if self.sums_everywhere else ROWS_OF_RANKS

    @cached_property
    def piece_counts(self) -> tuple[int, ...]:
        """The counts that there is time for, ascending: at least one."""
        counts = self.all_piece_counts
        return tuple(c for c in counts if self.most_rows is None or self.rows(c) <= self.most_rows) or counts[:1]

    @cached_property
    def all_piece_counts(self) -> tuple[int, ...]:
        """Powers of two that cut the elements evenly and keep plans, chunks and programs small enough, ascending.

        A size that is no multiple of the ranks is never met exactly by allgather or reducescatter, so there any power
        of two will do.
        """
        counts = [c for c in (1 << i for i in range(16)) if self.cuts_evenly(c) and self.chunks(c) <= MAX_CHUNKS]
        if self.bandwidth_s < LATENCY_RULES * self.latency_s:
            counts = [c for c in counts if c <= self.few]
        counts = [c for c in counts if self.rows(c) <= self.longest_plan or c <= FEW_PIECES]
        return tuple(c for c in counts if self.fits(c)) or (1,)

    def cuts_evenly(self, count: int) -> bool:
        """Return whether the runtime would select a file of that many pieces at this size.

        Where only a few pieces would be, any number is taken unless ``exact``, as so few are slow: the nearest sizes
        that are selected are close by.
        """
        if self.chunks(1) != self.quotient.ranks or self.sums_everywhere:
            units, rest = self.elements // self.chunks(1), self.elements % self.chunks(1)
        else:
            units, rest = divmod(self.elements, self.quotient.ranks)
        if self.exact:
            return rest == 0 and units % count == 0
        if rest and not self.sums_everywhere:
            return count <= units
        if units >= _PIECES_WANTED**2 and (rest or units & -units < _PIECES_WANTED):
            return count <= units
        return rest == 0 and units % count == 0

    def rows(self, count: int) -> int:
        """Return the hops of a plan with ``count`` pieces: of trees, or of direct paths."""
        trees = 2 * count if self.sums_everywhere else count * len(self.root_ranks)
        return trees * (self.quotient.ranks - 1)

    def fits(self, count: int) -> bool:
        """Return whether a program can hold the steps of ``count`` pieces."""
        return self.most_hops is None or 2 * self.rows(count) // self.roots <= self.most_hops

    @cached_property
    def ground(self) -> Ground:
        """Islands and allowed arcs, for trees."""
        return Ground(self.quotient, self.islands)

    @cached_property
    def grounds(self) -> tuple[Ground, ...]:
        """The ground, and where islands are irregular also one without islands."""
        if self.joins_servers or len(self.islands) == 1:
            return (self.ground,)
        return (self.ground, Ground(self.quotient, (tuple(range(self.quotient.ranks)),)))

    @cached_property
    def levels(self) -> Levels:
        """Islands and partners, for staged sketches."""
        return Levels(self.quotient, self.islands)


@dataclass(frozen=True, eq=False)
class Plan:
    """Pieces with their list schedule, what kind of search made them, and how its solver ended where it had one.

    ``chunks`` is the number of chunks of the total buffer.
    """

    name: str
    pieces: tuple[Piece, ...]
    count: int
    timed: Timed
    chunks: int
    source: str = "search"
    status: Status | None = None

    @property
    def seconds(self) -> float:
        """Makespan of the list schedule."""
        return self.timed.timing.makespan_s


def make_plan(problem: Problem, name: str, pieces: tuple[Piece, ...], count: int) -> Plan:
    """Return pieces timed by a list schedule."""
    chunks = problem.chunks(count)
    if problem.sums_everywhere:
        chunks = sum(problem.group.order // piece.symmetries for piece in pieces)
    return Plan(name, pieces, count, time_pieces(pieces, problem.quotient, problem.size_bytes / chunks), chunks)
