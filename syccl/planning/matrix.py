"""Plans of alltoallv: paths for every entry of the matrix, entries cut in pieces, an order in which ports stay busy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syccl.bounds import Bound
from syccl.collective import ALLTOALLV, Demand, Matrix, Part
from syccl.collective.matrix import split_evenly
from syccl.planning.grain import Grain
from syccl.schedule import Schedule, Transfers
from syccl.sketch.flows import Path, PathPool, cheapest_parents, path_to, price_paths
from syccl.sketch.ground import Ground
from syccl.sketch.quotient import Quotient
from syccl.sketch.reroute import rerouted
from syccl.solve.list_schedule import JobShop, Timing, list_schedule, tails
from syccl.solve.pressed import pressed_schedule

_GOOD = 1.01
"""Gap to the bound below which nothing else is tried."""
_FAIR = 1.1
"""Paths whose busiest link takes so much longer than the bound are not looked at in more detail."""
_PAIRS_PRICED = 300
"""Pairs above which paths are routed one by one instead of by a linear program."""
_FINE = 256
"""Where entries are cut, the busiest port sends about as many pieces; a half, a quarter, ... where plans get long."""
_ROWS, _ROWS_TWICE = 24_000, 3_000
"""Most transfers of a plan, and most of one that is put in order in two ways."""
_LATENCY_SHARE = 1 / 32
"""Pieces that take less than this part of the latency are not worth their number."""
_SMALLEST_SHARE = 0.02
"""Shares of an entry below this part are left to its other paths."""


@dataclass(frozen=True)
class Cargo:
    """Bytes that go along a path."""

    path: Path
    size_bytes: int


@dataclass(frozen=True, eq=False)
class MatrixPlan:
    """A way to carry out an alltoallv, with its list schedule.

    Parameters
    ----------
    timing
        Of the hops of all pieces, piece by piece.
    turns
        ``order`` of the hops in the schedule, where hops of equal turn share links; empty: by their start, one by one.
    """

    name: str
    pieces: tuple[Cargo, ...]
    timing: Timing
    turns: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Makespan of the list schedule."""
        return self.timing.makespan_s


def matrix_plans(ground: Ground, matrix: Matrix, *, bound: Bound, grain: Grain) -> Iterator[MatrixPlan]:
    """Yield plans until one is close to the bound: the simplest first.

    Parameters
    ----------
    ground
        Of the topology without symmetry.
    grain
        How entries may be cut.
    """
    best, bound_s = np.inf, bound.seconds
    for name, cargo in _routings(ground, matrix, bound_s, grain.unit_bytes):
        for pieces in _cuttings(ground, cargo, bound, grain):
            plan = _timed(ground.quotient, f"{name}, {len(pieces)} pieces", pieces)
            best = min(best, plan.seconds)
            yield plan
            if best <= bound_s * _GOOD:
                return
            if _busiest_s(ground.quotient, cargo) > bound_s * _FAIR:
                # However the pieces are ordered, other paths do better.
                break


def _cuttings(ground: Ground, cargo: tuple[Cargo, ...], bound: Bound, grain: Grain) -> Iterator[tuple[Cargo, ...]]:
    """Yield the cargo whole, then cut as finely as plans may be long and latency lets it pay."""
    whole = _cut(ground, cargo, bound.seconds, grain)
    yield whole
    parts = _FINE
    while parts > 1:
        pieces = _cut(ground, cargo, max(bound.seconds / parts, _LATENCY_SHARE * bound.latency_s), grain)
        if sum(len(piece.path) - 1 for piece in pieces) <= _ROWS:
            if len(pieces) > len(whole):
                yield pieces
            return
        parts //= 2


