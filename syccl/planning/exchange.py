"""Plans of alltoall: a path for every piece of every pair of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from syccl.planning.problem import Plan, Problem, make_plan
from syccl.sketch.flows import PathPool, hops_along, price_paths, whole_pieces
from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Piece
from syccl.sketch.paths import route_paths
from syccl.sketch.shape import Shape
from syccl.solve.pressed import pressed_schedule

_GOOD, _FAIR = 1.002, 1.01
"""Gaps to the bound below which nothing else is tried for the schedule's sake: with few pairs, with many."""
_FEW_ROWS = 300
_ROWS_ROUTED = 3_000
_MOST_PIECES = 64
_COUNTS = 3
_ODD_COUNTS = (3, 6)
"""Numbers of pieces that no runtime selects for powers of two; for schedules alone."""
_PAIRS_PRICED = 300
"""Pairs of representatives above which the linear program of the paths is left out."""
_SHARES = 8
"""Relayed shares are tried in steps of one part in so many."""


def exchange_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans: one piece for each pair first, then what closes the gap to the bound or fits a program better."""
    pairs = _pairs(problem)
    direct = _direct(problem, pairs)
    found = [] if direct is None else [direct]
    yield from found
    if problem.is_short and len(problem.islands) > 1 and not _is_good(problem, found):
        found += _relayed_plans(problem, pairs)
        yield from found[1:]
    if problem.rows(1) > _ROWS_ROUTED and found:
        return
    pool = None if _is_good(problem, found) else _pool(problem, pairs)
    for count in _counts(problem):
        flow = None
        if pool is not None and not _is_good(problem, found):
            flow = _timed(problem, "paths of a flow", whole_pieces(pool, problem.quotient, count), count)
            found.append(flow)
            yield flow
        if problem.most_hops is not None or not (_is_good(problem, found) or _fills_links(problem, flow)):
            for plan in _routed_plans(problem, pairs, count):
                found.append(plan)
                yield plan


def _timed(problem: Problem, name: str, pieces: tuple[Piece, ...], count: int) -> Plan:
    """Return pieces in the better of two orders: the longest way to go first, or the busiest ports first."""
    plan = make_plan(problem, name, pieces, count)
    pressed = pressed_schedule(plan.timed.shop)
    return plan if plan.seconds <= pressed.makespan_s else replace(plan, timed=replace(plan.timed, timing=pressed))


def _is_good(problem: Problem, found: Sequence[Plan]) -> bool:
    """Return whether the best plan is so close to the bound that others are not worth their time."""
    limit = _GOOD if problem.rows(1) <= _FEW_ROWS else _FAIR
    return any(plan.seconds <= problem.bound_s * limit for plan in found)


def _fills_links(problem: Problem, flow: Plan | None) -> bool:
    """Return whether other paths could load links no better, and the plan lacks only what smaller pieces mend."""
    if flow is None or problem.is_short:
        return False
    is_small = flow.count < max(_counts(problem))
    return flow.timed.shop.busiest_s <= problem.bound_s * _GOOD and (
        is_small or flow.seconds <= problem.bound_s * _FAIR
    )


def _pairs(problem: Problem) -> list[tuple[int, int]]:
    """Return the pairs of the representatives, in an order that turns with the source."""
    n = problem.quotient.ranks
    return [(rank, (rank + step) % n) for step in range(1, n) for rank in problem.root_ranks]


def _counts(problem: Problem) -> list[int]:
    """Return the numbers of pieces to try: the fewest, then from the most downwards."""
    counts = [c for c in problem.piece_counts if c <= _MOST_PIECES and problem.rows(c) <= _ROWS_ROUTED]
    fewest, more = counts[:1] or [1], counts[1:][::-1][: _COUNTS - 1]
    odd = [c for c in _ODD_COUNTS if problem.most_hops is None and problem.rows(c) <= _ROWS_ROUTED]
    return [*fewest, *odd, *more]


def _direct(problem: Problem, pairs: Sequence[tuple[int, int]]) -> Plan | None:
    """Return the plan without relays; None where some pair has no route."""
    if not all(problem.ground.routed[pair] for pair in pairs):
        return None
    return _timed(problem, "direct", tuple(_piece(pair) for pair in pairs), 1)


def _piece(path: tuple[int, ...]) -> Piece:
    return Piece(path[0], hops_along(path), "path", path[-1])


def _pool(problem: Problem, pairs: Sequence[tuple[int, int]]) -> PathPool | None:
    if len(pairs) > _PAIRS_PRICED:
        return None
    return price_paths(problem.quotient, problem.ground.routed, pairs)


def _routed_plans(problem: Problem, pairs: list[tuple[int, int]], count: int) -> Iterable[Plan]:
    """Yield plans of paths by rip-up and re-route: over any connection, or over the few of the plan between islands."""
    ways = {"any connection": problem.ground.routed}
    if len(problem.islands) > 1:
        ways["few connections"] = problem.ground.allowed
    # Where latency counts, the bound says little about how much a link may carry.
    seconds = problem.bandwidth_s if problem.is_short else problem.bound_s
    for name, allowed in ways.items():
        router = TreeRouter(problem.ground, seconds * problem.chunks(count) / problem.size_bytes, Shape())
        pieces = route_paths(router, pairs * count, allowed, passes=1 if problem.is_short else 2)
        if all(piece.hops for piece in pieces):
            yield _timed(problem, f"paths over {name}", pieces, count)


def _relayed_plans(problem: Problem, pairs: list[tuple[int, int]]) -> Iterator[Plan]:
    """Yield mixes of direct paths and relays in the island of the source or of the target.

    A relay has the connection that the plan between islands offers. Its second hop uses links that paths without a
    relay leave idle at the end, and its first hop those that are idle at the start.
    """
    near = {pair: _relays(problem, *pair) for pair in pairs}
    far = [pair for pair in pairs if any(len(path) > 2 for path in near[pair])]
    if not far:
        return
    steps = range(_SHARES + 1)
    for first, last in itertools.product(steps, steps):
        if 0 < first + last <= _SHARES and (first % 2 == last % 2 == 0 or first * last == 0):
            kinds = _dealt(len(far), (_SHARES - first - last, first, last))
            chosen = dict(zip(far, kinds, strict=True))
            paths = [near[pair][chosen.get(pair, 0)] for pair in pairs]
            if all(problem.ground.routed[arc] for path in paths for arc in itertools.pairwise(path)):
                name = f"{first}/{_SHARES} relayed first, {last}/{_SHARES} relayed last"
                yield _timed(problem, name, tuple(_piece(path) for path in paths), 1)


def _relays(problem: Problem, source: int, target: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the paths without a relay, by a mate of the source, and by a mate of the target; all direct inside."""
    ground, q = problem.ground, problem.quotient
    home = ground.island_of
    direct = (source, target)
    if home[source] == home[target]:
        return direct, direct, direct
    alpha = q.class_latencies_s[q.arc_class]
    first = [w for w in problem.islands[home[source]] if ground.allowed[w, target] and w != source]
    last = [w for w in problem.islands[home[target]] if ground.allowed[source, w] and w != target]
    before = min(first, key=lambda w: (alpha[source, w] + alpha[w, target], (w - source) % q.ranks), default=target)
    after = min(last, key=lambda w: (alpha[source, w] + alpha[w, target], (w - target) % q.ranks), default=target)
    by_source = direct if ground.allowed[direct] or before == target else (source, before, target)
    by_target = direct if ground.allowed[direct] or after == target else (source, after, target)
    return direct, by_source, by_target


def _dealt(items: int, shares: tuple[int, ...]) -> list[int]:
    """Return a kind for each of some items, each kind evenly spread by its share."""
    given = [0.0] * len(shares)
    kinds = []
    for i in range(1, items + 1):
        wanted = [i * share / sum(shares) for share in shares]
        kind = max(range(len(shares)), key=lambda k: (wanted[k] - given[k], -k))
        given[kind] += 1
        kinds.append(kind)
    return kinds
