"""The main job, once through: topology -> symmetry -> bound -> plans -> schedule -> verify -> program -> verify."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from syccl.baselines import baseline_lanes, baseline_times
from syccl.baselines.lanes import Laned
from syccl.bounds import Bound, lower_bound, two_phases_s
from syccl.clock import Clock
from syccl.collective import Demand, Op
from syccl.collective.datatypes import element_bytes
from syccl.contest import Choice, Rules, best_program, best_schedule, challenged, stand_in
from syccl.errors import GaveUpError, InputError
from syccl.lowering.finish import finished, program_name, require_clean
from syccl.planning import Found, Problem, account, find_plans, hurried
from syccl.prepare import Prepared, prepare
from syccl.program import Program
from syccl.program.targets import EXECUTOR, Target
from syccl.schedule import Schedule
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import protocol_named
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.price import Pricing, price, proven_bound
from syccl.store import Store
from syccl.symmetry import Group
from syccl.topology import Topology

LARGEST_DEFAULT_PROGRAM = 128
"""Above this many ranks no program is made unless asked for: its file would have millions of steps."""

_GOOD_PROOF = 0.99
_GAIN = 1.001
_EXTENSIONS_S = (0.5, 2.0, 8.0)
"""How much longer plans are sought, each time anew, while no program fits at a time limit."""
_PLANNING_SHARE = 0.6
"""Of the time that a limit leaves, what is kept for plans while bounds are sought."""


@dataclass(frozen=True)
class Options:
    """What is asked for, beside topology and collective.

    Parameters
    ----------
    size_bytes
        Total size as nccl-tests counts it (see ``Demand``).
    jobs
        Processes that lower candidates at the same time; does not change the result.
    time_limit_s
        Seconds after which the best plan so far is taken; None for no limit.
    want_program
        Whether to lower to a runtime program; None: up to 128 ranks.
    exact
        Whether only programs that a runtime selects at exactly this size are wanted, however few pieces they have.
    target
        The runtime that programs are for.
    """

    size_bytes: int
    datatype: str = "float32"
    protocol: str = "Simple"
    jobs: int = 1
    time_limit_s: float | None = None
    want_program: bool | None = None
    exact: bool = False
    target: Target = EXECUTOR


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A verified schedule, its program, and what they are measured against; times in seconds.

    ``tree_bound_s`` is for plans made of trees, ``route_bound_s`` for those that take the default route between two
    ranks; None where trees are not priced. ``bottleneck`` is a link id; ``baselines`` are in microseconds.
    """

    topology: Topology
    demand: Demand
    schedule: Schedule
    program: Program | None
    group: Group
    bound: Bound
    tree_bound_s: float | None
    route_bound_s: float | None
    schedule_time_s: float
    program_time_s: float | None
    bottleneck: int | None
    baselines: dict[str, float]
    explain: dict[str, object]
    synthesis_s: float
    hit_time_limit: bool


@dataclass(frozen=True, eq=False)
class Solved:
    """What was found for one size, before verification; ``baselines`` are in microseconds."""

    problem: Problem
    bound: Bound
    pricing: Pricing | None
    found: Found
    choice: Choice
    baselines: dict[str, float]