def _routings(
    ground: Ground, matrix: Matrix, bound_s: float, element_bytes: int
) -> Iterator[tuple[str, tuple[Cargo, ...]]]:
    """Yield ways to send every entry: direct, along a flow, along paths found one by one."""
    if all(ground.routed[pair] for pair in matrix.pairs):
        yield "direct", tuple(Cargo(pair, matrix.rows[pair[0]][pair[1]]) for pair in matrix.pairs)
    if len(matrix.pairs) <= _PAIRS_PRICED:
        sizes = [float(matrix.rows[u][v]) for u, v in matrix.pairs]
        largest = max(sizes, default=1.0)
        pool = price_paths(ground.quotient, ground.routed, matrix.pairs, weights=[size / largest for size in sizes])
        if pool is not None:
            yield "paths of a flow", _along(pool, matrix, element_bytes)
    else:
        cargo = _routed(ground, matrix, bound_s, element_bytes)
        if cargo is not None:
            yield "paths", cargo


def _along(pool: PathPool, matrix: Matrix, element_bytes: int) -> tuple[Cargo, ...]:
    """Share every entry out over the paths of a flow, in whole elements, by largest remainder."""
    cargo = []
    for group, (source, target) in enumerate(pool.pairs):
        columns = np.flatnonzero(pool.groups == group)
        share = np.where(pool.shares[columns] >= _SMALLEST_SHARE, pool.shares[columns], 0.0)
        elements = matrix.rows[source][target] // element_bytes
        edges = np.floor(np.cumsum(share) / share.sum() * elements + 0.5).astype(np.int64)
        counts = np.diff(edges, prepend=0)
        cargo += [
            Cargo(pool.paths[column], int(count) * element_bytes)
            for column, count in zip(columns.tolist(), counts.tolist(), strict=True)
            if count
        ]
    return tuple(cargo)


def _routed(ground: Ground, matrix: Matrix, bound_s: float, element_bytes: int) -> tuple[Cargo, ...] | None:
    """Return paths by rip-up and re-route; entries in as many pieces as the mean entry goes into them."""
    mean = sum(matrix.rows[u][v] for u, v in matrix.pairs) / len(matrix.pairs)
    latency = ground.quotient.class_costs(1.0 / ground.quotient.capacities)[ground.quotient.arc_class]
    costs = np.where(ground.routed, latency, np.inf)
    trees = {source: cheapest_parents(costs, source) for source in sorted({u for u, _ in matrix.pairs})}
    start: list[Path] = []
    sizes: list[int] = []
    for source, target in matrix.pairs:
        path = path_to(trees[source], source, target)
        if path is None:
            return None
        entry = matrix.rows[source][target]
        parts = split_evenly(entry, max(1, round(entry / mean)), unit=element_bytes)
        start += [path] * len(parts)
        sizes += parts
    weights = np.array(sizes, dtype=np.float64)
    paths = rerouted(ground.quotient, ground.routed, start, weights=weights, limit_s=bound_s)
    return tuple(Cargo(path, size) for path, size in zip(paths, sizes, strict=True))


def _cut(ground: Ground, cargo: Sequence[Cargo], limit_s: float, grain: Grain) -> tuple[Cargo, ...]:
    """Cut cargo in pieces that take as long as a limit on the slowest link of their path, and a smaller last one.

    Pieces of equal length end together, so that ports are free to change partners.
    They are ordered in rounds: in a round every rank has the same way to go, in islands and in places inside them, so
    that in equal islands each round is a matching of ranks and of what mates share.
    """
    quotient = ground.quotient
    slowest = (quotient.class_weights / quotient.capacities).max(axis=1, initial=0.0)
    home, islands = ground.island_of.tolist(), ground.islands
    place = {rank: i for members in islands for i, rank in enumerate(members)}
    keyed = []
    for one in cargo:
        seconds = one.size_bytes * max(float(slowest[quotient.arc_class[arc]]) for arc in itertools.pairwise(one.path))
        most = min(int(one.size_bytes * min(1.0, limit_s / seconds)), grain.most_bytes)
        parts = _units(one.size_bytes, most, grain.unit_bytes)
        u, v = one.path[0], one.path[-1]
        away = (home[v] - home[u] - 1) % len(islands), (place[v] - place[u]) % len(islands[home[v]])
        keyed += [((turn, away, u), Cargo(one.path, size)) for turn, size in enumerate(parts)]
    return tuple(piece for _, piece in sorted(keyed, key=lambda entry: entry[0]))


