"""The main job, once through."""

from __future__ import annotations

from typing import Any

import pytest

from syccl import pipeline
from syccl.collective import OPS
from syccl.errors import InputError, InternalError
from syccl.findings import Finding
from syccl.lowering import finish
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay_findings
from syccl.program.verify import verify_program
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from syccl.topology.damage import subset
from tests.problems import ENGINE_OPS
from tests.sketch.quotient_cases import gpu_mesh
from tests.strategies import RATE, cables, gpus, mesh, one_switch, ring, torus, two_servers

LARGE = 256 << 20


def made(topology: Topology, op: str, size_bytes: int, **options: Any) -> Synthesis:
    return synthesize(topology, OPS[op], Options(size_bytes, **options))


@pytest.mark.parametrize(
    ("op", "schedule_ratio", "program_ratio"),
    [("allgather", 1.03, 1.08), ("reducescatter", 1.03, 1.12), ("allreduce", 1.03, 1.08)],
)
def test_large_sizes_on_four_servers_come_near_the_bound(op: str, schedule_ratio: float, program_ratio: float) -> None:
    result = made(load_topology("a100x32"), op, LARGE)
    assert result.group.order == 32
    assert 1 - 1e-9 <= result.schedule_time_s / result.bound.seconds <= schedule_ratio
    assert result.program_time_s is not None
    assert 1 - 1e-9 <= result.program_time_s / result.bound.seconds <= program_ratio
    assert result.program_time_s * 1e6 < result.baselines["ring_us"]


@pytest.mark.parametrize("name", ["torus2d-4x4", "dgx1-v100"])
def test_large_sizes_on_direct_networks_come_near_the_bound(name: str) -> None:
    result = made(load_topology(name), "allgather", LARGE, want_program=False)
    assert 1 - 1e-9 <= result.schedule_time_s / result.bound.seconds <= 1.08


@pytest.mark.parametrize("size_bytes", [1 << 10, 1 << 14])
def test_small_sizes_on_four_servers_come_near_the_combined_bound(size_bytes: int) -> None:
    result = made(load_topology("a100x32"), "allgather", size_bytes, want_program=False)
    assert 1 - 1e-9 <= result.schedule_time_s / result.bound.seconds <= 1.10


def test_small_sums_on_one_server_are_exchanged_in_one_step() -> None:
    result = made(load_topology("a100x8"), "allreduce", 1 << 12)
    assert result.schedule_time_s <= 1.01 * result.bound.seconds
    assert result.program_time_s is not None
    assert result.program_time_s <= 1.25 * result.bound.seconds


def test_joint_trees_beat_one_phase_after_the_other_on_a_broken_mesh() -> None:
    links = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]
    result = made(gpu_mesh(5, [(a, b, 20.0) for a, b in links]), "allreduce", LARGE, want_program=False)
    assert result.tree_bound_s is not None
    assert LARGE / result.tree_bound_s / 1e9 == pytest.approx(20.0, rel=2e-3)
    assert result.schedule_time_s <= 1.10 * result.tree_bound_s


@pytest.mark.parametrize("op", ENGINE_OPS)
def test_one_gpu_has_nothing_to_send(op: str) -> None:
    result = made(ring(1), op, 1 << 10)
    assert len(result.schedule.transfers) == 0
    assert result.schedule_time_s == result.bound.seconds == 0.0
    assert result.program is not None
    program = read_xml(write_xml(result.program), source="one.xml")
    assert verify_program(program, size_bytes=1 << 10) == ()
    for in_place in (True, False):
        assert replay_findings(program, in_place=in_place) == ()


@pytest.mark.parametrize("topology", [torus(2, 3), torus(3, 4)], ids=["6", "12"])
def test_allreduce_over_any_number_of_ranks_has_chunks_that_runtimes_select(topology: Topology) -> None:
    size = 192 << 10
    result = made(topology, "allreduce", size)
    chunks = result.demand.chunks
    assert chunks & (chunks - 1) == 0
    assert size // 4 % chunks == 0


@pytest.mark.parametrize(("size_bytes", "datatype"), [(0, "float32"), (-4, "float32"), (6, "float32"), (3, "float16")])
def test_sizes_that_are_no_multiple_of_the_element_are_refused(size_bytes: int, datatype: str) -> None:
    with pytest.raises(InputError, match=f"size {size_bytes} bytes is no positive multiple of"):
        made(ring(3), "allgather", size_bytes, datatype=datatype)


