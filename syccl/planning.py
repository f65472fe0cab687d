"""Planning: many ways to cut and route a collective, ranked by cheap simulated time.

Three sources of plans meet here: structured trees (rip-up and re-route), staged sketches and mixes of them (for sizes
at which latency counts), and what the solvers add. A plan is a set of pieces; its time is that of a list schedule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from syccl.collective import Op
from syccl.sketch.model import Hop, Piece
from syccl.sketch.quotient import Quotient
from syccl.sketch.search import Levels, Sketch, spreading_sketches, summing_sketches
from syccl.sketch.structure import Shape, TreeRouter, route_allgather, route_allreduce
from syccl.stitch import Timed, time_pieces
from syccl.symmetry import Group

MAX_CHUNKS = 32768
"""Chunk offsets are 16 bits in the runtimes."""

_ROWS_IN_ALL = 40_000
"""Hops that one search may place, over all its plans: bounds the time of planning."""
_ROWS_OF_PLAN = 12_000
_LATENCY_MATTERS = 50.0
"""Staged sketches are searched while the bandwidth bound is below this many latency bounds."""
_MIXED_SKETCHES = 5
_MIX_COUNTS = (2, 4, 8, 16)


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
    bandwidth_s, latency_s
        The two simple bounds, seconds.
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

    @property
    def sums_everywhere(self) -> bool:
        """Whether the root of each piece is free (allreduce)."""
        return self.op.source == self.op.target == "all"

    @property
    def roots(self) -> int:
        """Number of representative ranks."""
        return len(self.quotient.representatives)

    def chunks(self, count: int) -> int:
        """Return the chunks of the total buffer when ``count`` pieces are made (per root, or in all for allreduce)."""
        return count * (self.group.order if self.sums_everywhere else self.quotient.ranks)

    def piece_counts(self) -> list[int]:
        """Return the powers of two that cut the elements evenly and keep chunks in range, ascending."""
        total = self.elements if self.sums_everywhere else self.elements // self.quotient.ranks
        per_piece = self.group.order if self.sums_everywhere else 1
        counts = [
            1 << i
            for i in range(16)
            if total % (per_piece << i) == 0 and total >= (per_piece << i) and self.chunks(1 << i) <= MAX_CHUNKS
        ]
        return counts or [1]

    def rows(self, count: int) -> int:
        """Return the hops of a plan of trees with ``count`` pieces."""
        trees = 2 * count if self.sums_everywhere else count * self.roots
        return trees * (self.quotient.ranks - 1)

    @cached_property
    def levels(self) -> Levels:
        """Islands and partners, for staged sketches."""
        return Levels(self.quotient, self.islands)


@dataclass(frozen=True, eq=False)
class Plan:
    """Pieces with their list schedule."""

    name: str
    pieces: tuple[Piece, ...]
    count: int
    timed: Timed

    @property
    def seconds(self) -> float:
        """Makespan of the list schedule."""
        return self.timed.timing.makespan_s


def make_plan(problem: Problem, name: str, pieces: tuple[Piece, ...], count: int) -> Plan:
    """Return pieces timed by a list schedule."""
    chunk_bytes = problem.size_bytes / problem.chunks(count)
    return Plan(name, pieces, count, time_pieces(pieces, problem.quotient, chunk_bytes))


def plans(problem: Problem, *, progress: Callable[[str], None] = lambda _: None) -> list[Plan]:
    """Return plans for the collective, fastest list schedule first."""
    if problem.quotient.ranks == 1:
        return [make_plan(problem, "nothing to send", (Piece(0, (), "alone"),), 1)]
    progress("routing trees")
    found = list(_structured(problem))
    if problem.bandwidth_s < _LATENCY_MATTERS * max(problem.latency_s, 1e-12):
        progress("searching staged sketches")
        found += _staged(problem)
    return sorted(found, key=lambda plan: (plan.seconds, plan.count, plan.name))


def structured_pieces(problem: Problem, count: int, shape: Shape) -> tuple[Piece, ...]:
    """Return ``count`` pieces (per root, or in all for allreduce) routed on structured trees."""
    scale = problem.group.order * count if problem.sums_everywhere else count
    router = TreeRouter(problem.quotient, problem.islands, problem.unit_s_per_byte * scale, shape)
    if problem.sums_everywhere:
        return route_allreduce(router, count)
    return route_allgather(router, count, inward=problem.op.reduces)


def _structured(problem: Problem) -> Iterable[Plan]:
    budget = _ROWS_IN_ALL
    counts = [c for c in problem.piece_counts() if problem.rows(c) <= _ROWS_OF_PLAN]
    for count in reversed(counts or problem.piece_counts()[:1]):
        for shape in _shapes(problem, count):
            budget -= problem.rows(count)
            if budget < 0:
                return
            pieces = structured_pieces(problem, count, shape)
            relays = f", {shape.relays} relays" if shape.relays else ""
            yield make_plan(problem, f"structured trees, {shape.wave}{relays}", pieces, count)


def _shapes(problem: Problem, count: int) -> Sequence[Shape]:
    widest = max(len(members) for members in problem.islands)
    shapes = [Shape()]
    if problem.op.reduces and widest > 4 and not problem.sums_everywhere:
        shapes.append(Shape(relays=3))
    if len(problem.islands) > 2 and count <= 2:
        shapes.append(Shape(wave="star"))
    return shapes


def _staged(problem: Problem) -> list[Plan]:
    """Return the staged sketches alone and the best mixes of them."""
    if problem.sums_everywhere:
        sketches = summing_sketches(problem.levels)
    else:
        sketches = spreading_sketches(problem.levels, inward=problem.op.reduces)
    sketches = [s for s in sketches if all(_serves(problem, s.hops(root)) for root in _roots(problem))]
    counts = problem.piece_counts()
    singles = [_mix(problem, [(sketch, counts[0])], counts[0]) for sketch in sketches]
    order = sorted(range(len(singles)), key=lambda i: (singles[i].seconds, i))
    best = [sketches[i] for i in order[:_MIXED_SKETCHES]]
    mixes = []
    for count in [c for c in _MIX_COUNTS if c in counts and problem.rows(c) <= _ROWS_OF_PLAN]:
        mixes += [_mix(problem, [(sketch, count)], count) for sketch in best[:2]]
        for first, second in itertools.combinations(best, 2):
            shares = {max(1, count // 4), count // 2, count - max(1, count // 4)}
            mixes += [_mix(problem, [(first, k), (second, count - k)], count) for k in sorted(shares)]
    return singles + mixes


def _roots(problem: Problem) -> list[int]:
    ranks: list[int] = problem.quotient.representatives.tolist()
    return ranks


def _mix(problem: Problem, parts: Sequence[tuple[Sketch, int]], count: int) -> Plan:
    name = " + ".join(f"{k} x {sketch.name}" if count > 1 else sketch.name for sketch, k in parts if k)
    recipe = [sketch for sketch, k in parts for _ in range(k)]
    roots = _roots(problem)
    if problem.sums_everywhere:
        pieces = [Piece(roots[i % len(roots)], s.hops(roots[i % len(roots)]), s.name) for i, s in enumerate(recipe)]
    else:
        pieces = [Piece(root, sketch.hops(root), sketch.name) for sketch in recipe for root in roots]
    return make_plan(problem, name, tuple(pieces), count)


def _serves(problem: Problem, hops: Sequence[Hop]) -> bool:
    """Return whether hops have routes and leave every rank that needs the chunk with all of it."""
    routed, n = problem.levels.routed, problem.quotient.ranks
    if not hops or any(not routed[hop.src, hop.dst] for hop in hops):
        return False
    if not problem.op.reduces:
        return {hop.dst for hop in hops} | {hops[0].src} == set(range(n))
    holds = [1 << rank for rank in range(n)]
    for _, stage in itertools.groupby(sorted(hops, key=lambda hop: hop.stage), key=lambda hop: hop.stage):
        sent = [(hop, holds[hop.src]) for hop in stage]
        for hop, content in sent:
            if hop.reduce and holds[hop.dst] & content:
                return False
            holds[hop.dst] = holds[hop.dst] | content if hop.reduce else content
    whole = (1 << n) - 1
    return all(content == whole for content in holds) if problem.sums_everywhere else whole in holds
