"""Mixes of sketches."""

from __future__ import annotations

import pytest

from syccl.planning.mixes import dealt, search_mixes
from syccl.planning.staged import staged_plans
from syccl.sketch.families import summing_family
from syccl.sketch.grid import grids
from syccl.sketch.words import hops_of, summing_words
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from tests.problems import problem_of
from tests.strategies import one_switch, torus


def test_parts_are_dealt_evenly() -> None:
    assert dealt([(0, 2), (1, 2)]) == [0, 1, 0, 1]
    assert dealt([(7, 3), (2, 1)]) == [7, 2, 7, 7]


def test_exchange_in_both_orders_beats_either_of_them() -> None:
    problem, _ = problem_of(load_topology("h800x64"), "allreduce", 8 << 10)
    q = problem.quotient
    grid = grids(q, problem.islands, problem.ground.routed)[-1]
    words = [w for w in summing_words(2) if len(w) == 2 and all(len(step.exchanged) == 1 for step in w)]
    families = [summing_family(q, str(i), lambda root, w=w: hops_of(w, grid, root)) for i, w in enumerate(words)]  # type: ignore[misc]
    mixes = search_mixes(problem, families)
    alone = min(mix.seconds for mix in mixes if len(mix.shares) == 1)
    assert len(mixes[0].shares) == 2
    assert mixes[0].seconds < 0.95 * alone


@pytest.mark.parametrize(
    ("topology", "size", "most"),
    [
        (load_topology("dgx1-v100"), 4 << 10, 1.05),
        (load_topology("torus2d-4x4"), 16 << 10, 1.05),
        (torus(4, 2), 4 << 10, 1.05),
        (one_switch(8), 4 << 10, 1.02),
    ],
    ids=["cube mesh", "torus", "ladder", "switch"],
)
def test_small_allreduce_needs_no_more_hops_than_the_farthest_ranks_are_apart(
    topology: Topology, size: int, most: float
) -> None:
    problem, _ = problem_of(topology, "allreduce", size)
    best = min(plan.seconds for plan in staged_plans(problem))
    assert problem.bound_s * (1 - 1e-9) <= best <= most * problem.bound_s


def test_few_parts_are_among_the_plans() -> None:
    problem, _ = problem_of(load_topology("a100x32"), "allreduce", 64 << 10)
    plans = staged_plans(problem)
    assert {1, 2, 16} <= {plan.count for plan in plans}
    assert min(plan.chunks for plan in plans) == 8
