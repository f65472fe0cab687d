"""The contest: the best plans are lowered, and the fastest program within the limits of the runtime wins."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from syccl.baselines.lanes import Laned
from syccl.errors import GaveUpError
from syccl.lowering.lower import Lowered, lower, wirings
from syccl.lowering.targets import Target
from syccl.planning import Plan, Problem
from syccl.schedule import Schedule
from syccl.simulate.cost import Protocol
from syccl.solve.executor import ordered_results
from syccl.stitch import stitch

_CLOSE_ENOUGH = 1.01
"""Of programs within this factor of the fastest, that of fewest chunks wins, then that of the fastest schedule."""
_LOWERED = 3
_LOWERED_FOR_LATENCY = 6
"""Plans that are lowered; more where schedules say little about programs: at sizes where latency counts."""
_HOPELESS = 1.5
"""Plans of few pieces are lowered while their schedules take no longer than this factor of the fastest."""
_SHOWN = 8
"""Plans that are told of where none is lowered."""

Trial = dict[str, object]


@dataclass(frozen=True, eq=False)
class Choice:
    """The plan that won, its schedule and its program to be, and everything that was tried."""

    plan: Plan
    schedule: Schedule
    lowered: Lowered | None
    trials: list[Trial]
    winner: str

    @property
    def is_baseline(self) -> bool:
        """Whether a ring or tree took the place of the plan."""
        return self.winner != self.plan.name


@dataclass(frozen=True)
class Rules:
    """What programs are made for, on how many processes, and when to stop early."""

    protocol: Protocol
    target: Target
    jobs: int
    is_over: Callable[[], bool]


def best_schedule(problem: Problem, found: Sequence[Plan]) -> Choice:
    """Return the plan of the fastest schedule, without a program."""
    return Choice(found[0], _scheduled(problem, found[0]), None, [_trial(p) for p in found[:_SHOWN]], found[0].name)


def best_program(problem: Problem, found: Sequence[Plan], rules: Rules, progress: Callable[[str], None]) -> Choice:
    """Return the plan of the fastest program.

    Raises
    ------
    GaveUpError
        When no program fits the limits of the runtime.
    """
    fitting: list[tuple[Plan, Lowered]] = []
    trials: list[Trial] = []
    contestants, rounds = _contestants(problem, found)
    lowerings = ordered_results(
        partial(_lowerings, problem, rules.protocol, rules.target), contestants, jobs=rules.jobs
    )
    for plan, (lowered, tried) in zip(contestants, lowerings, strict=False):
        progress(f"lowered {plan.name}, {plan.count} pieces")
        trials += tried
        if lowered is not None:
            fitting.append((plan, lowered))
            if len(fitting) >= rounds or rules.is_over():
                break
    if not fitting:
        broken = next((str(t["limit"]) for t in trials if t.get("limit")), "every plan has too many steps")
        msg = f"no program fits the runtime: {broken}; ask for a schedule instead (-o FILE.json)"
        raise GaveUpError(msg)
    fastest = min(lowered.seconds for _, lowered in fitting)
    close = [(plan, low) for plan, low in fitting if low.seconds <= fastest * _CLOSE_ENOUGH]
    plan, lowered = min(close, key=lambda pair: (problem.chunks(pair[0].count), pair[0].seconds, pair[1].seconds))
    return Choice(plan, lowered.schedule, lowered, trials, plan.name)


def challenged(choice: Choice, problem: Problem, rules: Rules, challengers: Iterable[tuple[str, Laned]]) -> Choice:
    """Return the fastest of our program and of rings and trees that fit the runtime and are selected as well as ours.

    It is for clusters on which the plans lower badly: nothing is written that is slower than what people use today.
    """
    best = choice
    for name, laned in challengers:
        lowered = lower(laned.schedule, laned.wiring, rules.protocol, rules.target, size_bytes=problem.size_bytes)
        if lowered is None or best.lowered is None:
            continue
        trial = {"plan": name, "pieces": laned.lanes, "channels": str(laned.lanes)}
        best.trials.append({**trial, "program_us": lowered.seconds * 1e6, "limit": lowered.excess})
        is_selected = problem.elements % laned.schedule.demand.chunks == 0
        spoils = not is_selected and problem.elements % choice.schedule.demand.chunks == 0
        if lowered.excess is None and not spoils and lowered.seconds < best.lowered.seconds:
            best = replace(best, schedule=lowered.schedule, lowered=lowered, winner=name)
    return best


def _contestants(problem: Problem, found: Sequence[Plan]) -> tuple[list[Plan], int]:
    """Return the plans to lower, in order, and how many; where latency counts, plans of few pieces are among them."""
    limit = problem.most_hops
    fitting = [plan for plan in found if limit is None or _hops_per_rank(problem, plan) <= limit]
    if not problem.is_short:
        return fitting, _LOWERED
    fewest = min((plan.count for plan in fitting), default=1)
    simple = [plan for plan in fitting if plan.count == fewest and plan.seconds < _HOPELESS * fitting[0].seconds]
    chosen = {id(plan): plan for plan in (*fitting[:2], *simple[:_LOWERED_FOR_LATENCY], *fitting[2:])}
    return list(chosen.values()), _LOWERED_FOR_LATENCY


def _hops_per_rank(problem: Problem, plan: Plan) -> int:
    """Return the sends and receives of an average rank."""
    return 2 * sum(len(piece.hops) for piece in plan.pieces) // problem.roots


def _scheduled(problem: Problem, plan: Plan) -> Schedule:
    return stitch(problem.op, plan.pieces, problem.quotient, plan.timed, root=problem.root)


def _lowerings(problem: Problem, protocol: Protocol, target: Target, plan: Plan) -> tuple[Lowered | None, list[Trial]]:
    """Return the fastest program of a plan within the limits of the runtime, and all trials."""
    schedule = _scheduled(problem, plan)
    best: Lowered | None = None
    trials: list[Trial] = []
    queue = deque(wirings(schedule, protocol, target, size_bytes=problem.size_bytes, about_s=plan.seconds))
    while queue:
        wiring = queue.popleft()
        lowered = lower(schedule, wiring, protocol, target, size_bytes=problem.size_bytes)
        if lowered is None and best is None and not queue and 2 * wiring.channels <= target.channels:
            # More channels hold more messages under way, so that those of an exchange do not block each other.
            queue.append(replace(wiring, channels=2 * wiring.channels))
        channels = f"{wiring.channels}+{wiring.channels}" if wiring.split else str(wiring.channels)
        trial = {**_trial(plan), "channels": channels}
        trial["program_us"] = None if lowered is None else lowered.seconds * 1e6
        trial["limit"] = "deadlock in the dry run" if lowered is None else lowered.excess
        trials.append(trial)
        if lowered is not None and lowered.excess is None and (best is None or lowered.seconds < best.seconds):
            best = lowered
    return best, trials


def _trial(plan: Plan) -> Trial:
    return {"plan": plan.name, "pieces": plan.count, "schedule_us": plan.seconds * 1e6}
