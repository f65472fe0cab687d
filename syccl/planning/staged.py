"""Plans of staged sketches, alone and mixed, for sizes at which latency counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from syccl.planning.problem import Plan, Problem, make_plan
from syccl.sketch.model import Hop, Piece, both_trees, in_tree, out_tree
from syccl.sketch.search import Sketch, spreading_sketches, summing_sketches

_MIXED_SKETCHES = 5
_MIX_COUNTS = (2, 4, 8)
_ROOTS_OF_TREES = 64
_PAIRS_IN_MORE_PIECES = 3
_ROWS_OF_MIX = 3_000


def staged_plans(problem: Problem) -> list[Plan]:
    """Return the staged sketches alone and the best mixes of them."""
    if problem.sums_everywhere:
        sketches = summing_sketches(problem.levels)
    else:
        sketches = spreading_sketches(problem.levels, inward=problem.op.reduces)
    sketches = [s for s in sketches if all(_serves(problem, s.hops(root)) for root in problem.root_ranks)]
    fewest = problem.piece_counts[0]
    singles = [_mix(problem, [(sketch, fewest)], fewest) for sketch in sketches]
    order = sorted(range(len(singles)), key=lambda i: (singles[i].seconds, i))
    best = [sketches[i] for i in order[:_MIXED_SKETCHES]]
    return singles + _mixes(problem, best)


def nearest_plans(problem: Problem) -> list[Plan]:
    """Return plans of the fewest pieces over trees of least latency; allreduce at the roots that are nearest to all."""
    count = problem.piece_counts[0]
    roots = problem.root_ranks[:_ROOTS_OF_TREES]
    inward = {root: _nearest_tree(problem, root, inward=True) for root in roots} if problem.op.reduces else {}
    outward = {root: _nearest_tree(problem, root, inward=False) for root in roots} if problem.op.target == "all" else {}
    if problem.sums_everywhere:
        central = sorted(roots, key=lambda root: (inward[root][1] + outward[root][1], root))
        chosen = [central[i % len(central)] for i in range(count)]
        pieces = [Piece(root, both_trees(root, inward[root][0], outward[root][0]), "nearest") for root in chosen]
    elif len(roots) < problem.roots:
        return []
    else:
        trees = {root: in_tree(root, inward[root][0]) if inward else out_tree(root, outward[root][0]) for root in roots}
        pieces = [Piece(root, trees[root], "nearest") for _ in range(count) for root in roots]
    return [make_plan(problem, "trees of least latency", tuple(pieces), count)]


def _nearest_tree(problem: Problem, root: int, *, inward: bool) -> tuple[dict[int, int], float]:
    """Return the tree of least latency from (or to) a rank as child -> parent, and seconds to its farthest rank."""
    q = problem.quotient
    latency = np.where(problem.ground.routed, q.class_latencies_s[q.arc_class], np.inf)
    if inward:
        latency = latency.T
    reached = np.full(q.ranks, np.inf)
    reached[root] = 0.0
    parent: dict[int, int] = {}
    waiting = set(range(q.ranks))
    while waiting:
        near = min(waiting, key=lambda rank: (reached[rank], rank))
        waiting.remove(near)
        for rank in sorted(waiting):
            if reached[near] + latency[near, rank] < reached[rank]:
                reached[rank], parent[rank] = reached[near] + latency[near, rank], near
    return parent, float(reached.max())


def _mixes(problem: Problem, sketches: Sequence[Sketch]) -> list[Plan]:
    """Return mixes of pairs of sketches: every pair in two pieces, the best of them in more pieces and other shares."""
    counts = [c for c in _MIX_COUNTS if c in problem.piece_counts]
    if not counts:
        return []
    pairs = list(itertools.combinations_with_replacement(sketches, 2))
    even = [
        _mix(problem, [(first, counts[0] // 2), (second, counts[0] - counts[0] // 2)], counts[0])
        for first, second in pairs
    ]
    order = sorted(range(len(even)), key=lambda i: (even[i].seconds, i))
    mixes = list(even)
    for count, (first, second) in itertools.product(counts[1:], [pairs[i] for i in order[:_PAIRS_IN_MORE_PIECES]]):
        shares = [k for k in (count // 4, count // 2, count - count // 4) if first is not second or k == count // 2]
        if count * len(first.hops(problem.root_ranks[0])) * problem.roots <= _ROWS_OF_MIX:
            mixes += [_mix(problem, [(first, k), (second, count - k)], count) for k in shares]
    return mixes


def _mix(problem: Problem, parts: Sequence[tuple[Sketch, int]], count: int) -> Plan:
    merged = {sketch.name: sum(k for other, k in parts if other is sketch) for sketch, _ in parts}
    name = " + ".join(f"{k} x {sketch}" if count > 1 else sketch for sketch, k in merged.items())
    recipe = [sketch for sketch, k in parts for _ in range(k)]
    roots = problem.root_ranks
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
