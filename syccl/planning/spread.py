"""Plans of broadcast and reduce: packed trees round after round, trees for a deadline, and plans one can write down.

Reduce is broadcast run backwards: trees are planned on the reversed arcs and mirrored in time.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.planning.problem import MAX_CHUNKS, Plan, Problem
from syccl.sketch.packing import Manner, Packing, pack
from syccl.sketch.timely import Goal, timely_trees
from syccl.sketch.ways import Ways
from syccl.solve.forest import Forest, listed, mirrored, sequenced, shop_of
from syccl.solve.modulo import Round, modulo_schedule
from syccl.solve.timing import Timed

Longs = NDArray[np.int64]

_ROWS_OF_ROUNDS = 70_000
"""Transfers of the longest plan of rounds: bounds the size of files and the time to check them."""
_ROWS_OF_LIST = 8_500
"""Transfers of the longest plan whose trees are grown and timed one by one."""
_ROWS_OF_PROGRAM, _ROWS_OF_SHORT_PROGRAM = 2_000, 300
"""Transfers of the longest plan for a program, of which each is several steps; fewer where latency counts."""
_MOST_TREES = 16
_TREE_NUMBERS = 4
_MANNERS = tuple(Manner(depth, steep) for depth in (0.05, 0.2) for steep in ((3.0, 10.0), (8.0, 40.0)))
_LONG_MANNERS = (Manner(0.2, (3.0, 10.0), 60), Manner(0.05, (15.0, 60.0), 60))
_EFFORT = 1_500_000_000
"""Arcs looked at while trees are packed: bounds the time of planning."""
_STEP_COST = 30_000
"""What a step of growing costs beside, in arcs."""
_FULL_ENOUGH = 4
"""Packings that fill the links to the bound after which no more are made."""
_AS_GOOD = 1.01
_COUNTS_TRIED = 4
_COUNTS_TIMELY = 3
_TOLERANCE = 1e-6
_DEADLINES = (1.05, 1.25)
"""Deadlines to plan for, in bounds."""
_ROUNDS_FROM = 2.0
"""Bandwidth bounds from so many latency bounds on are worth rounds of packed trees."""


def spread_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of broadcast and reduce."""
    field = _Field(problem, Ways.of(problem.quotient))
    yield from _written_down(field)
    if problem.bandwidth_s >= _ROUNDS_FROM * problem.latency_s or not problem.is_short:
        yield from _rounds(field)
    if problem.is_short:
        yield from _for_deadlines(field)


@dataclass(frozen=True, eq=False)
class _Field:
    """A problem and its arcs."""

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
            most_rows = min(most_rows, _ROWS_OF_SHORT_PROGRAM if problem.is_short else _ROWS_OF_PROGRAM)
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


