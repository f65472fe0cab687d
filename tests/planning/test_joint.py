"""Allreduce as one problem: an in-tree and an out-tree with a free root beat a reducescatter and an allgather."""

from __future__ import annotations

import pytest

from syccl.bounds import two_phases_s
from syccl.collective import OPS
from syccl.pipeline import Options, synthesize
from syccl.sketch.price import price
from syccl.sketch.quotient import Quotient
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.problems import ENGINE_OPS, problem_of
from tests.strategies import cables, gpus, ring

GB = 10**9
SIZE = 256 << 20


def cube_part() -> Topology:
    """GPUs 0, 1, 2, 3 and 7 of a cube mesh: 7 hangs on 3 alone."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]
    return Topology("cube part", gpus(5), cables(pairs, 20 * GB))


def pair_and_one() -> Topology:
    """Two GPUs on a fast link, a third one on a slow link to each of them."""
    return Topology("pair and one", gpus(3), cables([(0, 1)], 100 * GB) + cables([(0, 2), (1, 2)], 10 * GB))


def seconds_per_byte(topology: Topology, op: str) -> float:
    """The certified least time per byte of the whole buffer of any mix of trees."""
    value = price(OPS[op], Quotient.of(topology, trivial_group(topology)), gap=1e-4).dual_bound
    return value if op == "allreduce" else value / topology.ranks


@pytest.mark.parametrize(("topology", "joint", "glued"), [(cube_part(), 20.0, 12.5), (pair_and_one(), 20.0, 15.0)])
def test_the_joint_bound_is_above_that_of_two_phases(topology: Topology, joint: float, glued: float) -> None:
    phases = seconds_per_byte(topology, "reducescatter") + seconds_per_byte(topology, "allgather")
    assert two_phases_s(topology, trivial_group(topology), size_bytes=GB) == pytest.approx(1 / glued)
    assert 1e-9 / seconds_per_byte(topology, "allreduce") == pytest.approx(joint, rel=2e-3)
    assert 1e-9 / phases == pytest.approx(glued, rel=2e-3)


@pytest.mark.parametrize(("topology", "joint"), [(cube_part(), 20.0), (pair_and_one(), 20.0)])
def test_schedules_reach_the_joint_bound(topology: Topology, joint: float) -> None:
    made = synthesize(topology, OPS["allreduce"], Options(size_bytes=SIZE, want_program=False))
    assert made.tree_bound_s is not None
    assert SIZE / made.tree_bound_s / GB == pytest.approx(joint, rel=2e-3)
    assert SIZE / made.schedule_time_s / GB >= 0.96 * joint
    assert f"({joint:g} GB/s)" in str(made.explain["two_phases"])


def test_two_phases_are_not_told_of_where_they_lose_nothing() -> None:
    made = synthesize(ring(5), OPS["allreduce"], Options(size_bytes=1 << 20, want_program=False))
    assert "two_phases" not in made.explain


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_long_plans_are_for_clusters_without_symmetry_and_large_sizes(op: str) -> None:
    assert problem_of(cube_part(), op, SIZE)[0].wants_many_rows
    assert not problem_of(cube_part(), op, 1 << 12)[0].wants_many_rows