def synthesize(
    topology: Topology,
    op: Op,
    options: Options,
    *,
    root: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Synthesis:
    """Return a verified schedule (and program) for a collective, with its certified bound.

    Answers of the solvers are read from ``store`` and kept there; what is made does not depend on it. The time limit
    counts from now on, or as ``clock`` does.

    Raises
    ------
    InputError
        When the topology is not connected, the size does not fit the datatype, or the root is out of range.
    GaveUpError
        When no program fits the limits of the runtime.
    InternalError
        When the result fails verification.
    """
    clock = Clock(options.time_limit_s) if clock is None else clock
    check_options(options)
    prepared = prepare(topology, op, root=root, progress=progress)
    return _finish(solve(prepared, options, clock, progress, store=store), options, clock, progress)


def solve(
    prepared: Prepared,
    options: Options,
    clock: Clock,
    progress: Callable[[str], None],
    *,
    store: Store | None = None,
) -> Solved:
    """Return the best plan that was found for one size and the order of its program, not yet verified.

    Raises
    ------
    GaveUpError
        When no program fits the limits of the runtime.
    """
    whole, bound, pricing = _posed(prepared, options, clock, progress)
    problem, search = hurried(whole, clock)
    rules = Rules(protocol_named(options.protocol), options.target, options.jobs, search)

    def find(problem: Problem, clock: Clock) -> Found:
        return find_plans(problem, pricing, progress=progress, clock=clock, store=store)

    baselines: dict[str, float] = {}
    if problem.most_hops is None:
        found = find(problem, search)
        choice = best_schedule(problem, found.plans, search)
    else:
        problem, found, choice = _programmed((problem, whole), rules, find, progress)
        progress("comparing with rings and trees")
        baselines = _baselines(problem, rules)
        seconds = math.inf if choice.lowered is None else choice.lowered.seconds
        if not choice.is_baseline and seconds * 1e6 > min(baselines.values(), default=math.inf):
            choice = challenged(choice, problem, rules, _lanes(problem))
    clock.hit |= search.hit
    return Solved(problem, bound, pricing, found, choice, baselines)


def _programmed(
    problems: tuple[Problem, Problem],
    rules: Rules,
    find: Callable[[Problem, Clock], Found],
    progress: Callable[[str], None],
) -> tuple[Problem, Found, Choice]:
    """Return the plan of the fastest program; where none fits that there is time for, of the first one that does.

    Parameters
    ----------
    problems
        With plans that there is time for, and with all of them.
    """
    short, whole = problems
    if rules.clock.limit_s is not None:
        for seconds in (0.0, *_EXTENSIONS_S):
            found = find(short, Clock(seconds) if seconds else rules.clock)
            with contextlib.suppress(GaveUpError):
                return short, found, best_program(short, found.plans, rules, progress)
    found = find(whole, Clock())
    try:
        return whole, found, best_program(whole, found.plans, rules, progress)
    except GaveUpError:
        progress("trying rings and trees")
        choice = stand_in(whole, found.plans, replace(rules, clock=Clock()), _lanes(whole))
        if choice is None:
            raise
        return whole, found, choice


def _posed(
    prepared: Prepared, options: Options, clock: Clock, progress: Callable[[str], None]
) -> tuple[Problem, Bound, Pricing | None]:
    """Return what is to be planned at one size, what no schedule can beat, and the prices of links."""
    topology, op, size_bytes = prepared.topology, prepared.op, options.size_bytes
    elements = size_bytes // element_bytes(options.datatype)
    progress("bounding")
    bounding = clock.until(_PLANNING_SHARE * (clock.left_s() or 0.0))
    bound = lower_bound(
        topology,
        op,
        size_bytes=size_bytes,
        group=prepared.bounding_group(elements, exact=options.exact),
        islands=prepared.islands,
        root=prepared.root,
        clock=bounding,
    )
    clock.hit |= bounding.hit
    group = prepared.planning_group(elements, exact=options.exact)
    progress("pricing trees")
    quotient, pricing = prepared.priced(group, clock)
    problem = Problem(
        op=op,
        size_bytes=size_bytes,
        elements=elements,
        group=group,
        quotient=quotient,
        islands=prepared.islands,
        unit_s_per_byte=0.0 if pricing is None else pricing.lp_value,
        bandwidth_s=bound.bandwidth_s,
        latency_s=bound.latency_s,
        bound_s=bound.seconds,
        most_hops=options.target.nodes - topology.ranks if _wants_program(topology, options) else None,
        root=prepared.root,
        root_group=prepared.root_group,
        exact=options.exact,
    )
    return problem, bound, pricing


def _wants_program(topology: Topology, options: Options) -> bool:
    if options.want_program is None:
        return topology.ranks <= LARGEST_DEFAULT_PROGRAM
    return options.want_program


def check_options(options: Options) -> None:
    """Check that a size is a whole number of elements.

    Raises
    ------
    InputError
        When it is not.
    """
    width = element_bytes(options.datatype)
    if options.size_bytes <= 0 or options.size_bytes % width:
        msg = f"size {options.size_bytes} bytes is no positive multiple of {width}, the bytes of one {options.datatype}"
        raise InputError(msg)


def _lanes(problem: Problem) -> Iterator[tuple[str, Laned]]:
    topology, op, size = problem.group.topology, problem.op, problem.size_bytes
    return baseline_lanes(topology, op, problem.islands, size_bytes=size, group=problem.group)


def _baselines(problem: Problem, rules: Rules) -> dict[str, float]:
    return baseline_times(
        problem.group.topology,
        problem.op,
        problem.islands,
        size_bytes=problem.size_bytes,
        protocol=rules.protocol,
        group=problem.group,
        clock=rules.clock,
    )


def _finish(work: Solved, options: Options, clock: Clock, progress: Callable[[str], None]) -> Synthesis:
    """Verify, lift, simulate and compare what was chosen."""
    problem, choice = work.problem, work.choice
    topology, protocol = problem.group.topology, protocol_named(options.protocol)
    progress("verifying")
    require_clean(verify_schedule(choice.schedule), "schedule")
    timed = choice.timed or schedule_time(choice.schedule, size_bytes=options.size_bytes)
    tree_bound_s = None if work.pricing is None else _tree_bound_s(problem, work.pricing, clock)
    program = program_time = None
    bottleneck = timed.bottleneck
    if choice.lowered is not None:
        name = program_name(problem.op, topology)
        program = finished(choice.lowered, protocol, name=name, size_bytes=options.size_bytes)
        symmetry = choice.schedule.symmetry
        group = problem.group if symmetry is None else symmetry.group
        simulated = simulate_program(program, topology, size_bytes=options.size_bytes, group=group)
        program_time, bottleneck = simulated.seconds, simulated.bottleneck
    return Synthesis(
        topology=topology,
        demand=choice.schedule.demand,
        schedule=choice.schedule,
        program=program,
        group=problem.group,
        bound=work.bound,
        tree_bound_s=tree_bound_s,
        route_bound_s=None if work.pricing is None else work.pricing.dual_bound * _tree_share(problem),
        schedule_time_s=timed.seconds,
        program_time_s=program_time,
        bottleneck=bottleneck,
        baselines=work.baselines,
        explain=_explained(work, clock, tree_bound_s),
        synthesis_s=clock.spent_s(),
        hit_time_limit=clock.hit,
    )


def _tree_bound_s(problem: Problem, pricing: Pricing, clock: Clock) -> float:
    """Return the least time of any mix of trees over any routes, seconds."""
    proven = proven_bound(problem.op, problem.quotient, pricing.prices)
    if proven < _GOOD_PROOF * pricing.dual_bound and not clock.is_over():
        # Other routes than the default ones are cheaper at these prices: price them too.
        proven = price(problem.op, problem.quotient, any_route=True, clock=clock).dual_bound
    return proven * _tree_share(problem)


def _tree_share(problem: Problem) -> float:
    """Return the bytes that prices of trees are for: the buffer of an allreduce, else a shard."""
    return problem.size_bytes if problem.sums_everywhere else problem.size_bytes / problem.quotient.ranks


def _two_phases(problem: Problem, tree_bound_s: float) -> dict[str, object]:
    """Return in words what choosing in-trees and out-trees together gains over two collectives, where it does."""
    apart_s = two_phases_s(problem.group.topology, problem.group, size_bytes=problem.size_bytes)
    if apart_s <= _GAIN * tree_bound_s:
        return {}
    apart, joint = (f"{s * 1e6:.4g} us ({problem.size_bytes / s / 1e9:.3g} GB/s)" for s in (apart_s, tree_bound_s))
    return {"two_phases": f"a reducescatter and then an allgather need {apart}, trees chosen together {joint}"}


def _explained(work: Solved, clock: Clock, tree_bound_s: float | None) -> dict[str, object]:
    problem, pricing = work.problem, work.pricing
    priced: dict[str, object] = {}
    if tree_bound_s and problem.sums_everywhere and problem.roots > 1:
        priced |= _two_phases(problem, tree_bound_s)
    if pricing is not None:
        priced |= {
            "pricing_status": pricing.status.value,
            "pricing_rounds": pricing.rounds,
            "columns": len(pricing.columns),
            "lp_value_s_per_byte": pricing.lp_value,
            "dual_bound_s_per_byte": pricing.dual_bound,
        }
    ours: dict[str, object] = {}
    if not work.choice.is_baseline:
        ours = {"winner_pieces": work.choice.plan.count}
        if pricing is not None:
            ours |= account(problem, work.choice.plan, work.found.solver)
    untried = "; others were left untried at the time limit" if clock.hit else ""
    return {
        "why": work.choice.why + untried,
        "winner": work.choice.winner,
        "symmetry_order": problem.group.order,
        "root_orbits": problem.roots,
        "link_orbits": problem.quotient.orbits,
        "islands": len(problem.islands),
        **priced,
        "plans": len(work.found.plans),
        **ours,
        "candidates": [candidate.record() for candidate in work.choice.candidates],
    }
