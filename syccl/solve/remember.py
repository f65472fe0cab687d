"""Answers to sub-demands, found once for all that are the same up to names.

What is kept is keyed by the whole text of the question: the sub-demand under canonical names, the effort, and the
versions of all that answers. An answer that is read is checked like one that was just found.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass, replace

from syccl import __version__
from syccl.optimize.choice import Choice, Way, choose, holds
from syccl.optimize.status import Status
from syccl.optimize.version import solver_version
from syccl.solve.greedy import soonest_first
from syccl.solve.subdemand import SECOND, SubDemand, arcs_into, demand_of, items_of, key_of
from syccl.store import Store
from syccl.symmetry.canonical import Key

_METHOD = 1
"""To be raised with every change of how a sub-demand is stated or solved."""
_TICKS = 20_000
"""Ticks that the makespan of the first answer is cut into."""


@dataclass(frozen=True, slots=True)
class Solution:
    """For each piece the parent of every member that did not hold it; times in seconds.

    Parameters
    ----------
    bound_s
        What the solver proved no choice of trees can beat, up to the rounding of times.
    is_recalled
        Whether it was found before, by this process or another one.
    is_cut
        Whether a clock ended the search.
    """

    status: Status
    parents: tuple[dict[int, int], ...]
    makespan_s: float
    bound_s: float
    is_recalled: bool = False
    is_cut: bool = False


def solve(demand: SubDemand, store: Store, *, effort: float, limit_s: float | None = None) -> Solution:
    """Return the trees of least makespan that the solver finds within its effort, at worst those of the first answer.

    Parameters
    ----------
    effort
        Deterministic time units.
    limit_s
        Seconds of the clock after which the best so far is taken all the same; such an answer is not kept.
    """
    key, name = key_of(demand)
    named = demand_of(key)
    puzzle = _puzzle(named)
    question = question_of(key, effort)
    found = _read(store.read(question), puzzle)
    is_recalled = found is not None
    if found is None:
        found = _answered(puzzle, effort, limit_s)
        if not found.is_cut:
            store.write(question, _written(found))
    member = {canonical: vertex for vertex, canonical in enumerate(name)}
    parents = [{member[v]: member[u] for v, u in tree.items()} for tree in _parents(named, puzzle, found)]
    mine = [parents[name[demand.members + piece] - demand.members] for piece in range(len(parents))]
    scale = puzzle.tick / SECOND
    return Solution(found.status, tuple(mine), found.makespan * scale, found.bound * scale, is_recalled, found.is_cut)


def question_of(key: Key, effort: float) -> str:
    """Return all that an answer depends on, as text."""
    versions = [__version__, _METHOD, solver_version(), platform.system(), platform.machine()]
    return json.dumps(["sub-demand", versions, effort, key], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Puzzle:
    """The choice to be made: items by piece and member, with a first answer; a tick in femtoseconds."""

    items: dict[tuple[int, int], list[Way]]
    first: Choice
    tick: int

    @property
    def ways(self) -> list[list[Way]]:
        return list(self.items.values())


def _puzzle(demand: SubDemand) -> _Puzzle:
    exact = soonest_first(list(items_of(demand, 1).values()))
    tick = max(1, -(-exact.makespan // _TICKS))
    items = items_of(demand, tick)
    return _Puzzle(items, soonest_first(list(items.values())), tick)


def _answered(puzzle: _Puzzle, effort: float, limit_s: float | None) -> Choice:
    first = puzzle.first
    if not first.status.has_solution:
        return Choice(Status.INFEASIBLE, (), (), 0, 0)
    hint = list(zip(first.ways, first.starts, strict=True))
    found = choose(puzzle.ways, horizon=first.makespan, hint=hint, effort=effort, limit_s=limit_s)
    if found.status is Status.GAVE_UP:
        return replace(first, is_cut=found.is_cut)
    return found if holds(puzzle.ways, found) else Choice(Status.ERROR, (), (), 0, 0)


def _written(choice: Choice) -> str:
    values = [choice.status.value, choice.ways, choice.starts, choice.makespan, choice.bound]
    return json.dumps(values, separators=(",", ":"))


def _read(text: str | None, puzzle: _Puzzle) -> Choice | None:
    """Return the choice in a text, or None unless it is one that does what it says."""
    try:
        status, ways, starts, makespan, bound = json.loads(text or "[]")
        found = Choice(Status(status), tuple(map(int, ways)), tuple(map(int, starts)), int(makespan), int(bound))
    except (ValueError, TypeError):
        return None
    return found if holds(puzzle.ways, found) else None


def _parents(demand: SubDemand, puzzle: _Puzzle, found: Choice) -> list[dict[int, int]]:
    trees: list[dict[int, int]] = [{} for _ in demand.holders]
    if not found.status.has_solution:
        return trees
    into = arcs_into(demand)
    for (piece, member), way in zip(puzzle.items, found.ways, strict=True):
        trees[piece][member] = into[member][way].src
    return trees
