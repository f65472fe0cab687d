"""A collective on a small cluster, brought as far as the engine needs it."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.bounds import lower_bound
from syccl.collective import OPS
from syccl.planning import Plan, Problem
from syccl.schedule import Schedule
from syccl.sketch.ground import Ground
from syccl.sketch.model import Hop
from syccl.sketch.price import Pricing, price
from syccl.sketch.quotient import Quotient
from syccl.stitch import stitch
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.symmetry.group import Group, trivial_group
from syccl.topology import Topology

ENGINE_OPS = ("allgather", "reducescatter", "allreduce")


def ground_of(topology: Topology, *, symmetric: bool = True) -> Ground:
    """The ground of a topology under its group, or under the identity alone."""
    group = find_group(topology) if symmetric else trivial_group(topology)
    return Ground(Quotient.of(topology, group), islands(topology))


def problem_of(
    topology: Topology, op: str, size_bytes: int, *, symmetric: bool = True, most_hops: int | None = None
) -> tuple[Problem, Pricing]:
    """The problem that the pipeline would pose, and its priced trees."""
    collective, elements = OPS[op], size_bytes // 4
    group = find_group(topology) if symmetric else trivial_group(topology)
    if op == "allreduce":
        group = group.largest_part(lambda order: order & (order - 1) == 0 and elements % order == 0)
    return posed(topology, group, op=op, size_bytes=size_bytes, most_hops=most_hops), price(
        collective, Quotient.of(topology, group)
    )


def posed(topology: Topology, group: Group, *, op: str, size_bytes: int, most_hops: int | None = None) -> Problem:
    """The problem under a given group."""
    parts, quotient = islands(topology), Quotient.of(topology, group)
    bound = lower_bound(topology, OPS[op], size_bytes=size_bytes, group=group, islands=parts)
    return Problem(
        op=OPS[op],
        size_bytes=size_bytes,
        elements=size_bytes // 4,
        group=group,
        quotient=quotient,
        islands=parts,
        unit_s_per_byte=price(OPS[op], quotient).lp_value if op in ENGINE_OPS else 0.0,
        bandwidth_s=bound.bandwidth_s,
        latency_s=bound.latency_s,
        bound_s=bound.seconds,
        most_hops=most_hops,
    )


def scheduled(problem: Problem, plan: Plan) -> Schedule:
    """The schedule of a plan."""
    return stitch(problem.op, plan.pieces, problem.quotient, plan.timed)


def is_spanning(root: int, parent: dict[int, int], ranks: int) -> bool:
    """Whether child -> parent is a tree from ``root`` that holds every rank."""
    reached = {root}
    for _ in range(ranks):
        reached |= {child for child, over in parent.items() if over in reached}
    return root not in parent and reached == set(range(ranks)) == {root, *parent}


def contributions(hops: Sequence[Hop], ranks: int) -> list[list[int]]:
    """How often each rank's contribution is in the sum that each rank holds in the end; hops of a stage together."""
    held = [[int(rank == other) for other in range(ranks)] for rank in range(ranks)]
    for stage in sorted({hop.stage for hop in hops}):
        sent = [(hop, list(held[hop.src])) for hop in hops if hop.stage == stage]
        for hop, content in sent:
            before = held[hop.dst]
            held[hop.dst] = [a + b for a, b in zip(before, content, strict=True)] if hop.reduce else content
    return held