def _written_down(field: _Field) -> Iterator[Plan]:
    """Yield a star, a chain and a binomial tree, in one piece and in many."""
    root, n = field.problem.root, field.ways.ranks
    order = [rank for island in _from_root(field.problem) for rank in island]
    parents = {"star": [0] * n, "chain": [i - 1 for i in range(n)], "binomial": [i & (i - 1) for i in range(n)]}
    counts = field.counts(_ROWS_OF_LIST)
    for name, over in parents.items():
        parent = np.full((1, n), -1, dtype=np.int64)
        parent[0, order[1:]] = np.array(order)[over[1:]]
        children = np.array(order[1:])
        if np.isfinite(field.ways.latency_s[parent[0, children], children]).all():
            for count in dict.fromkeys((counts[0], counts[len(counts) // 2], counts[-1])):
                yield field.listed(f"{name} of the root", Forest(root, parent, [0]).rounds(count))


def _from_root(problem: Problem) -> list[tuple[int, ...]]:
    """Return the islands, turned so that the root comes first."""
    home = next(i for i, island in enumerate(problem.islands) if problem.root in island)
    place = problem.islands[home].index(problem.root)
    first = problem.islands[home][place:] + problem.islands[home][:place]
    return [first, *problem.islands[home + 1 :], *problem.islands[:home]]


def _rounds(field: _Field) -> Iterator[Plan]:
    """Yield the best plan of packed trees in rounds; for a program also the best in a quarter of the pieces.

    Of numbers of pieces that are about as good the smallest is taken.
    """
    counts = [count for count in field.counts(_ROWS_OF_ROUNDS) if count > 1]
    if not counts:
        return
    packings = list(_packings(field, counts[-1]))
    shorter = () if field.problem.most_hops is None else (max(counts[0], counts[-1] // 4),)
    for most in dict.fromkeys((counts[-1], *shorter)):
        tried = [
            (made.seconds(-(-count // packing.trees)), i, count, made)
            for i, packing in enumerate(packings)
            for count in counts[-_COUNTS_TRIED:]
            if packing.trees <= count <= most
            for made in (_round(field, packing, count),)
            if made is not None
        ]
        if tried:
            best = min(tried, key=lambda entry: entry[:3])[0]
            _, i, count, made = min(
                (entry for entry in tried if entry[0] <= _AS_GOOD * best), key=lambda entry: (entry[2], *entry[:2])
            )
            yield _repeated(field, packings[i], count, made)


def _round(field: _Field, packing: Packing, count: int) -> Round | None:
    """Return one round of a packing as the first of many."""
    forest = Forest(field.problem.root, packing.parents, range(packing.trees))
    return modulo_schedule(shop_of(forest.rows(), field.ways, field.chunk_bytes(count), only_queues=True))


def _repeated(field: _Field, packing: Packing, count: int, made: Round) -> Plan:
    """Return the plan of rounds that follow one another after a period."""
    forest = Forest(field.problem.root, packing.parents, ()).rounds(count)
    rows = forest.rows()
    per_round = len(made.start_s)
    begins = [made.start_s[i % per_round] + (i // per_round) * made.period_s for i in range(len(rows.piece))]
    shop = shop_of(rows, field.ways, field.chunk_bytes(count))
    return field.plan(f"{packing.trees} packed trees in rounds", forest, sequenced(rows, shop, begins))


def _packings(field: _Field, count: int) -> Iterator[Packing]:
    """Yield packings of the numbers of trees that can come nearest to the bound, as many as there is effort for."""
    problem, n = field.problem, field.ways.ranks
    unit_s = problem.bandwidth_s / problem.size_bytes
    numbers = _tree_numbers(field.ways, problem.root, unit_s, count)
    left = _EFFORT
    full = 0
    for manner, trees in itertools.product((*_MANNERS, *_LONG_MANNERS), numbers):
        if full >= _FULL_ENOUGH:
            return
        cost = trees * n * (n * n + _STEP_COST)
        passes = min(manner.passes, left // cost)
        if passes > 0:
            left -= passes * cost
            packing = pack(field.near, problem.root, trees, unit_s=unit_s, manner=replace(manner, passes=passes))
            full += packing.load <= trees * unit_s * (1 + _TOLERANCE)
            yield packing


def _tree_numbers(ways: Ways, root: int, unit_s: float, count: int) -> list[int]:
    """Return numbers of trees, best first: what whole trees cost at the ranks' own links, and in the first rounds."""
    n = ways.ranks
    into = [_rates(ways, ways.links[:, rank], ways.latency_s[:, rank], last=True) for rank in range(n) if rank != root]
    out = _rates(ways, ways.links[root], ways.latency_s[root], last=False)
    ends = [Counter(rates) for rates in {tuple(sorted(rates)) for rates in (*into, out)}]
    levels = 2 + n.bit_length()
    scored = []
    for trees in range(1, min(_MOST_TREES, count) + 1):
        period = max((_least_period(rates, trees) for rates in ends), default=0.0)
        scored.append((max(period / (trees * unit_s), 1.0) * (1.0 + levels * trees / count), trees))
    return [trees for _, trees in sorted(scored)[:_TREE_NUMBERS]]


def _rates(ways: Ways, links: Longs, latency_s: NDArray[np.float64], *, last: bool) -> tuple[float, ...]:
    """Return the bytes per second of the outermost links of some arcs."""
    routed = links[np.isfinite(latency_s)]
    idle = len(ways.seconds_per_byte) - 1
    place = np.maximum((routed < idle).sum(axis=1) - 1, 0) if last else np.zeros(len(routed), dtype=np.int64)
    ends = np.unique(routed[np.arange(len(routed)), place])
    return tuple((1.0 / ways.seconds_per_byte[ends[ends < idle]]).tolist())


def _least_period(rates: Counter[float], trees: int) -> float:
    """Return the least time in which links of some rates pass one byte each of a number of trees, bytes kept whole."""
    periods = sorted({turns / rate for rate in rates for turns in range(1, trees + 1)})
    for period in periods:
        if sum(number * int(period * rate + _TOLERANCE) for rate, number in rates.items()) >= trees:
            return period
    return math.inf


def _for_deadlines(field: _Field) -> Iterator[Plan]:
    """Yield plans of trees that are grown for deadlines a little above the bound."""
    problem = field.problem
    counts = field.counts(_ROWS_OF_LIST)[::-2][:_COUNTS_TIMELY]
    for count, share in itertools.product(counts, _DEADLINES):
        goal = Goal(count, field.chunk_bytes(count), share * problem.bound_s)
        trees = timely_trees(field.ways, problem.root, goal)
        yield field.listed("trees for a deadline", Forest(problem.root, trees, range(count)))
