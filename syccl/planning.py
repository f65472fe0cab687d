"""Planning: many ways to cut and route a collective, ranked by cheap simulated time.

Three sources of plans meet here: structured trees (rip-up and re-route), staged sketches and mixes of them (for sizes
at which latency counts), and what the solvers add. A plan is a set of pieces; its time is that of a list schedule.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.collective import Op
from syccl.sketch.combine import combine
from syccl.sketch.ground import Ground
from syccl.sketch.grow import Shape, TreeRouter
from syccl.sketch.model import Hop, Piece, both_trees, in_tree, out_tree
from syccl.sketch.price import Column, Pricing
from syccl.sketch.quotient import Quotient
from syccl.sketch.search import Levels, Sketch, spreading_sketches, summing_sketches
from syccl.sketch.structure import route_allgather, route_allreduce
from syccl.solve.timing import Timed, time_pieces
from syccl.solve.trees import Solver
from syccl.symmetry import Group

Floats = NDArray[np.float64]

MAX_CHUNKS = 32768
"""Chunk offsets are 16 bits in the runtimes."""

_ROWS_IN_ALL = 12_000
"""Hops that one search may route, over all its plans: bounds the time of planning."""
_ROWS_ROUTED = 3_000
"""Hops of the longest plan whose trees are routed one by one."""
_ROWS_OF_PLAN = 6_000
"""Hops of the longest plan of all."""
_FEW_PIECES = 8
"""Pieces that are always tried, also where that makes a long plan; enough where latency counts most."""
_BANDWIDTH_RULES = 20.0
"""Above this many latency bounds a bandwidth bound makes few pieces pointless."""
_ROUTED_COUNTS = 3
_LATENCY_RULES = 4.0
"""Below this many latency bounds a bandwidth bound is too small for many pieces to pay."""
_LATENCY_MATTERS = 50.0
"""Staged sketches are searched while the bandwidth bound is below this many latency bounds."""
_COMBINE_ABOVE, _SOLVE_ABOVE = 1.003, 1.01
"""Gaps to the bound above which the integer program and the constraint program are asked."""
_EFFORT = 0.3
"""Deterministic time units of the constraint solver for one sub-demand."""
_SOLVED_COUNTS = 2
_SOLVED = "trees solved by constraint program"
_LARGEST_POOL = 150
_COMBINED_COUNTS = 2
_LARGEST_COMBINATION = 256
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
    bandwidth_s, latency_s, bound_s
        The two simple bounds and the largest of all, seconds.
    most_hops
        Sends and receives that a program can hold per rank; None where no program is wanted.
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

    @property
    def sums_everywhere(self) -> bool:
        """Whether the root of each piece is free (allreduce)."""
        return self.op.source == self.op.target == "all"

    @property
    def chunk_share(self) -> float:
        """Share of the group's data in one piece of one image: 1 for a shard, 1 / order for an allreduce buffer."""
        return float(self.group.order) if self.sums_everywhere else 1.0

    @property
    def roots(self) -> int:
        """Number of representative ranks."""
        return len(self.quotient.representatives)

    def chunks(self, count: int) -> int:
        """Return the chunks of the total buffer when ``count`` pieces are made (per root, or in all for allreduce)."""
        return count * (self.group.order if self.sums_everywhere else self.quotient.ranks)

    @cached_property
    def piece_counts(self) -> tuple[int, ...]:
        """Powers of two that cut the elements evenly and keep plans, chunks and programs small enough, ascending.

        A size that is no multiple of the ranks is never met exactly by allgather or reducescatter, so there any power
        of two will do.
        """
        counts = [c for c in (1 << i for i in range(16)) if self._cuts_evenly(c) and self.chunks(c) <= MAX_CHUNKS]
        if self.bandwidth_s < _LATENCY_RULES * self.latency_s:
            counts = [c for c in counts if c <= _FEW_PIECES]
        counts = [c for c in counts if self.rows(c) <= _ROWS_OF_PLAN or c <= _FEW_PIECES]
        return tuple(c for c in counts if self.fits(c)) or (1,)

    def _cuts_evenly(self, count: int) -> bool:
        if self.sums_everywhere:
            return self.elements % (count * self.group.order) == 0
        share, rest = divmod(self.elements, self.quotient.ranks)
        return count <= share and (rest != 0 or share % count == 0)

    def rows(self, count: int) -> int:
        """Return the hops of a plan of trees with ``count`` pieces."""
        trees = 2 * count if self.sums_everywhere else count * self.roots
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
        """The ground, and where islands are irregular or unlike also one without islands."""
        alike = len({len(members) for members in self.islands}) == 1 and all(self.ground.is_switch)
        if alike or len(self.islands) == 1:
            return (self.ground,)
        return (self.ground, Ground(self.quotient, (tuple(range(self.quotient.ranks)),)))

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


