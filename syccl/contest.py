"""The contest: of many plans few are lowered, and the fastest program within the limits of the runtime wins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from syccl.baselines.lanes import Laned
from syccl.candidates import BASELINE, Candidate, Lowering, why_program, why_schedule
from syccl.clock import Clock
from syccl.errors import GaveUpError
from syccl.lowering.lower import lower, lowerings
from syccl.lowering.lowered import Lowered, Unfit
from syccl.lowering.wiring import Wiring
from syccl.planning import Plan, Problem
from syccl.program.targets import Target
from syccl.schedule import Schedule
from syccl.simulate.cost import PROTOCOLS, Protocol
from syccl.simulate.profile import costs_of
from syccl.simulate.schedule_time import ScheduleTime, schedule_time
from syccl.solve.executor import ordered_results
from syccl.stitch import stitch

_CLOSE_ENOUGH = 1.01
"""Of programs within this factor of the fastest, that of fewest chunks wins, then that of the fastest schedule."""
_LOWERED = 3
_LOWERED_FOR_LATENCY, _LOWERED_OF_ROOT = 8, 4
"""Plans that are lowered; more where schedules say little about programs: at sizes where latency counts, and of ops
with a root."""
_WORK_LOWERED, _LONG, _WAYS_OF_LONG = 1_000_000, 12_000, 2
"""With so many hops times ranks lowered no further plan is; of plans of more hops than the second so many wirings that
fit are enough. Both keep the seconds down where there is no symmetry."""
_TIMED = 3
"""Plans whose schedules are made and timed where no program is wanted."""
_FAR = 1.02
"""Nor those whose list schedule takes longer than the best by this factor: the exact time is hardly another one."""
_HOPELESS = 1.5
"""Plans of few pieces are lowered while their schedules take no longer than this factor of the fastest."""
_TOO_LONG = "every plan has too many steps"


@dataclass(frozen=True, eq=False)
class Choice:
    """The plan that won, its schedule and its program to be, and everything that was tried.

    Parameters
    ----------
    candidates
        Every plan in the order of cheap times, then rings and trees that were tried.
    winner
        Name of the candidate that won.
    why
        One sentence that says why it did.
    timed
        When the transfers of the schedule run, where that was found out.
    """

    plan: Plan
    schedule: Schedule
    lowered: Lowered | None
    candidates: tuple[Candidate, ...]
    winner: str
    why: str
    timed: ScheduleTime | None = None

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
    clock: Clock


def best_schedule(problem: Problem, found: Sequence[Plan], clock: Clock) -> Choice:
    """Return the plan of the fastest schedule, without a program."""
    timed: dict[int, tuple[Schedule, ScheduleTime]] = {}
    for i, plan in enumerate(found[:_TIMED]):
        if i and (clock.is_over() or plan.seconds > _FAR * found[0].seconds):
            break
        schedule = _scheduled(problem, plan)
        timed[i] = schedule, schedule_time(schedule, size_bytes=problem.size_bytes)
    best = min(timed, key=lambda i: (timed[i][1].seconds, i))
    candidates = tuple(
        replace(_candidate(problem, plan), schedule_s=timed[i][1].seconds if i in timed else None, won=i == best)
        for i, plan in enumerate(found)
    )
    schedule, best_time = timed[best]
    return Choice(found[best], schedule, None, candidates, found[best].name, why_schedule(candidates), best_time)


def best_program(problem: Problem, found: Sequence[Plan], rules: Rules, progress: Callable[[str], None]) -> Choice:
    """Return the plan of the fastest program.

    Raises
    ------
    GaveUpError
        When no program fits the limits of the runtime.
    """
    fitting: list[tuple[Plan, Lowered]] = []
    tried: dict[int, Candidate] = {}
    contestants, rounds = _contestants(problem, found)
    lowerings = ordered_results(partial(_lowerings, problem, rules), contestants, jobs=rules.jobs)
    for plan, (lowered, candidate) in zip(contestants, lowerings, strict=False):
        progress(f"lowered {plan.name}, {plan.count} pieces")
        tried[id(plan)] = candidate
        if lowered is not None:
            fitting.append((plan, lowered))
            work = problem.quotient.ranks * sum(_hops(plan) for plan, _ in fitting)
            if rules.clock.is_over() or len(fitting) >= rounds or work >= _WORK_LOWERED:
                break
    if not fitting:
        broken = next((way.limit for one in tried.values() for way in one.lowerings if way.limit), _TOO_LONG)
        msg = f"no program fits the runtime: {broken}; ask for a schedule instead (-o FILE.json)"
        raise GaveUpError(msg)
    fastest = min(lowered.seconds for _, lowered in fitting)
    close = [(plan, low) for plan, low in fitting if low.seconds <= fastest * _CLOSE_ENOUGH]
    plan, lowered = min(close, key=lambda pair: (pair[0].chunks, pair[0].seconds, pair[1].seconds))
    candidates = tuple(
        replace(tried[id(one)], won=one is plan) if id(one) in tried else _left_out(problem, one) for one in found
    )
    return Choice(plan, lowered.schedule, lowered, candidates, plan.name, why_program(candidates))


def stand_in(
    problem: Problem, found: Sequence[Plan], rules: Rules, baselines: Iterable[tuple[str, Laned]]
) -> Choice | None:
    """Return the fastest ring or tree where no program of any plan fits the runtime; None where none of them does.

    They have few peers, so that there are blocks left to deal their chunks over several channels.
    """
    tried: list[Candidate] = []
    fitting: list[tuple[bool, float, int, Lowered]] = []
    for name, laned in baselines:
        schedule, chunks = laned.schedule, laned.schedule.demand.chunks
        seconds = schedule_time(schedule, size_bytes=problem.size_bytes).seconds
        low, ways = best_lowering(schedule, rules, size_bytes=problem.size_bytes, about_s=seconds)
        if low is not None:
            fitting.append((problem.elements % chunks != 0, low.seconds, len(tried), low))
        tried.append(Candidate(BASELINE, name, laned.lanes, chunks, schedule_s=seconds, lowerings=ways))
    if not fitting:
        return None
    *_, number, best = min(fitting, key=lambda entry: entry[:3])
    tried[number] = replace(tried[number], won=True)
    candidates = (*(_left_out(problem, plan) for plan in found), *tried)
    return Choice(found[0], best.schedule, best, candidates, tried[number].name, why_program(candidates))


def challenged(choice: Choice, problem: Problem, rules: Rules, challengers: Iterable[tuple[str, Laned]]) -> Choice:
    """Return the fastest of our program and of rings and trees that fit the runtime and are selected as well as ours.

    It is for clusters on which the plans lower badly: nothing is written that is slower than what people use today.
    """
    best, winner, tried = choice, -1, []
    for name, laned in itertools.takewhile(lambda _: not rules.clock.is_over(), challengers):
        lowered = lower(laned.schedule, laned.wiring, rules.protocol, rules.target, size_bytes=problem.size_bytes)
        if isinstance(lowered, Unfit):
            way = Lowering(str(laned.lanes), None, lowered.limit)
            tried.append(Candidate(BASELINE, name, laned.lanes, laned.schedule.demand.chunks, lowerings=(way,)))
            continue
        if best.lowered is None:
            continue
        is_selected = problem.elements % laned.schedule.demand.chunks == 0
        spoils = not is_selected and problem.elements % choice.schedule.demand.chunks == 0
        limit = "runtimes would not select it at this size" if spoils else None
        way = Lowering(str(laned.lanes), lowered.seconds, limit)
        tried.append(Candidate(BASELINE, name, laned.lanes, laned.schedule.demand.chunks, lowerings=(way,)))
        if limit is None and lowered.seconds < best.lowered.seconds:
            best, winner = replace(best, schedule=lowered.schedule, lowered=lowered, winner=name), len(tried) - 1
    if winner < 0:
        return replace(choice, candidates=(*choice.candidates, *tried))
    tried[winner] = replace(tried[winner], won=True)
    candidates = (*(replace(one, won=False) for one in choice.candidates), *tried)
    return replace(best, candidates=candidates, why=why_program(candidates))


def _contestants(problem: Problem, found: Sequence[Plan]) -> tuple[list[Plan], int]:
    """Return the plans to lower, in order, and how many.

    Where latency counts, plans of few chunks are among them, and of every number of chunks the fastest. Elsewhere the
    end counts: the last chunk of a plan is taken in by thread blocks that are slower than links.
    """
    fitting = [plan for plan in found if _is_short_enough(problem, plan)]
    if not problem.is_short:
        found = sorted(fitting, key=lambda plan: plan.seconds + _last_chunk_s(problem, plan))
        return (_kinds_by_turns(found), _LOWERED_OF_ROOT) if problem.is_rooted else (found, _LOWERED)
    chosen = {id(plan): plan for plan in (*fitting[:2], *_by_chunks(fitting), *fitting[2:])}
    return list(chosen.values()), _LOWERED_FOR_LATENCY


def _kinds_by_turns(plans: Sequence[Plan]) -> list[Plan]:
    """Return the best plan of every kind, then the second best ones and so on, as kinds of trees lower differently."""
    turn: Counter[str] = Counter()
    places: list[int] = []
    for plan in plans:
        places.append(turn[plan.name])
        turn[plan.name] += 1
    return [plans[i] for i in sorted(range(len(plans)), key=lambda i: (places[i], i))]


def _last_chunk_s(problem: Problem, plan: Plan) -> float:
    """Return how long a rank takes to take in one chunk, all that is added to it in turn."""
    sums = (Counter(hop.dst for hop in piece.hops if hop.reduce) for piece in plan.pieces)
    in_turn = max((max(arrivals.values(), default=1) for arrivals in sums), default=1)
    return in_turn * problem.size_bytes / plan.chunks / costs_of(problem.group.topology, PROTOCOLS["Simple"]).local_rate


def _by_chunks(fitting: Sequence[Plan]) -> list[Plan]:
    """Return hopeful plans: by turns those of few chunks, and the fastest of every number of chunks, many first."""
    hopeful = [plan for plan in fitting if plan.seconds < _HOPELESS * fitting[0].seconds]
    few = {chunks: i for i, chunks in enumerate(sorted({plan.chunks for plan in hopeful}))}
    turn: Counter[int] = Counter()
    places: list[tuple[int, int]] = []
    for plan in hopeful:
        places.append((turn[plan.chunks], few[plan.chunks]))
        turn[plan.chunks] += 1
    numbers = range(len(hopeful))
    simple = sorted(numbers, key=lambda i: (sum(places[i]), places[i]))
    fine = sorted(numbers, key=lambda i: (places[i][0], -places[i][1]))
    return [hopeful[i] for pair in zip(simple, fine, strict=True) for i in pair]


def _is_short_enough(problem: Problem, plan: Plan) -> bool:
    """Return whether a program can hold the sends and receives of the busiest rank."""
    if problem.most_hops is None:
        return True
    least = problem.group.ranks.min(axis=0).tolist()
    steps: Counter[int] = Counter()
    for piece in plan.pieces:
        for number in set(piece.leaders or range(len(piece.hops))):
            hop = piece.hops[number]
            steps[least[hop.src]] += 1
            steps[least[hop.dst]] += 1
    return max(steps.values(), default=0) <= problem.most_hops


def _hops(plan: Plan) -> int:
    return sum(piece.rows for piece in plan.pieces)


def _scheduled(problem: Problem, plan: Plan) -> Schedule:
    return stitch(problem.op, plan.pieces, problem.quotient, plan.timed, root=problem.root)


def _lowerings(problem: Problem, rules: Rules, plan: Plan) -> tuple[Lowered | None, Candidate]:
    """Return the fastest program of a plan within the limits of the runtime, and all that was tried."""
    schedule = _scheduled(problem, plan)
    ways = _WAYS_OF_LONG if _hops(plan) > _LONG else None
    best, tried = best_lowering(schedule, rules, size_bytes=problem.size_bytes, about_s=plan.seconds, ways=ways)
    exact = schedule_time(schedule, size_bytes=problem.size_bytes).seconds
    return best, replace(_candidate(problem, plan), schedule_s=exact, lowerings=tried)


def best_lowering(
    schedule: Schedule, rules: Rules, *, size_bytes: int, about_s: float, ways: int | None = None
) -> tuple[Lowered | None, tuple[Lowering, ...]]:
    """Return the fastest program of a schedule within the limits of the runtime, and all that was tried.

    Parameters
    ----------
    about_s
        Estimate of the whole time in seconds.
    ways
        How many wirings that fit are enough; None to try all.
    """
    best: Lowered | None = None
    fitting = 0
    tried: list[Lowering] = []
    target = rules.target
    for wiring, lowered in lowerings(schedule, rules.protocol, target, size_bytes=size_bytes, about_s=about_s):
        channels = _channel_words(wiring)
        if isinstance(lowered, Unfit):
            tried.append(Lowering(channels, None, lowered.limit))
            continue
        tried.append(Lowering(channels, lowered.seconds, None))
        fitting += 1
        if best is None or lowered.seconds < best.seconds:
            best = lowered
        if fitting == ways or rules.clock.is_over():
            break
    return best, tuple(tried)


def _channel_words(wiring: Wiring) -> str:
    """Return in words how connections are laid on channels, and what is special about it."""
    if wiring.own:
        counts = [count for *_, count in wiring.own]
        channels = f"{min(counts)} to {max(counts)}"
    else:
        channels = f"{wiring.channels}+{wiring.channels}" if wiring.split else str(wiring.channels)
    return channels + ", shared blocks" * wiring.paired + ", urgent first" * wiring.urgent


def _left_out(problem: Problem, plan: Plan) -> Candidate:
    """Return a plan that was not lowered."""
    limit = None if _is_short_enough(problem, plan) else "too many steps for a program"
    return replace(_candidate(problem, plan), limit=limit)


def _candidate(problem: Problem, plan: Plan) -> Candidate:
    status = None if plan.status is None else plan.status.value
    chunks = plan.chunks
    return Candidate(plan.source, plan.name, plan.count, chunks, cheap_s=plan.seconds, status=status)
