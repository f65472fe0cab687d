"""Plans of trees of least latency, for irregular clusters at sizes at which latency counts.

Each piece gets the trees of shortest paths of its root; what earlier pieces load costs extra, so that pieces spread
over paths of equal latency. The root of an allreduce piece is free: the ranks that are nearest to all, or pairs of
neighbours in the middle of the cluster, which sum up a half each and exchange the sums; that saves a hop on even lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.planning.problem import Plan, Problem, make_plan
from syccl.sketch.model import Hop, Piece, both_trees, in_tree, out_tree

Floats = NDArray[np.float64]
Parents = dict[int, int]

_COUNTS = (1, 2, 4, 8, 16)
_ROOTS_OF_TREES = 64
_ROWS = 4_000
"""Hops of the longest plan."""
_CENTRAL = 1.001
"""Roots whose farthest ranks are within this factor of the nearest are as good."""
_TWINS = 4
_HOPELESS = 1.3


def nearest_plans(problem: Problem, best_s: float = np.inf) -> list[Plan]:
    """Return plans of few pieces over trees of least latency.

    Parameters
    ----------
    best_s
        Time of the best plan so far, seconds; where few pieces on trees of a shape take much longer, no more are tried.
    """
    roots = problem.root_ranks[:_ROOTS_OF_TREES]
    if not problem.sums_everywhere and len(roots) < problem.roots:
        return []
    fewest = problem.piece_counts[0]
    counts = [c for c in problem.piece_counts if c == fewest or (c in _COUNTS and problem.rows(c) <= _ROWS)]
    shapes = {"trees of least latency": _rooted_pieces}
    if problem.sums_everywhere:
        shapes = {
            "trees of least latency": _central_pieces,
            "trees of least latency to two ranks": _twin_pieces,
        }
    made: list[Plan] = []
    for count in counts:
        for name, pieces_of in shapes.items():
            tried_s = min((plan.seconds for plan in made if plan.name == name), default=0.0)
            if count <= 2 or tried_s <= _HOPELESS * best_s:
                pieces = pieces_of(problem, roots, count)
                made += [_plan(problem, name, pieces, count)] if pieces else []
    return made


def _plan(problem: Problem, name: str, pieces: Sequence[Piece], count: int) -> Plan:
    return make_plan(problem, name, tuple(pieces), count)


class _Paths:
    """Costs of arcs in seconds: latency, occupation by one piece, and as much again for every earlier use."""

    def __init__(self, problem: Problem, count: int) -> None:
        q = problem.quotient
        self.quotient, self.routed = q, problem.ground.routed
        piece_bytes = problem.size_bytes / problem.chunks(count)
        self.occupied_s = (q.class_weights / q.capacities).max(axis=1, initial=0.0) * piece_bytes
        self.uses = np.zeros(len(self.occupied_s))

    def costs(self) -> Floats:
        kinds = self.quotient.class_latencies_s + self.occupied_s * (1.0 + self.uses)
        return np.where(self.routed, kinds[self.quotient.arc_class], np.inf)

    def tree(self, root: int, *, inward: bool) -> Parents:
        """Return the tree of shortest paths to or from a root, its arcs counted."""
        parent, _ = _shortest(self.costs(), root, inward=inward)
        for child, over in parent.items():
            kind = self.quotient.arc_class[(child, over) if inward else (over, child)]
            self.uses[kind] += 1.0
        return parent


def _shortest(costs: Floats, root: int, *, inward: bool) -> tuple[Parents, Floats]:
    """Return child -> parent of the shortest paths to or from a root, and the length of each."""
    arcs = costs.T if inward else costs
    n = len(costs)
    reached = np.full(n, np.inf)
    reached[root] = 0.0
    parent = np.full(n, -1, dtype=np.int64)
    waiting = np.ones(n, dtype=np.bool_)
    while waiting.any():
        near = int(np.where(waiting, reached, np.inf).argmin())
        if not waiting[near] or not np.isfinite(reached[near]):
            break
        waiting[near] = False
        through = reached[near] + arcs[near]
        better = waiting & (through < reached)
        reached[better], parent[better] = through[better], near
    return {child: over for child, over in enumerate(parent.tolist()) if over >= 0}, reached


def _rooted_pieces(problem: Problem, roots: Sequence[int], count: int) -> list[Piece]:
    paths, inward = _Paths(problem, count), problem.op.reduces
    pieces = []
    for _ in range(count):
        for root in roots:
            tree = paths.tree(root, inward=inward)
            pieces.append(Piece(root, in_tree(root, tree) if inward else out_tree(root, tree), "nearest"))
    return pieces


def _central_pieces(problem: Problem, roots: Sequence[int], count: int) -> list[Piece]:
    paths = _Paths(problem, count)
    costs = paths.costs()
    radius = {
        root: sum(float(_shortest(costs, root, inward=inward)[1].max()) for inward in (True, False)) for root in roots
    }
    least = min(radius.values())
    central = [root for root in roots if radius[root] <= least * _CENTRAL]
    pieces = []
    for i in range(count):
        root = central[i % len(central)]
        hops = both_trees(root, paths.tree(root, inward=True), paths.tree(root, inward=False))
        pieces.append(Piece(root, hops, "nearest"))
    return pieces


def _twin_pieces(problem: Problem, roots: Sequence[int], count: int) -> list[Piece]:
    """Return pieces that are summed at two neighbours, a half of the ranks each, exchanged, and spread from both."""
    costs, n = _Paths(problem, count).costs(), problem.quotient.ranks
    into = np.array([_shortest(costs, v, inward=True)[1] for v in range(n)])
    out = np.array([_shortest(costs, v, inward=False)[1] for v in range(n)])
    pairs = []
    for u in roots:
        for v in np.flatnonzero(problem.ground.routed[u] & problem.ground.routed[:, u]).tolist():
            sums, spreads = np.minimum(into[u], into[v]).max(), np.minimum(out[u], out[v]).max()
            pairs.append((float(sums + max(costs[u, v], costs[v, u]) + spreads), u, v))
    best = sorted(pairs)[:_TWINS]
    central = [(u, v) for seconds, u, v in best if seconds <= best[0][0] * _CENTRAL]
    if not central:
        return []
    made = {pair: tuple(_twin_hops(costs, pair)) for pair in central}
    return [Piece(u, made[u, v], "twins") for u, v in (central[i % len(central)] for i in range(count))]


def _twin_hops(costs: Floats, pair: tuple[int, int]) -> Iterator[Hop]:
    first, second = pair
    halves = {}
    for inward in (True, False):
        (tree, near), (other, far) = (_shortest(costs, root, inward=inward) for root in pair)
        mine = near <= far
        mine[first], mine[second] = True, False
        halves[inward] = (
            {child: over for child, over in tree.items() if mine[child]},
            {child: over for child, over in other.items() if not mine[child]},
        )
    ups = [in_tree(root, tree) for root, tree in zip(pair, halves[True], strict=True)]
    last = max((hop.stage for up in ups for hop in up), default=-1)
    for up in ups:
        late = last - max((hop.stage for hop in up), default=-1)
        yield from (hop._replace(stage=hop.stage + late) for hop in up)
    yield Hop(first, second, last + 1, True)
    yield Hop(second, first, last + 1, True)
    for root, tree in zip(pair, halves[False], strict=True):
        yield from out_tree(root, tree, first_stage=last + 2)
