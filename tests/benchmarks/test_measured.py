"""The clusters and plain plans of the benchmark are what they say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from syccl.bounds import lower_bound
from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.schedule.verify import verify_schedule
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.check import require_connected
from syccl.topology.edge_list import read_edge_list
from tests.quality.measured.baseline import BASELINES, OPS_OF, baseline, closed_forms, direct
from tests.quality.measured.clusters import CLUSTERS
from tests.quality.measured.engine import hop_depth, synth
from tests.quality.measured.matrices import MATRICES, alltoallv, matrix_of
from tests.quality.measured.named import topology_file, topology_named
from tests.quality.measured.published import PUBLISHED
from tests.quality.parts.published import OPTIMUM
from tests.quality.targets import OPS
from tests.strategies import mesh, ring


def algbw(topology: Topology, op: str) -> float:
    """Bandwidth bound as algbw, GB/s."""
    group, parts = find_group(topology), islands(topology)
    bound = lower_bound(topology, op_named(op), size_bytes=2**30, group=group, islands=parts)
    return 2**30 / bound.bandwidth_s / 1e9


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_are_connected(name: str) -> None:
    topology = CLUSTERS[name]()
    require_connected(topology)
    assert topology.name == name


@pytest.mark.parametrize(
    ("name", "ranks"),
    [("a100-nic", 32), ("a100-gpu", 31), ("7+8", 15), ("8+8+4", 20), ("dgx1-5", 5), ("odd-10", 10), ("odd-7", 7)],
)
def test_clusters_have_their_ranks(name: str, ranks: int) -> None:
    assert CLUSTERS[name]().ranks == ranks


@pytest.mark.parametrize(
    ("name", "us_per_mb"),
    [("a100-nic", 0.32), ("a100-gpu", 0.24), ("7+8", 0.08), ("8+8+4", 0.32), ("8+8+4b", 0.16), ("nic25+50", 0.08)],
)
def test_bounds_are_the_known_ones(name: str, us_per_mb: float) -> None:
    topology = CLUSTERS[name]()
    assert topology.ranks / algbw(topology, "allgather") == pytest.approx(us_per_mb, rel=1e-9)


@pytest.mark.parametrize(("case", "optimum"), [*OPTIMUM.items()])
def test_published_clusters_have_the_published_optimum(case: tuple[str, str], optimum: float) -> None:
    assert algbw(PUBLISHED[case[0]](), case[1]) == pytest.approx(optimum, rel=1e-4)


def test_a_topology_goes_through_a_file(tmp_path: object) -> None:
    from pathlib import Path

    assert topology_file("a100x32", Path(str(tmp_path))) == "a100x32"
    made = topology_named("published/ndv2x4")
    path = Path(topology_file("published/ndv2x4", Path(str(tmp_path))))
    again = read_edge_list(path.read_text(encoding="utf-8"), source=path.name)
    assert (again.name, again.links) == (made.name, made.links)
    assert [node.name for node in again.nodes] == [node.name for node in made.nodes]


def test_scrambled_names_are_the_same_graph() -> None:
    made = topology_named("published/ndv2x2~7")
    plain = topology_named("published/ndv2x2")
    assert sorted(link.rate for link in made.links) == sorted(link.rate for link in plain.links)
    assert made.links != plain.links


@pytest.mark.parametrize("op", OPS)
def test_direct_plans_are_correct(op: str) -> None:
    made = direct(CLUSTERS["odd-6"](), op_named(op))
    assert made is not None
    assert [finding for finding in verify_schedule(made) if finding.severity == "error"] == []


@pytest.mark.parametrize(("name", "op"), [(name, op) for name in BASELINES for op in OPS_OF[name]])
def test_baselines_have_times(name: str, op: str) -> None:
    made = baseline("a100x8", op, 2**20, name, program=True)
    assert made is not None
    assert made["schedule_us"] > 0
    assert made["program_us"] > 0


def test_closed_forms_are_the_fastest_that_one_can_write_down() -> None:
    found = closed_forms("a100x8", "broadcast", [1024, 2**26])
    assert [name for name, _ in found.values()] == ["direct", "ring"]
    times = [us for _, us in found.values()]
    assert all(a < b for a, b in pairwise(times))


def test_there_is_no_direct_plan_where_ranks_are_not_joined() -> None:
    assert direct(ring(5), op_named("alltoall")) is None


@pytest.mark.parametrize(
    ("topology", "op", "depth"), [(ring(5, one_way=True), "allgather", 4), (mesh(4), "alltoall", 1)]
)
def test_depth_is_the_longest_chain_of_transfers(topology: Topology, op: str, depth: int) -> None:
    made = synthesize(topology, op_named(op), Options(size_bytes=2**20, want_program=False))
    assert hop_depth(made.schedule) == depth


def test_depth_counts_both_ways_of_an_allreduce() -> None:
    made = synthesize(ring(3, one_way=True), op_named("allreduce"), Options(size_bytes=2**20, want_program=False))
    assert hop_depth(made.schedule) == 4


def test_a_synthesis_is_told_with_its_ratios() -> None:
    made = synth("cluster/nvlink-pair", "allgather", 2**20, program=True)
    assert made["schedule"] == pytest.approx(made["schedule_us"] / made["bound_us"])
    assert made["program"] == pytest.approx(made["program_us"] / made["bound_us"])
    assert np.isfinite(made["cpu_s"])
    assert (made["ranks"], made["order"]) == (3, 1)


def test_direct_exchanges_do_not_wait_for_each_other() -> None:
    made, topology = baseline("a100x16", "alltoall", 2**26, "direct", program=False), topology_named("a100x16")
    bound = lower_bound(
        topology, op_named("alltoall"), size_bytes=2**26, group=find_group(topology), islands=islands(topology)
    )
    assert made is not None
    assert made["schedule_us"] == pytest.approx(bound.seconds * 1e6, rel=1e-9)


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_fixed_and_of_whole_elements(kind: str) -> None:
    made = matrix_of(kind, 16, 2**20)
    assert made == matrix_of(kind, 16, 2**20)
    assert not (made.table % 4).any()
    assert 0.3 * 2**20 < made.table.mean() < 3 * 2**20


def test_skewed_matrices_have_a_silent_and_a_deaf_rank() -> None:
    table = matrix_of("skewed", 8, 2**16).table
    assert not table[1].any()
    assert not table[:, 2].any()
    assert len(np.unique(table)) > 20


def test_an_alltoallv_is_measured() -> None:
    made = alltoallv("torus2d-4x4", "hot", 2**16)
    assert made["ranks"] == 16
    assert made["schedule"] >= 1 - 1e-9
    assert made["program"] is None
