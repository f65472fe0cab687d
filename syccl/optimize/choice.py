"""Who is served by whom, and when: a constraint program over optional intervals.

Every *item* is done in exactly one of several *ways*; a way occupies resources from one common start, needs another
item to be done first (or a release time), and finishes after its longest occupation plus a delay. The makespan is
minimised.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syccl.optimize.status import Status

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do an item; times are integer ticks.

    Parameters
    ----------
    after
        Item that must be done before this way starts, or -1.
    release
        Earliest start.
    uses
        (resource, ticks) pairs occupied from the start.
    delay
        Ticks between the end of the longest occupation and the item being done.
    """

    after: int
    release: int
    uses: tuple[tuple[int, int], ...]
    delay: int

    @property
    def length(self) -> int:
        """Ticks from start to done."""
        return max((ticks for _, ticks in self.uses), default=0) + self.delay


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome: for each item the way taken and its start; ``bound`` is a proven lower bound of the makespan.

    ``is_cut`` says that a clock ended the search, so that another run may end otherwise.
    """

    status: Status
    ways: tuple[int, ...]
    starts: tuple[int, ...]
    makespan: int
    bound: int
    is_cut: bool = False


def holds(items: Sequence[Sequence[Way]], choice: Choice) -> bool:
    """Return whether a choice does every item as it says: in time, after what it needs, nothing used twice at once."""
    if not choice.status.has_solution:
        return (choice.ways, choice.starts) == ((), ())
    if not len(items) == len(choice.ways) == len(choice.starts):
        return False
    if not all(0 <= taken < len(ways) for ways, taken in zip(items, choice.ways, strict=True)):
        return False
    ways = [ways[taken] for ways, taken in zip(items, choice.ways, strict=True)]
    done = [start + way.length for start, way in zip(choice.starts, ways, strict=True)]
    for start, way in zip(choice.starts, ways, strict=True):
        if start < max(0, way.release) or (way.after >= 0 and start < done[way.after]):
            return False
    busy = sorted(
        (resource, start, start + ticks)
        for start, way in zip(choice.starts, ways, strict=True)
        for resource, ticks in way.uses
        if ticks
    )
    apart = all(one[0] != other[0] or one[2] <= other[1] for one, other in itertools.pairwise(busy))
    return apart and choice.bound <= choice.makespan == max(done, default=0)


def choose(
    items: Sequence[Sequence[Way]],
    *,
    horizon: int,
    hint: Sequence[tuple[int, int]] | None = None,
    effort: float = 1.0,
    seed: int = 0,
    limit_s: float | None = None,
) -> Choice:
    """Return the ways of least makespan.

    Parameters
    ----------
    items
        For each item its ways.
    horizon
        A makespan that is known to be possible, ticks.
    hint
        For each item a way and a start to begin from.
    effort
        Limit in the solver's deterministic time units; the answer does not depend on the machine's speed.
    seed
        Of the solver's random choices.
    limit_s
        Seconds of the clock after which the best so far is taken all the same.
    """
    if not items:
        return Choice(Status.OPTIMAL, (), (), 0, 0)
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    done, taken, begun = _stated(model, items, horizon)
    for item, (hinted, begin) in enumerate(hint or ()):
        for i, literal in enumerate(taken[item]):
            model.add_hint(literal, i == hinted)
        model.add_hint(begun[item][hinted], begin)
        model.add_hint(done[item], begin + items[item][hinted].length)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = effort
    if limit_s is not None:
        solver.parameters.max_time_in_seconds = max(0.0, limit_s)
    status = {
        cp_model.OPTIMAL: Status.OPTIMAL,
        cp_model.FEASIBLE: Status.FEASIBLE,
        cp_model.INFEASIBLE: Status.INFEASIBLE,
        cp_model.UNKNOWN: Status.GAVE_UP,
    }.get(solver.solve(model), Status.ERROR)
    is_cut = limit_s is not None and status in {Status.FEASIBLE, Status.GAVE_UP} and solver.wall_time >= limit_s
    if not status.has_solution:
        return Choice(status, (), (), 0, 0, is_cut)
    chosen = [next(i for i, literal in enumerate(row) if solver.boolean_value(literal)) for row in taken]
    times = [int(solver.value(begun[item][way])) for item, way in enumerate(chosen)]
    bound = round(solver.best_objective_bound)
    return Choice(status, tuple(chosen), tuple(times), round(solver.objective_value), bound, is_cut)


def _stated(
    model: cp_model.CpModel, items: Sequence[Sequence[Way]], horizon: int
) -> tuple[list[cp_model.IntVar], list[list[cp_model.IntVar]], list[list[cp_model.IntVar]]]:
    """State the problem in a model; return when each item is done, and by item and way whether and from when."""
    done = [model.new_int_var(0, horizon, "") for _ in items]
    on_resource = defaultdict(list)
    taken, begun = [], []
    for item, ways in enumerate(items):
        literals, starts = [], []
        for way in ways:
            literal, start = model.new_bool_var(""), model.new_int_var(way.release, max(way.release, horizon), "")
            model.add(done[item] == start + way.length).only_enforce_if(literal)
            if way.after >= 0:
                model.add(start >= done[way.after]).only_enforce_if(literal)
            for resource, ticks in way.uses:
                if ticks:
                    interval = model.new_optional_fixed_size_interval_var(start, ticks, literal, "")
                    on_resource[resource].append(interval)
            literals.append(literal)
            starts.append(start)
        model.add_exactly_one(literals)
        taken.append(literals)
        begun.append(starts)
    for _, intervals in sorted(on_resource.items()):
        model.add_no_overlap(intervals)
    makespan = model.new_int_var(0, horizon, "")
    model.add_max_equality(makespan, done)
    model.minimize(makespan)
    return done, taken, begun
