"""Alltoallv, once through: matrix -> bound -> plans -> schedule -> verify."""

from __future__ import annotations

from collections.abc import Callable

from syccl.bounds import Bound
from syccl.bounds.matrix import matrix_bound
from syccl.clock import Clock
from syccl.collective import Matrix
from syccl.collective.datatypes import element_bytes
from syccl.errors import InfeasibleError
from syccl.lowering.finish import require_clean
from syccl.pipeline import Options, Synthesis
from syccl.planning.matrix import MatrixPlan, matrix_plans, matrix_schedule
from syccl.planning.uniform import is_uniform, uniform_plans
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.ground import Ground
from syccl.sketch.quotient import Quotient
from syccl.symmetry import trivial_group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology, merged
from syccl.topology.check import require_connected


def synthesize_matrix(
    topology: Topology,
    matrix: Matrix,
    options: Options,
    *,
    progress: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> Synthesis:
    """Return a verified schedule for an alltoallv, with a bound; there is no program.

    Parameters
    ----------
    matrix
        Of as many ranks as the topology, every entry a whole number of elements.

    Raises
    ------
    InputError
        When the topology is not connected.
    InternalError
        When the result fails verification.
    """
    clock = Clock(options.time_limit_s) if clock is None else clock
    require_connected(topology)
    topology = merged(topology)
    parts = islands(topology)
    progress("bounding")
    bound = matrix_bound(topology, matrix, islands=parts)
    quotient = Quotient.of(topology, trivial_group(topology))
    progress("routing")
    plans: list[MatrixPlan] = []
    width = element_bytes(options.datatype)
    found = matrix_plans(Ground(quotient, parts), matrix, bound=bound, element_bytes=width)
    if is_uniform(matrix):
        group = find_group(topology)
        found = uniform_plans(group, parts, matrix, bound=bound, element_bytes=width)
    for plan in found:
        plans.append(plan)
        progress(plan.name)
        if clock.is_over():
            break
    if not plans:
        msg = f"{topology.name}: some entry of the matrix has no path"
        raise InfeasibleError(msg)
    best = min(plans, key=lambda plan: (plan.seconds, len(plan.pieces)))
    schedule = matrix_schedule(quotient, matrix, best)
    progress("verifying")
    require_clean(verify_schedule(schedule), "schedule")
    timed = schedule_time(schedule, size_bytes=matrix.size_bytes)
    return Synthesis(
        topology=topology,
        demand=schedule.demand,
        schedule=schedule,
        program=None,
        group=quotient.group,
        bound=bound,
        tree_bound_s=None,
        schedule_time_s=timed.seconds,
        program_time_s=None,
        bottleneck=timed.bottleneck,
        baselines={},
        explain=_explained(matrix, plans, best, bound),
        synthesis_s=clock.spent_s(),
        hit_time_limit=clock.hit,
    )


def _explained(matrix: Matrix, plans: list[MatrixPlan], best: MatrixPlan, bound: Bound) -> dict[str, object]:
    gap = f", {best.seconds / bound.seconds:.3f} times the bound" if bound.seconds else ""
    return {
        "why": f"the fastest of {len(plans)} schedules{gap}",
        "winner": best.name,
        "pairs": len(matrix.pairs),
        "plans": len(plans),
        "candidates": [{"plan": plan.name, "schedule_us": plan.seconds * 1e6} for plan in plans],
    }
