"""Plans of an alltoallv whose entries are all equal: those of alltoall, written out for every pair of ranks."""

from __future__ import annotations

from collections.abc import Iterator

from syccl.bounds import Bound
from syccl.collective import OPS, Matrix
from syccl.collective.matrix import split_evenly
from syccl.planning.exchange import exchange_plans
from syccl.planning.grain import Grain
from syccl.planning.matrix import Cargo, MatrixPlan
from syccl.planning.problem import Plan, Problem
from syccl.sketch.quotient import Quotient
from syccl.solve.list_schedule import Timing
from syccl.symmetry import Group

_ROWS = 12_000
"""Most transfers of a plan with more than one piece for each pair."""


def is_uniform(matrix: Matrix) -> bool:
    """Return whether all pairs of different ranks have the same amount to move."""
    n = matrix.ranks
    return len(matrix.pairs) == n * (n - 1) and len({matrix.rows[u][v] for u, v in matrix.pairs}) == 1


def uniform_plans(
    group: Group, islands: tuple[tuple[int, ...], ...], matrix: Matrix, *, bound: Bound, grain: Grain
) -> Iterator[MatrixPlan]:
    """Yield the plans of alltoall for a matrix of equal entries.

    Parameters
    ----------
    group
        Symmetries of the topology.
    grain
        How entries may be cut.
    """
    entry = matrix.rows[0][1]
    problem = Problem(
        op=OPS["alltoall"],
        size_bytes=entry * matrix.ranks,
        elements=entry * matrix.ranks // grain.unit_bytes,
        group=group,
        quotient=Quotient.of(group.topology, group),
        islands=islands,
        unit_s_per_byte=0.0,
        bandwidth_s=bound.bandwidth_s,
        latency_s=bound.latency_s,
        bound_s=bound.seconds,
    )
    for plan in exchange_plans(problem):
        if len(plan.timed.rows.piece) * group.order <= _ROWS or plan.count == 1:
            sizes = split_evenly(entry, plan.count, unit=grain.unit_bytes)
            if max(sizes) <= grain.most_bytes:
                yield _written_out(problem, plan, sizes)


def _written_out(problem: Problem, plan: Plan, sizes: list[int]) -> MatrixPlan:
    """Return all images of the pieces of a plan; the images of a transfer take turns together."""
    rows, timing = plan.timed.rows, plan.timed.timing
    jobs: list[list[int]] = [[] for _ in plan.pieces]
    for row, number in enumerate(rows.piece):
        jobs[number].append(row)
    order = sorted(range(len(rows.piece)), key=lambda row: (timing.start_s[row], row))
    turn_of = {row: number for number, row in enumerate(order)}
    turn: dict[tuple[int, int], int] = {}
    pieces: list[Cargo] = []
    taken: list[int] = []
    for piece, own in zip(plan.pieces, jobs, strict=True):
        number = turn[piece.root, piece.target] = turn.get((piece.root, piece.target), -1) + 1
        path = [piece.root, *(hop.dst for hop in sorted(piece.hops, key=lambda hop: hop.stage))]
        if number < len(sizes):
            for path_images in problem.group.ranks[:, path].tolist():
                pieces.append(Cargo(tuple(path_images), sizes[number]))
                taken += own
    images = Timing([timing.start_s[row] for row in taken], timing.makespan_s)
    turns = tuple(turn_of[row] for row in taken)
    return MatrixPlan(f"alltoall: {plan.name}, {len(pieces)} pieces", tuple(pieces), images, turns)