def test_a_disconnected_topology_is_refused_by_its_parts() -> None:
    topology = Topology("halves", gpus(4), cables([(0, 1), (2, 3)]))
    with pytest.raises(InputError, match=r"'halves' falls into 2 parts .*gpu0\.\.gpu1 \| gpu2\.\.gpu3"):
        made(topology, "allgather", 1 << 10)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="unknown protocol 'TCP'; choose one of Simple, LL, LL128"):
        made(ring(3), "allgather", 1 << 10, protocol="TCP")


@pytest.mark.parametrize("protocol", ["Simple", "LL", "LL128"])
def test_programs_speak_the_protocol_that_was_asked_for(protocol: str) -> None:
    result = made(one_switch(3), "allgather", 3 << 10, protocol=protocol)
    assert result.program is not None
    assert result.program.protocol == protocol


def test_a_time_limit_is_told_and_the_result_is_still_right() -> None:
    result = made(two_servers(2), "allgather", 1 << 16, time_limit_s=0.0)
    assert result.hit_time_limit
    assert result.program is not None
    assert not made(ring(2), "allgather", 1 << 10, time_limit_s=600.0).hit_time_limit


def test_without_a_program_there_is_a_schedule_alone() -> None:
    result = made(ring(4), "allgather", 1 << 16, want_program=False)
    assert (result.program, result.program_time_s, result.baselines) == (None, None, {})
    assert result.bottleneck is not None


def test_large_clusters_get_a_schedule_alone_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LARGEST_DEFAULT_PROGRAM", 3)
    assert made(ring(4), "allgather", 1 << 10).program is None
    assert made(ring(3), "allgather", 3 << 10).program is not None
    assert made(ring(4), "allgather", 1 << 10, want_program=True).program is not None


def test_several_jobs_make_the_same_program() -> None:
    from joblib import parallel_config

    one = made(two_servers(2), "allreduce", 1 << 16)
    with parallel_config(backend="threading"):
        two = made(two_servers(2), "allreduce", 1 << 16, jobs=2)
    assert one.program is not None
    assert two.program is not None
    assert write_xml(one.program) == write_xml(two.program)


def test_the_report_explains_how_it_was_found() -> None:
    result = made(mesh(4), "allgather", 1 << 16)
    explained = result.explain
    assert explained["symmetry_order"] == result.group.order == 4
    assert (explained["root_orbits"], explained["islands"]) == (1, 1)
    assert explained["dual_bound_s_per_byte"] <= explained["lp_value_s_per_byte"]  # type: ignore[operator]
    assert explained["winner"] in {one["plan"] for one in explained["candidates"]}  # type: ignore[attr-defined]
    assert result.demand.chunks == 4 * explained["winner_pieces"]  # type: ignore[operator]


def test_progress_is_told_step_by_step() -> None:
    told: list[str] = []
    synthesize(ring(3), OPS["allgather"], Options(3 << 10), progress=told.append)
    assert told[:2] == ["finding symmetry", "bounding"]
    assert told[-2:] == ["comparing with rings and trees", "verifying"]


@pytest.mark.parametrize(("module", "checker"), [(pipeline, "verify_schedule"), (finish, "verify_program")])
def test_a_result_that_is_wrong_is_never_handed_out(monkeypatch: pytest.MonkeyPatch, module: Any, checker: str) -> None:
    wrong = Finding("error", "holds", "transfer 3", "made up")
    monkeypatch.setattr(module, checker, lambda *_, **__: (wrong,))
    with pytest.raises(InternalError, match=r"made here is wrong \(1 findings\): holds at transfer 3: made up"):
        made(ring(3), "allgather", 3 << 10)


def test_the_busiest_link_is_named() -> None:
    nodes = gpus(3)
    topology = Topology("slow end", nodes, cables([(0, 1)], 4 * RATE) + cables([(1, 2)], RATE))
    result = made(topology, "allgather", 3 << 16)
    assert result.bottleneck in {2, 3}
    assert topology.link_name(result.bottleneck) in {"gpu1->gpu2", "gpu2->gpu1"}


def test_a_second_way_that_no_default_route_takes_counts_for_the_bound_alone() -> None:
    """Eight GPUs of one server: NVLinks of 200 GB/s, and NICs of 50 GB/s that runtimes use between servers."""
    topology = subset(load_topology("h800x64"), range(8))
    result = made(topology, "allgather", LARGE, want_program=False)
    assert result.tree_bound_s == pytest.approx(LARGE * 7 / 8 / 250e9, rel=1e-3)
    assert result.route_bound_s == pytest.approx(LARGE * 7 / 8 / 200e9, rel=1e-3)
    assert result.schedule_time_s <= 1.01 * result.route_bound_s