def _units(total: int, most: int, element_bytes: int) -> list[int]:
    unit = max(element_bytes, most // element_bytes * element_bytes)
    whole, rest = divmod(total, unit)
    return [unit] * whole + [rest] * (rest > 0)


def _busiest_s(quotient: Quotient, cargo: Sequence[Cargo]) -> float:
    """Return how long the busiest link takes."""
    moved = np.zeros(len(quotient.class_weights))
    for one in cargo:
        for arc in itertools.pairwise(one.path):
            moved[quotient.arc_class[arc]] += one.size_bytes
    return float((moved @ quotient.class_weights / quotient.capacities).max(initial=0.0))


def _timed(quotient: Quotient, name: str, pieces: tuple[Cargo, ...]) -> MatrixPlan:
    """Return pieces in order: the busiest ports first or, where that is shorter, the longest way to go."""
    shop = shop_of(quotient, pieces)
    timings = [pressed_schedule(shop)]
    if len(shop.uses) <= _ROWS_TWICE:
        timings.append(list_schedule(shop, tails(shop)))
    return MatrixPlan(name, pieces, min(timings, key=lambda timing: timing.makespan_s))


def shop_of(quotient: Quotient, pieces: Sequence[Cargo]) -> JobShop:
    """Return the hops of all pieces as jobs on links, piece by piece.

    Parameters
    ----------
    quotient
        Says which routes hops take; every piece stands for itself alone.
    """
    rates, latencies_s = quotient.topology.link_rates, quotient.topology.link_latencies_s
    known: dict[tuple[int, int], tuple[list[int], float]] = {}
    uses: list[list[tuple[int, float]]] = []
    latency: list[float] = []
    after: list[list[int]] = []
    for piece in pieces:
        for step, arc in enumerate(itertools.pairwise(piece.path)):
            if arc not in known:
                route = list(quotient.route(*arc))
                known[arc] = route, float(latencies_s[route].sum())
            links, alpha_s = known[arc]
            uses.append([(link, piece.size_bytes / float(rates[link])) for link in links])
            latency.append(alpha_s)
            after.append([len(after) - 1] if step else [])
    return JobShop(uses, latency, after)


def matrix_schedule(quotient: Quotient, matrix: Matrix, plan: MatrixPlan) -> Schedule:
    """Return the schedule of a plan; chunks are by sender and receiver, then in the order of the pieces."""
    ends = [(piece.path[0], piece.path[-1]) for piece in plan.pieces]
    by_pair = sorted(range(len(ends)), key=lambda i: (ends[i], i))
    own = [((rank, rank), -1) for rank in range(matrix.ranks) if matrix.rows[rank][rank]]
    listed = sorted([*own, *((ends[i], i) for i in by_pair)], key=lambda entry: entry[0])
    parts = tuple(Part(u, v, matrix.rows[u][v] if i < 0 else plan.pieces[i].size_bytes) for (u, v), i in listed)
    chunk_of = {i: chunk for chunk, (_, i) in enumerate(listed)}
    rows = [
        (chunk_of[i], *arc, stage)
        for i, piece in enumerate(plan.pieces)
        for stage, arc in enumerate(itertools.pairwise(piece.path))
    ]
    by_start = sorted(range(len(rows)), key=lambda row: (plan.timing.start_s[row], row))
    order = sorted(by_start, key=plan.turns.__getitem__) if plan.turns else by_start
    turns = [plan.turns[row] for row in order] if plan.turns else range(len(order))
    chunk, src, dst, stage = np.array([rows[row] for row in order], dtype=np.int32).reshape(-1, 4).T
    routes: dict[tuple[int, ...], int] = {}
    route = [
        routes.setdefault(quotient.route(u, v), len(routes)) for u, v in zip(src.tolist(), dst.tolist(), strict=True)
    ]
    transfers = Transfers(
        chunk=chunk,
        src=src,
        dst=dst,
        route=np.array(route, dtype=np.int32),
        reduce=np.zeros(len(order), dtype=np.bool_),
        stage=stage,
        order=np.array(turns, dtype=np.int32),
    )
    demand = Demand(ALLTOALLV, matrix.ranks, len(parts), parts=parts)
    return Schedule(quotient.topology, demand, tuple(routes), transfers)