@dataclass(frozen=True, eq=False)
class Found:
    """Plans, fastest list schedule first, and the solver that worked for them."""

    plans: list[Plan]
    solver: Solver


def find_plans(problem: Problem, pricing: Pricing, *, progress: Callable[[str], None] = lambda _: None) -> Found:
    """Return plans for the collective from all sources."""
    solver = Solver(_EFFORT)
    if problem.quotient.ranks == 1:
        return Found([make_plan(problem, "nothing to send", (Piece(0, (), "alone"),), 1)], solver)
    progress("routing trees")
    found = list(_structured(problem))
    if _gap(problem, found) > _COMBINE_ABOVE:
        progress("combining trees")
        found += _combined(problem, pricing, found)
    if _gap(problem, found) > _SOLVE_ABOVE and not all(problem.ground.is_switch):
        progress("solving sub-demands")
        found += _solved(problem, found, solver)
    if problem.bandwidth_s < _LATENCY_MATTERS * max(problem.latency_s, 1e-12):
        progress("searching staged sketches")
        found += _staged(problem)
    found.sort(key=lambda plan: (plan.seconds, plan.count, plan.name))
    return Found(found, solver)


def _gap(problem: Problem, found: Sequence[Plan]) -> float:
    """Return the time of the best plan over the bound."""
    return min(plan.seconds for plan in found) / problem.bound_s if problem.bound_s else 1.0


def account(problem: Problem, winner: Plan, solver: Solver) -> dict[str, int]:
    """Return how many sub-demands (a piece inside an island) were settled in which way."""
    switches = problem.ground.is_switch
    closed = len(winner.pieces) * sum(switches)
    kinds = len({len(members) for members, is_switch in zip(problem.islands, switches, strict=True) if is_switch})
    listed = len(winner.pieces) * (len(switches) - sum(switches)) if not winner.name.startswith(_SOLVED) else 0
    return {
        "sub_demands_closed_form": min(closed, kinds),
        "sub_demands_cp_sat": solver.solved,
        "sub_demands_proved_optimal": solver.proven,
        "sub_demands_list_schedule": listed,
        "sub_demands_reused": solver.reused + max(0, closed - kinds),
        "sub_demands_too_large_for_cp_sat": solver.too_large,
    }


def structured_pieces(problem: Problem, ground: Ground, count: int, shape: Shape) -> tuple[Piece, ...]:
    """Return ``count`` pieces (per root, or in all for allreduce) routed on structured trees."""
    scale = problem.group.order * count if problem.sums_everywhere else count
    router = TreeRouter(ground, problem.unit_s_per_byte * scale, shape)
    if problem.sums_everywhere:
        return route_allreduce(router, count)
    return route_allgather(router, count, inward=problem.op.reduces)


