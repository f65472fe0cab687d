"""All sources of plans in one place, ranked by the cheap simulated time of a list schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from syccl.clock import Clock
from syccl.optimize.status import Status
from syccl.planning.exchange import exchange_plans
from syccl.planning.fanout import fanout_plans
from syccl.planning.growing import finer_plans
from syccl.planning.nearest import nearest_plans
from syccl.planning.problem import Plan, Problem, make_plan
from syccl.planning.rooted import path_plans, rooted_plans
from syccl.planning.spread import spread_plans
from syccl.planning.staged import staged_plans
from syccl.planning.trees import SOLVED, combined_plans, routed_plans, solved_plans
from syccl.sketch.model import Hop, Piece
from syccl.sketch.price import Pricing
from syccl.solve.trees import Solver
from syccl.store import Store

_COMBINE_ABOVE, _SOLVE_ABOVE = 1.01, 1.01
"""Gaps to the bound above which the integer program and the constraint program are asked."""
_COMBINE_LONG_ABOVE = 1.045
"""The same for the integer program where plans are long: it mixes few pieces, which are worse among servers."""
_ENOUGH, _NEAR = 0.003, 0.01
"""Gaps to what is reachable below which, for a schedule alone, nothing else is sought, or not from other sources."""
_FANNED_OUT = 1.03
"""Of the bound: scatter and gather that are as fast are not planned otherwise."""
_EFFORT = 0.03
"""Deterministic time units of the constraint solver for one sub-demand."""


@dataclass(frozen=True, eq=False)
class Found:
    """Plans, fastest list schedule first, and the solver that worked for them."""

    plans: list[Plan]
    solver: Solver


def find_plans(
    problem: Problem,
    pricing: Pricing | None,
    *,
    progress: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
    store: Store | None = None,
) -> Found:
    """Return plans for the collective from all sources, or from those asked while there is time: at least one plan.

    Trees are priced for allgather, reducescatter and allreduce; ``pricing`` is None for the other collectives.
    """
    clock = Clock() if clock is None else clock
    is_over = clock.is_over
    solver = Solver(_EFFORT, Store() if store is None else store, clock)
    if problem.quotient.ranks == 1:
        return Found([make_plan(problem, "nothing to send", (Piece(0, (), "alone"),), 1)], solver)
    progress("routing")
    if pricing is None:
        unpriced = _from("paths" if problem.sends_to_one else "routed trees", _unpriced_plans(problem))
        return Found(_ranked(_until(unpriced, lambda _: is_over())), solver)
    routed = _from("routed trees", routed_plans(problem))
    found = _until(routed, lambda plan: is_over() or _is_within(problem, plan, _ENOUGH))
    if any(_is_within(problem, plan, _NEAR) for plan in found):
        return Found(_ranked(found), solver)
    is_long, among_servers = problem.wants_many_rows, all(problem.ground.is_star)
    most = math.inf if is_long and among_servers else _COMBINE_LONG_ABOVE if is_long else _COMBINE_ABOVE
    if _gap(problem, found) > most and not is_over():
        progress("combining trees")
        found += _from("integer program", combined_plans(problem, pricing, found, clock))
    if problem.most_hops is None and problem.is_short and not is_over():
        best = min(found, key=lambda plan: plan.seconds)
        found += (replace(plan, source=best.source) for plan in finer_plans(problem, best))
    if _gap(problem, found) > _SOLVE_ABOVE and not among_servers and not is_long and not is_over():
        progress("solving sub-demands")
        found += _from("constraint program", solved_plans(problem, found, solver))
    if problem.is_short and not is_over():
        progress("searching staged sketches")
        found += _from("staged sketches", staged_plans(problem))
        if not is_over():
            found += _from("least latency", nearest_plans(problem, min(plan.seconds for plan in found)))
    return Found(_ranked(found), solver)


def _until(plans: Iterable[Plan], is_last: Callable[[Plan], bool]) -> list[Plan]:
    """Return plans up to the first that is to be the last."""
    taken: list[Plan] = []
    for plan in plans:
        taken.append(plan)
        if is_last(plan):
            break
    return taken


def _chunk_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of gather and scatter; other paths only where a program is wanted or the first are far off."""
    best_s = math.inf
    for plan in fanout_plans(problem):
        best_s = min(best_s, plan.seconds)
        yield plan
    if problem.most_hops is not None or (best_s > _FANNED_OUT * problem.bound_s and not problem.has_many_ranks):
        yield from path_plans(problem)


def _tree_plans(problem: Problem) -> Iterator[Plan]:
    """Yield plans of broadcast and reduce; trees of few connections only where a program is wanted."""
    yield from spread_plans(problem)
    if problem.most_hops is not None:
        yield from rooted_plans(problem)


def _from(source: str, plans: Iterable[Plan]) -> Iterator[Plan]:
    """Yield plans with the name of what made them."""
    for plan in plans:
        yield replace(plan, source=source)


def _unpriced_plans(problem: Problem) -> Iterable[Plan]:
    if problem.op.source == "pair":
        return exchange_plans(problem)
    return _chunk_plans(problem) if problem.sends_to_one else _tree_plans(problem)


def _ranked(found: Sequence[Plan]) -> list[Plan]:
    """Return plans by time, those of the same hops only once."""
    number: dict[tuple[Hop, ...], int] = {}
    named: dict[int, int] = {}
    distinct: dict[tuple[int, ...], Plan] = {}
    for plan in sorted(found, key=lambda plan: (plan.seconds, plan.count, plan.name)):
        for piece in plan.pieces:
            if id(piece) not in named:
                named[id(piece)] = number.setdefault(tuple(sorted(piece.hops)), len(number))
        distinct.setdefault(tuple(sorted(named[id(piece)] for piece in plan.pieces)), plan)
    return list(distinct.values())


def _gap(problem: Problem, found: Sequence[Plan]) -> float:
    """Return the time of the best plan over the bound."""
    return min(plan.seconds for plan in found) / problem.bound_s if problem.bound_s else 1.0


def _is_within(problem: Problem, plan: Plan, gap: float) -> bool:
    """Return whether a plan is so near to what is reachable that others are left; programs want more choice."""
    return problem.most_hops is None and problem.gap(plan) <= gap


def account(problem: Problem, winner: Plan, solver: Solver) -> dict[str, object]:
    """Return how many sub-demands (a piece inside an island) were settled in which way."""
    switches = problem.ground.is_switch
    closed = len(winner.pieces) * sum(switches)
    kinds = len({len(members) for members, is_switch in zip(problem.islands, switches, strict=True) if is_switch})
    listed = len(winner.pieces) * (len(switches) - sum(switches)) if not winner.name.startswith(SOLVED) else 0
    return {
        "sub_demands_closed_form": min(closed, kinds),
        "sub_demands_cp_sat": solver.solved,
        "sub_demands_ended": {status.value: solver.statuses[status] for status in Status if solver.statuses[status]},
        "sub_demands_list_schedule": listed,
        "sub_demands_reused": solver.reused + max(0, closed - kinds),
        "sub_demands_too_large_for_cp_sat": solver.too_large,
    }
