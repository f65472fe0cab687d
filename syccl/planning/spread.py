"""Plans of broadcast and reduce: packed trees round after round, trees for a deadline, and plans one can write down.

Reduce is broadcast run backwards: trees are planned on the reversed arcs and mirrored in time.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syccl.planning.deadlines import deadline_plans
from syccl.planning.field import Field
from syccl.planning.problem import Plan, Problem
from syccl.sketch.images import balanced, folded
from syccl.sketch.packing import Manner, Packing, pack
from syccl.sketch.relayed import relayed
from syccl.sketch.ways import Ways
from syccl.solve.forest import Forest, sequenced, shop_of
from syccl.solve.modulo import Round, modulo_schedule

Longs = NDArray[np.int64]

_ROWS_OF_ROUNDS, _ROWS_OF_MANY_RANKS = 70_000, 264_000
"""Transfers of the longest plan of rounds, and of one of very many ranks: bounds the size of files and the time to
check them."""
_ROWS_WRITTEN = 2_048
"""Transfers of the longest star, chain or binomial tree."""
_MOST_TREES = 16
_TREE_NUMBERS = 4
_BASE_TREES, _FOLDED_MANNERS = (1, 2), (Manner(0.05, (3.0, 10.0), 4),)
"""Trees of very many ranks that are packed before their images are taken, and how."""
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
_FEW_COUNTS, _FAR_APART = 3, 3
_TOLERANCE = 1e-6
_ROUNDS_FROM = 2.0
"""Bandwidth bounds from so many latency bounds on are worth rounds of packed trees."""


def spread_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of broadcast and reduce."""
    field = Field(problem, Ways.of(problem.quotient))
    best_s = math.inf
    for plan in itertools.chain(_written_down(field), _rounds(field) if _is_worth_rounds(problem) else ()):
        best_s = min(best_s, plan.seconds)
        yield plan
    if problem.is_short:
        yield from deadline_plans(field, best_s)


def _is_worth_rounds(problem: Problem) -> bool:
    is_long = problem.bandwidth_s >= _ROUNDS_FROM * problem.latency_s or not problem.is_short
    return is_long or problem.has_many_ranks


def _written_down(field: Field) -> Iterator[Plan]:
    """Yield a binomial tree, a chain and a star, in one piece and in many: the least bad for any size comes first."""
    root, n = field.problem.root, field.ways.ranks
    order = [rank for island in _from_root(field.problem) for rank in island]
    parents = {"binomial": [i & (i - 1) for i in range(n)], "chain": [i - 1 for i in range(n)], "star": [0] * n}
    counts = field.counts(_ROWS_WRITTEN)
    for name, over in parents.items():
        parent = np.full((1, n), -1, dtype=np.int64)
        parent[0, order[1:]] = np.array(order)[over[1:]]
        children = np.array(order[1:])
        if np.isfinite(field.ways.latency_s[parent[0, children], children]).all():
            for count in dict.fromkeys(
                counts[:1] if field.problem.has_many_ranks else (counts[0], counts[len(counts) // 2], counts[-1])
            ):
                yield field.listed(f"{name} of the root", Forest(root, parent, [0]).rounds(count))


def _from_root(problem: Problem) -> list[tuple[int, ...]]:
    """Return the islands, turned so that the root comes first."""
    home = next(i for i, island in enumerate(problem.islands) if problem.root in island)
    place = problem.islands[home].index(problem.root)
    first = problem.islands[home][place:] + problem.islands[home][:place]
    return [first, *problem.islands[home + 1 :], *problem.islands[:home]]


def _rounds(field: Field) -> Iterator[Plan]:
    """Yield the best plan of packed trees in rounds; for a program also the best in a quarter of the pieces.

    Of numbers of pieces that are about as good the smallest is taken.
    """
    counts = _counts_of_rounds(field)
    if not counts:
        return
    packings = list(_packings(field, counts[-1]))
    shorter = () if field.problem.most_hops is None else (max(counts[0], counts[-1] // 4),)
    for most in dict.fromkeys((counts[-1], *shorter)):
        tried = [
            (made.seconds(-(-count // packing.trees)), i, count, made)
            for i, packing in enumerate(packings)
            for count in counts
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


def _counts_of_rounds(field: Field) -> list[int]:
    """Return numbers of pieces to try, ascending: the largest, and of very many ranks few that are far apart."""
    many = field.problem.has_many_ranks
    counts = [count for count in field.counts(_ROWS_OF_MANY_RANKS if many else _ROWS_OF_ROUNDS) if count > 1]
    return counts[::-_FAR_APART][:_FEW_COUNTS][::-1] if many else counts[-_COUNTS_TRIED:]


def _round(field: Field, packing: Packing, count: int) -> Round | None:
    """Return one round of a packing as the first of many."""
    forest = Forest(field.problem.root, packing.parents, range(packing.trees))
    return modulo_schedule(shop_of(forest.rows(), field.ways, field.chunk_bytes(count), only_queues=True))


def _repeated(field: Field, packing: Packing, count: int, made: Round) -> Plan:
    """Return the plan of rounds that follow one another after a period."""
    forest = Forest(field.problem.root, packing.parents, ()).rounds(count)
    rows = forest.rows()
    per_round = len(made.start_s)
    begins = [made.start_s[i % per_round] + (i // per_round) * made.period_s for i in range(len(rows.piece))]
    shop = shop_of(rows, field.ways, field.chunk_bytes(count))
    return field.plan(f"{packing.trees} packed trees in rounds", forest, sequenced(rows, shop, begins))


def _packings(field: Field, count: int) -> Iterator[Packing]:
    """Yield packings of the numbers of trees that can come nearest to the bound, as many as there is effort for."""
    problem, n = field.problem, field.ways.ranks
    unit_s = problem.bandwidth_s / problem.size_bytes
    numbers = _tree_numbers(field.ways, problem.root, unit_s, count)
    left = _EFFORT
    full = 0
    ready = relayed(field.near, problem.root, problem.islands)
    twice = relayed(field.near, problem.root, problem.islands, twice=True)
    yield from (packing for packing in (ready, twice) if packing is not None and packing.trees <= count)
    if ready is None and field.problem.has_many_ranks:
        yield from _image_packings(field, unit_s, count)
    for manner, trees in itertools.product((*_MANNERS, *_LONG_MANNERS), numbers):
        if full >= _FULL_ENOUGH:
            return
        cost = trees * n * (n * n + _STEP_COST)
        passes = min(manner.passes, left // cost)
        if ready is not None and manner.passes * cost > _EFFORT:
            continue
        if passes > 0:
            left -= passes * cost
            packing = pack(field.near, problem.root, trees, unit_s=unit_s, manner=replace(manner, passes=passes))
            full += packing.load <= trees * unit_s * (1 + _TOLERANCE)
            yield packing


def _image_packings(field: Field, unit_s: float, count: int) -> Iterator[Packing]:
    """Yield few trees packed for the loads of all their images, with so many images as there are pieces for.

    The images are those under the symmetries that leave the root in place.
    """
    root, group = field.problem.root, field.problem.root_group
    if group is None or group.order == 1:
        return
    ways = folded(field.near, group)
    for trees, manner in itertools.product(_BASE_TREES, _FOLDED_MANNERS):
        base = pack(ways, root, trees, unit_s=unit_s, manner=manner)
        parents, load = balanced(field.near, base.parents, group, max(1, min(_MOST_TREES, count) // trees))
        yield Packing(parents, load, base.height)


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