def _structured(problem: Problem) -> Iterable[Plan]:
    budget = _ROWS_IN_ALL
    for count in _routed_counts(problem):
        for ground, shape in itertools.product(problem.grounds, (Shape(), Shape(relays=3), Shape(wave="star"))):
            if not _is_worth(problem, ground, count, shape) or (problem.rows(count) > budget and count > 1):
                continue
            budget -= problem.rows(count)
            pieces = structured_pieces(problem, ground, count, shape)
            yield make_plan(problem, _name(ground, shape), pieces, count)


def _routed_counts(problem: Problem) -> list[int]:
    """Return the numbers of pieces to route trees for, largest first; where bandwidth rules, few of them will do."""
    counts = [c for c in problem.piece_counts if problem.rows(c) <= _ROWS_ROUTED or c <= _FEW_PIECES]
    if problem.bandwidth_s > _BANDWIDTH_RULES * problem.latency_s:
        counts = sorted({*counts[:1], *counts[-_ROUTED_COUNTS:]})
    return counts[::-1] or [1]


def _is_worth(problem: Problem, ground: Ground, count: int, shape: Shape) -> bool:
    """Return whether a shape of trees can matter: relays for long chains of sums, stars for few pieces."""
    if shape.relays:
        long_chains = any(ground.is_switch) and max(map(len, ground.islands)) > 4
        return problem.op.reduces and not problem.sums_everywhere and long_chains
    return shape.wave == "binomial" or (len(ground.islands) > 2 and count <= 2)


def _name(ground: Ground, shape: Shape) -> str:
    islands = "" if len(ground.islands) > 1 else ", no islands"
    relays = f", {shape.relays} relays" if shape.relays else ""
    return f"structured trees, {shape.wave}{relays}{islands}"


def _combined(problem: Problem, pricing: Pricing, structured: Sequence[Plan]) -> list[Plan]:
    """Round the shares of priced and structured trees to whole pieces by an integer program, where that pays."""
    made: list[Plan] = []
    if problem.bandwidth_s < _LATENCY_RULES * problem.latency_s:
        return made
    pieces, loads, groups, depths = _pool(problem, pricing, structured)
    for count in problem.piece_counts[-_COMBINED_COUNTS:]:
        pieces_in_all = count if problem.sums_everywhere else count * problem.roots
        if pieces_in_all <= _LARGEST_COMBINATION:
            chosen = combine(loads, groups, count, problem.quotient.capacities, depths=depths)
            picked = _spread_out(pieces, chosen.multiplicities.tolist())
            made.append(make_plan(problem, "trees combined by integer program", picked, count))
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
        p for plan in structured for p in plan.pieces
    ]:
        if len(pool) < _LARGEST_POOL:
            pool.setdefault(piece.hops, piece)
    pieces = list(pool.values())
    position = {root: i for i, root in enumerate(_roots(problem))}
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


def _solved(problem: Problem, structured: Sequence[Plan], solver: Solver) -> list[Plan]:
    """Solve the sub-demands of plans of few pieces."""
    made = []
    for count in problem.piece_counts[:_SOLVED_COUNTS]:
        plan = min((p for p in structured if p.count == count), key=lambda p: p.seconds, default=None)
        pieces = None if plan is None else _improved(problem, plan, solver)
        if pieces is not None:
            made.append(make_plan(problem, _SOLVED, pieces, count))
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


def _staged(problem: Problem) -> list[Plan]:
    """Return the staged sketches alone and the best mixes of them."""
    if problem.sums_everywhere:
        sketches = summing_sketches(problem.levels)
    else:
        sketches = spreading_sketches(problem.levels, inward=problem.op.reduces)
    sketches = [s for s in sketches if all(_serves(problem, s.hops(root)) for root in _roots(problem))]
    counts = problem.piece_counts
    singles = [_mix(problem, [(sketch, counts[0])], counts[0]) for sketch in sketches]
    order = sorted(range(len(singles)), key=lambda i: (singles[i].seconds, i))
    best = [sketches[i] for i in order[:_MIXED_SKETCHES]]
    mixes = []
    for count in [c for c in _MIX_COUNTS if c in counts]:
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
