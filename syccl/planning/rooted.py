"""Plans of the other collectives: trees of one root, and paths of chunks with one source and one target."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from syccl.planning.problem import FEW_PIECES, ROWS_OF_ROOTED_PROGRAM, Plan, Problem, make_plan
from syccl.sketch.grow import TreeRouter
from syccl.sketch.paths import route_paths
from syccl.sketch.shape import Shape
from syccl.sketch.structure import route_root

_ROWS_ROUTED, _ROWS_OF_PATHS = 3_000, 4_000
"""Hops of the longest plan that is no program, and of one of paths that is one."""
_COUNTS = 2
_SHAPES = tuple(Shape(wave=wave, relays=relays) for wave in ("binomial", "chain", "star") for relays in (0, 1))
"""One relay: an entry passes the piece on once, and the relay serves the others (scatter, then allgather)."""


def rooted_plans(problem: Problem) -> Iterable[Plan]:
    """Yield plans of broadcast and reduce: structured trees of the root, those of most pieces first."""
    for count in _counts(problem):
        for ground, shape in itertools.product(problem.grounds, _SHAPES):
            if len(ground.islands) > 1 or (shape.wave == "binomial" and (not shape.relays or any(ground.is_switch))):
                router = TreeRouter(ground, _unit(problem, count), shape)
                pieces = route_root(router, problem.root, count, inward=problem.op.reduces)
                islands = "" if len(ground.islands) > 1 else ", no islands"
                relays = f", {shape.relays} relay" if shape.relays else ""
                yield make_plan(problem, f"trees of the root, {shape.wave}{relays}{islands}", pieces, count)


def path_plans(problem: Problem) -> Iterable[Plan]:
    """Yield plans of gather and scatter: a path for every piece of every pair of ranks.

    Paths take any route, or only the few connections of the plan between islands.
    """
    ground = problem.ground
    ways = {"any connection": ground.routed}
    if len(problem.islands) > 1:
        ways["few connections"] = ground.allowed
    for count in _counts(problem):
        for name, allowed in ways.items():
            router = TreeRouter(ground, _unit(problem, count), Shape())
            pieces = route_paths(router, list(_pairs(problem)) * count, allowed)
            if all(piece.hops for piece in pieces):
                yield make_plan(problem, f"paths over {name}", pieces, count)


def _pairs(problem: Problem) -> Iterable[tuple[int, int]]:
    """Yield the pairs of the root, nearest rank number first."""
    n = problem.quotient.ranks
    for step in range(1, n):
        for rank in problem.root_ranks:
            other = (rank + step) % n
            yield (other, rank) if problem.op.target == "root" else (rank, other)


def _counts(problem: Problem) -> list[int]:
    """Return the numbers of pieces to try, largest first; a schedule's paths from or to one rank need few."""
    alone = problem.most_hops is None
    paths = problem.sends_to_one and problem.is_rooted
    few = problem.is_short or (paths and alone)
    rows = _ROWS_ROUTED if alone else (_ROWS_OF_PATHS if paths else ROWS_OF_ROOTED_PROGRAM)
    counts = [c for c in problem.piece_counts if (not few or c <= FEW_PIECES) and problem.rows(c) <= rows]
    return counts[::-1][:_COUNTS] or [1]


def _unit(problem: Problem, count: int) -> float:
    """Return the bound in seconds per byte of a piece; where latency counts, of the bandwidth alone."""
    seconds = problem.bandwidth_s if problem.is_short else problem.bound_s
    return seconds * problem.chunks(count) / problem.size_bytes
