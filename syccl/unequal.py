"""Alltoallv, once through: matrix -> bound -> plans -> schedule -> verify -> program -> verify."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from syccl.bounds import Bound
from syccl.bounds.matrix import matrix_bound
from syccl.candidates import Candidate, Lowering
from syccl.clock import Clock
from syccl.collective import ALLTOALLV, Matrix
from syccl.collective.datatypes import element_bytes
from syccl.contest import Rules, best_lowering
from syccl.errors import GaveUpError, InfeasibleError
from syccl.lowering.finish import finished, program_name, require_clean
from syccl.lowering.lowered import Lowered
from syccl.pipeline import Options, Synthesis
from syccl.planning.grain import Grain, program_grain, schedule_grain
from syccl.planning.matrix import MatrixPlan, matrix_plans, matrix_schedule
from syccl.planning.uniform import is_uniform, uniform_plans
from syccl.schedule import Schedule
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import protocol_named
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.ground import Ground
from syccl.sketch.quotient import Quotient
from syccl.symmetry import trivial_group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology, merged
from syccl.topology.check import require_connected

_ONE_WIRING = 3000
"""Plans of more pieces than this are lowered in one way only."""


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The plan that won and its schedule, lowered where a program is wanted, with all ways that were tried."""

    plan: MatrixPlan
    schedule: Schedule
    lowered: Lowered | None = None
    tried: tuple[tuple[MatrixPlan, tuple[Lowering, ...]], ...] = ()


def synthesize_matrix(
    topology: Topology,
    matrix: Matrix,
    options: Options,
    *,
    progress: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> Synthesis:
    """Return a verified schedule for an alltoallv, with a bound, and a program where one is asked for.

    Parameters
    ----------
    matrix
        Of as many ranks as the topology, every entry a whole number of elements.

    Raises
    ------
    InputError
        When the topology is not connected, or a program is wanted and the entries have no chunk in common.
    GaveUpError
        When no program fits the limits of the runtime.
    InternalError
        When the result fails verification.
    """
    clock = Clock(options.time_limit_s) if clock is None else clock
    require_connected(topology)
    topology = merged(topology)
    parts = islands(topology)
    grain = _grain(matrix, options)
    progress("bounding")
    bound = matrix_bound(topology, matrix, islands=parts)
    quotient = Quotient.of(topology, trivial_group(topology))
    progress("routing")
    plans: list[MatrixPlan] = []
    for plan in _plans(quotient, parts, matrix, bound=bound, grain=grain):
        plans.append(plan)
        progress(plan.name)
        if clock.is_over():
            break
    if not plans:
        msg = f"{topology.name}: some entry of the matrix has no path"
        raise InfeasibleError(msg)
    rules = Rules(protocol_named(options.protocol), options.target, options.jobs, clock)
    plans.sort(key=lambda plan: (plan.seconds, len(plan.pieces)))
    best = _lowered(quotient, matrix, plans, rules) if options.want_program else _scheduled(quotient, matrix, plans[0])
    progress("verifying")
    require_clean(verify_schedule(best.schedule), "schedule")
    name = program_name(ALLTOALLV, topology)
    low = best.lowered
    program = None if low is None else finished(low, rules.protocol, name=name, size_bytes=matrix.size_bytes)
    timed = schedule_time(best.schedule, size_bytes=matrix.size_bytes)
    run = None if program is None else simulate_program(program, topology, size_bytes=matrix.size_bytes)
    return Synthesis(
        topology=topology,
        demand=best.schedule.demand,
        schedule=best.schedule,
        program=program,
        group=quotient.group,
        bound=bound,
        tree_bound_s=None,
        route_bound_s=None,
        schedule_time_s=timed.seconds,
        program_time_s=None if run is None else run.seconds,
        bottleneck=(timed if run is None else run).bottleneck,
        baselines={},
        explain=_explained(matrix, plans, best, bound),
        synthesis_s=clock.spent_s(),
        hit_time_limit=clock.hit,
    )


def _grain(matrix: Matrix, options: Options) -> Grain:
    width = element_bytes(options.datatype)
    if not options.want_program:
        return schedule_grain(matrix, width)
    return program_grain(matrix, width, chunks=options.target.chunks, count=options.target.count)


def _plans(
    quotient: Quotient, parts: tuple[tuple[int, ...], ...], matrix: Matrix, *, bound: Bound, grain: Grain
) -> Iterator[MatrixPlan]:
    group = find_group(quotient.topology) if is_uniform(matrix) else quotient.group
    if group.order > 1:
        return uniform_plans(group, parts, matrix, bound=bound, grain=grain)
    return matrix_plans(Ground(quotient, parts), matrix, bound=bound, grain=grain)


def _scheduled(quotient: Quotient, matrix: Matrix, plan: MatrixPlan) -> _Chosen:
    return _Chosen(plan, matrix_schedule(quotient, matrix, plan))


def _lowered(quotient: Quotient, matrix: Matrix, plans: Sequence[MatrixPlan], rules: Rules) -> _Chosen:
    """Return the plan of the fastest program within the limits of the runtime.

    Raises
    ------
    GaveUpError
        When there is none.
    """
    best: _Chosen | None = None
    tried: list[tuple[MatrixPlan, tuple[Lowering, ...]]] = []
    for plan in plans:
        schedule = matrix_schedule(quotient, matrix, plan)
        long = len(plan.pieces) > _ONE_WIRING
        low, ways = best_lowering(
            schedule, rules, size_bytes=matrix.size_bytes, about_s=plan.seconds, ways=1 if long else None
        )
        tried.append((plan, ways))
        faster = best is None or best.lowered is None or (low is not None and low.seconds < best.lowered.seconds)
        if low is not None and faster:
            best = _Chosen(plan, low.schedule, low)
        if best is not None and rules.clock.is_over():
            break
    if best is None:
        limits = [way.limit for _, ways in tried for way in ways if way.limit]
        msg = f"no program fits the runtime: {limits[0]}; ask for a schedule instead (-o FILE.json)"
        raise GaveUpError(msg)
    return _Chosen(best.plan, best.schedule, best.lowered, tuple(tried))


def _explained(matrix: Matrix, plans: list[MatrixPlan], best: _Chosen, bound: Bound) -> dict[str, object]:
    seconds = best.plan.seconds if best.lowered is None else best.lowered.seconds
    what = "schedules" if best.lowered is None else "programs"
    gap = f", {seconds / bound.seconds:.3f} times the bound" if bound.seconds else ""
    ways = {id(plan): lowerings for plan, lowerings in best.tried}
    candidates = [
        Candidate(
            "matrix",
            plan.name,
            len(plan.pieces),
            len(plan.pieces),
            schedule_s=plan.seconds,
            lowerings=ways.get(id(plan), ()),
            won=plan is best.plan,
        )
        for plan in plans
    ]
    return {
        "why": f"the fastest of {len(plans)} {what}{gap}",
        "winner": best.plan.name,
        "pairs": len(matrix.pairs),
        "plans": len(plans),
        "candidates": [candidate.record() for candidate in candidates],
    }
