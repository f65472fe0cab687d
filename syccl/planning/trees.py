"""Plans of trees: routed under prices, combined by an integer program, solved by a constraint program."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syccl.clock import Clock
from syccl.planning.growing import growing_plans
from syccl.planning.problem import BANDWIDTH_RULES, FEW_PIECES, LATENCY_RULES, Plan, Problem, make_plan
from syccl.sketch.combine import combine
from syccl.sketch.ground import Ground
from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Hop, Piece, both_trees, in_tree, out_tree
from syccl.sketch.price import Column, Pricing
from syccl.sketch.sequence import evenly_sequenced
from syccl.sketch.shape import Shape
from syccl.sketch.structure import route_allgather, route_allreduce
from syccl.solve.trees import Solver

Floats = NDArray[np.float64]

SOLVED = "trees solved by constraint program"

_ROWS_IN_ALL = 12_000
"""Hops that one search may route, over all its plans: bounds the time of planning."""
_ROWS_ROUTED = 3_000
"""Hops of the longest plan whose trees are routed one by one."""
_ROUTED_COUNTS = 3
_NEAR = 0.01
"""Gap to what is reachable below which other shapes and grounds are left out, for a schedule alone or of long plans."""
_SOLVED_COUNTS, _HOPELESS = 2, 1.5
"""Plans of fewest pieces whose sub-demands are solved, while they take no longer than this, over the best plan."""
_COMBINED_COUNTS = 2
_LARGEST_POOL = 150
_LARGEST_COMBINATION = 256
_SHAPES = (Shape(), Shape(by_turns=True), Shape(relays=3), Shape(wave="star"))


def routed_plans(problem: Problem) -> Iterable[Plan]:
    """Yield plans of trees routed one by one, those of most pieces first; schedules alone grow as far as it pays."""
    if problem.wants_many_rows and problem.most_hops is None:
        yield from growing_plans(problem, _routed_plan)
        return
    if problem.wants_many_rows and len(problem.grounds) > 1:
        yield from _long_plans(problem)
        return
    budget = 3 * problem.longest_plan if problem.wants_many_rows else _ROWS_IN_ALL
    for count in _routed_counts(problem):
        for ground, shape in itertools.product(problem.grounds, _SHAPES):
            if not _is_worth(problem, ground, count, shape) or (problem.rows(count) > budget and count > 1):
                continue
            budget -= problem.rows(count)
            plan = _routed_plan(problem, ground, count, shape)
            yield plan
            if problem.most_hops is None and problem.gap(plan) <= _NEAR:
                break


def _long_plans(problem: Problem) -> Iterator[Plan]:
    """Yield long plans: of the second largest number of pieces, then of others.

    Where the first ones are near what is reachable, the largest number and all grounds but the best are left out.
    """
    largest, *others = _routed_counts(problem)
    first = others[0] if others else largest
    plans: list[tuple[Plan, Ground]] = []
    for ground in problem.grounds:
        plans += [(plan, ground) for plan in _shaped_plans(problem, ground, first)]
        yield from (plan for plan, on in plans if on is ground)
    best, ground = min(plans, key=lambda pair: pair[0].seconds)
    is_near = problem.gap(best) <= _NEAR
    grounds = (ground,) if is_near else problem.grounds
    for count in others if is_near else (largest, *others):
        if count != first:
            for ground in grounds:
                yield from _shaped_plans(problem, ground, count)


def _shaped_plans(problem: Problem, ground: Ground, count: int) -> Iterator[Plan]:
    """Yield plans of all shapes of trees that are worth it."""
    for shape in _SHAPES:
        if _is_worth(problem, ground, count, shape):
            yield _routed_plan(problem, ground, count, shape)


def _routed_plan(problem: Problem, ground: Ground, count: int, shape: Shape) -> Plan:
    return make_plan(problem, _name(ground, shape), structured_pieces(problem, ground, count, shape), count)


def _routed_counts(problem: Problem) -> list[int]:
    """Return the numbers of pieces to route trees for, largest first; where bandwidth rules, few of them will do."""
    most = problem.longest_plan if problem.wants_many_rows else _ROWS_ROUTED
    counts = [c for c in problem.piece_counts if problem.rows(c) <= most or c <= FEW_PIECES]
    if problem.bandwidth_s > BANDWIDTH_RULES * problem.latency_s:
        counts = sorted({*counts[:1], *counts[-_ROUTED_COUNTS:]})
    return counts[::-1] or [1]


def _is_worth(problem: Problem, ground: Ground, count: int, shape: Shape) -> bool:
    """Return whether a shape of trees can matter: turns and relays for long chains of sums, stars for few pieces."""
    if shape.by_turns:
        return problem.wants_many_rows and problem.sums_everywhere and problem.joins_servers and all(ground.is_star)
    if shape.relays:
        if problem.most_hops is None:
            return False
        long_chains = any(ground.is_star) and max(map(len, ground.islands)) > 4
        return problem.op.reduces and not problem.sums_everywhere and long_chains
    return shape.wave == "binomial" or (len(ground.islands) > 2 and count <= 2)


def _name(ground: Ground, shape: Shape) -> str:
    islands = "" if len(ground.islands) > 1 else ", no islands"
    relays = f", {shape.relays} relays" if shape.relays else ""
    turns = ", roots by turns" if shape.by_turns else ""
    return f"structured trees, {shape.wave}{relays}{turns}{islands}"


def structured_pieces(problem: Problem, ground: Ground, count: int, shape: Shape) -> tuple[Piece, ...]:
    """Return ``count`` pieces (per root, or in all for allreduce) routed on structured trees."""
    scale = problem.group.order * count if problem.sums_everywhere else count
    router = TreeRouter(ground, problem.unit_s_per_byte * scale, shape, problem.most_hops)
    if problem.sums_everywhere:
        pieces = route_allreduce(router, count)
        return evenly_sequenced(pieces, problem.quotient) if problem.wants_many_rows else pieces
    return route_allgather(router, count, inward=problem.op.reduces)


def combined_plans(problem: Problem, pricing: Pricing, structured: Sequence[Plan], clock: Clock) -> list[Plan]:
    """Round the shares of priced and structured trees to whole pieces by an integer program, where that pays."""
    made: list[Plan] = []
    if problem.bandwidth_s < LATENCY_RULES * problem.latency_s:
        return made
    pieces, loads, groups, depths = _pool(problem, pricing, structured)
    per_count = 1 if problem.sums_everywhere else problem.roots
    counts = [count for count in problem.piece_counts if count * per_count <= _LARGEST_COMBINATION]
    for count in counts[-_COMBINED_COUNTS:]:
        if made and clock.is_over():
            break
        chosen = combine(loads, groups, count, problem.quotient.capacities, depths=depths, limit_s=clock.left_s())
        picked = _spread_out(pieces, chosen.multiplicities.tolist())
        plan = make_plan(problem, "trees combined by integer program", picked, count)
        made.append(replace(plan, status=chosen.status))
    return made


def _spread_out(pieces: Sequence[Piece], multiplicities: Sequence[int]) -> tuple[Piece, ...]:
    """Return every piece as often as asked, copies evenly spread over the sequence, so that loads stay even in time."""
    turns = [((copy + 0.5) / times, number) for number, times in enumerate(multiplicities) for copy in range(times)]
    return tuple(pieces[number] for _, number in sorted(turns))


def _pool(
    problem: Problem, pricing: Pricing, structured: Sequence[Plan]
) -> tuple[list[Piece], Floats, NDArray[np.int32], NDArray[np.int32]]:
    """Return distinct trees of all sources, their loads per byte, the group of each, and their depths."""
    pool: dict[tuple[Hop, ...], Piece] = {}
    for piece in [_priced_piece(column) for column in pricing.columns] + [
        p for plan in sorted(structured, key=lambda plan: -plan.count) for p in plan.pieces
    ]:
        if len(pool) < _LARGEST_POOL:
            pool.setdefault(piece.hops, piece)
    pieces = list(pool.values())
    position = {root: i for i, root in enumerate(problem.root_ranks)}
    groups = np.array([0 if problem.sums_everywhere else position[piece.root] for piece in pieces], dtype=np.int32)
    loads = np.array([_loads(problem, [piece]) for piece in pieces]) / problem.chunk_share
    depths = np.array([max(hop.stage for hop in piece.hops) + 1 for piece in pieces], dtype=np.int32)
    return pieces, loads, groups, depths


def _priced_piece(column: Column) -> Piece:
    inward, outward = _parents(column.inward), _parents(column.outward)
    if column.inward is None:
        hops = out_tree(column.root, outward)
    elif column.outward is None:
        hops = in_tree(column.root, inward)
    else:
        hops = both_trees(column.root, inward, outward)
    return Piece(column.root, hops, "priced")


def _parents(parents: NDArray[np.int32] | None) -> dict[int, int]:
    return {} if parents is None else {v: u for v, u in enumerate(parents.tolist()) if u >= 0}


def _loads(problem: Problem, pieces: Sequence[Piece]) -> Floats:
    """Return the transfers on each link of every orbit, images included."""
    classes = [problem.quotient.arc_class[hop.src, hop.dst] for piece in pieces for hop in piece.hops]
    total: Floats = problem.quotient.class_weights[classes].sum(axis=0)
    return total


def solved_plans(problem: Problem, structured: Sequence[Plan], solver: Solver) -> list[Plan]:
    """Solve the sub-demands of plans of few pieces."""
    made = []
    hopeful = [plan for plan in structured if plan.seconds <= _HOPELESS * min(p.seconds for p in structured)]
    for count in problem.piece_counts[:_SOLVED_COUNTS]:
        plan = min((p for p in hopeful if p.count == count), key=lambda p: p.seconds, default=None)
        pieces = None if plan is None else _improved(problem, plan, solver)
        if pieces is not None:
            made.append(make_plan(problem, SOLVED, pieces, count))
    return made


def _improved(problem: Problem, plan: Plan, solver: Solver) -> tuple[Piece, ...] | None:
    chunk_bytes = problem.size_bytes / problem.chunks(plan.count)
    roots = [piece.root for piece in plan.pieces]
    halves = []
    for reduces in (True, False):
        trees = [_half(piece, reduces=reduces) for piece in plan.pieces]
        if not any(trees):
            halves.append(trees)
            continue
        quotient = problem.quotient.flipped if reduces else problem.quotient
        better = solver.improve(quotient, problem.islands, list(zip(roots, trees, strict=True)), chunk_bytes)
        if better is None:
            return None
        halves.append(better)
    return tuple(
        Piece(root, both_trees(root, inward, outward), "solved")
        for root, inward, outward in zip(roots, *halves, strict=True)
    )


def _half(piece: Piece, *, reduces: bool) -> dict[int, int]:
    """Return the reduction tree or the spreading tree of a piece as child -> parent."""
    if reduces:
        return {hop.src: hop.dst for hop in piece.hops if hop.reduce}
    return {hop.dst: hop.src for hop in piece.hops if not hop.reduce}
