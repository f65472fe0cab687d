"""Every part knows its rows, and its tables show what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from syccl.traffic.policies import POLICIES
from tests.quality.measured.diagnosis import KINDS
from tests.quality.part import Part
from tests.quality.parts import PARTS, bench, published, unsymmetric
from tests.quality.rows import Result, Row
from tests.quality.run import ROOT, tables_of
from tests.quality.state import State
from tests.quality.tables import markdown
from tests.quality.worker import MEASURES

FAILURE = Result(None, "KeyError at a.py:1: 'x'", 1.0, 1.0, 50.0)


def synthesis(ratio: float, *, program: bool) -> dict[str, object]:
    """What ``synth`` returns for a bound of 100 us."""
    return {
        "ranks": 16,
        "chunks": 16,
        "bound_us": 100.0,
        "bandwidth_us": 99.0,
        "tree_bound_us": 100.0,
        "schedule_us": 100.0 * ratio,
        "program_us": 110.0 * ratio if program else None,
        "schedule": ratio,
        "program": 1.1 * ratio if program else None,
        "depth": 3,
        "winner": "trees",
        "cpu_s": 0.5,
        "order": 8,
    }


def of_traffic(row: Row, ratio: float) -> object:
    """A made-up value for a row about many jobs on one fabric."""
    args = row.args
    if row.measure == "crux_cases":
        names = ("paths", "hash", "priority", "intensity", "bssi", "sebf", "compression", "pooled", "balanced")
        return [dict.fromkeys(names, 1 / ratio)] * args["count"]
    if row.measure == "hour":
        counts = {"jobs": 100, "gpus": 2048, "contending": 70, "iterations": 9999}
        return {**counts, "decide_s": 1.0, "simulate_s": 2.0 * ratio}
    if row.measure == "planned":
        counts = {"gpus": 64, "connections": 64, "hit": 2, "moved": 0}
        names = ("bound_s", "hashed_s", "sprayed_s", "cpu_s", "during_s", "after_s", "after_bound_s")
        return {**counts, **dict.fromkeys(names, 1.0), "planned_s": max(1.0, ratio - 0.02)}
    if row.measure == "diagnosed":
        missed = round(10 * (ratio - 1))
        found = {kind: {kind: [100 - missed, 0], "several faults": [0, missed]} for kind in KINDS[:-1]}
        return {**found, "healthy": {"nothing": [100 - missed, 0], "node": [0, missed]}}
    if row.measure == "halving":
        times = dict.fromkeys(map(str, args["sizes"]), 100.0)
        names = ("plain", "hdrm", "ring", "bound")
        return {"gpus": 64, "times_us": dict.fromkeys(names, times), "flows": {"plain": 4, "hdrm": 1}}
    busy = {**dict.fromkeys(POLICIES, 0.6), "crux": 0.6 * ratio}
    return [{"at_risk": 0.5, "busy": busy, "iterations": {"gpt": 1 / ratio}}] * args["count"]


def answer(row: Row, ratio: float = 1.01) -> Result:
    """A made-up result for a row."""
    args = row.args
    value: object
    if row.measure == "alltoallv":
        value = synthesis(ratio, program=False)
    elif row.measure == "synth":
        value = synthesis(ratio, program=args["program"])
    elif row.measure == "closed_forms":
        value = {str(size): ["direct", 200.0] for size in args["sizes"]}
    elif row.measure == "tuned":
        counts = {"sizes": 3, "served": 3, "schedules": 1, "candidates": 2}
        value = {**counts, "over_best": ratio, "over_bound": ratio, "cpu_s": 1.0}
    elif row.measure in {"crux_cases", "hour", "planned", "diagnosed", "halving", "mixes"}:
        value = of_traffic(row, ratio)
    elif row.measure == "calibrated":
        value = [[ratio - 1, True], [1 - ratio, False]]
    elif row.measure == "mutation":
        value = {"made": 100, "found": 97, "harmless": 3, "missed": 0}
    elif row.measure == "baseline":
        value = {"schedule_us": 150.0, "program_us": 160.0, "cpu_s": 0.1} if args["name"] != "tree" else None
    else:
        value = {
            "bound_us": 100.0,
            "schedule_ratio": ratio,
            "schedule_time_us": 100.0 * ratio,
            "program_ratio": ratio,
            "program_time_us": 100.0 * ratio,
            "baselines": {"ring_us": 150.0, "tree_us": 160.0},
            "algbw_GBps": 60.0,
            "busbw_GBps": 120.0,
            "wall_s": 2.0,
            "cpu_s": 2.0,
            "peak_mib": 100.0,
            "file_mib": 0.2,
            "rows": 10,
            "symmetry_order": 8,
            "verify_s": 0.5,
            "simulate_s": 0.5,
        }
    return Result(value, "", 2.0, 2.0, 100.0)


def filled(part: Part, state: State, *, ratio: float = 1.01, failing: bool = False) -> None:
    for case in part.cases(True):
        for row in part.rows(case):
            if row not in state:
                state.put(row, FAILURE if failing else answer(row, ratio))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_quick_cases_are_few_and_of_the_same_kind(part: Part) -> None:
    quick, whole = part.cases(True), part.cases(False)
    assert len(quick) <= 10
    assert len(whole) >= len(quick)
    rows = {row for case in whole for row in part.rows(case)}
    assert {row.measure for row in rows} <= MEASURES.keys()
    assert all(len(part.rows(case)) == len(set(part.rows(case))) > 0 for case in quick)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_nothing_measured_makes_empty_tables(part: Part, tmp_path: Path) -> None:
    tables, left = tables_of(part, State(tmp_path, lambda _: "v"), quick=True)
    assert left == len(part.cases(True))
    assert [table.rows for table in tables] == [[] for _ in tables]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "random"])
def test_good_results_meet_all_targets_and_fill_every_column(name: str, tmp_path: Path) -> None:
    part, state = PARTS[name], State(tmp_path, lambda _: "v")
    if name in {"bench", "calibration"} and not part.cases(True):
        pytest.skip("needs the data beside the repository")
    filled(part, state)
    tables, left = tables_of(part, state, quick=True)
    assert left == 0
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    assert any(table.rows for table in tables)
    if name not in {"published", "bench", "unsymmetric"}:
        assert [str(target) for table in tables for target in table.missed] == []


@pytest.mark.parametrize("name", ["large", "small", "sweep", "every", "fabrics", "tuning"])
def test_bad_results_are_bold_and_listed(name: str, tmp_path: Path) -> None:
    part, state = PARTS[name], State(tmp_path, lambda _: "v")
    filled(part, state, ratio=3.0)
    tables, _ = tables_of(part, state, quick=True)
    text = markdown(tables)
    assert "**3.000**" in text
    assert "- missed: " in text


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_failed_rows_are_told(part: Part, tmp_path: Path) -> None:
    if not part.cases(True):
        pytest.skip("needs the data beside the repository")
    state = State(tmp_path, lambda _: "v")
    filled(part, state, failing=True)
    tables, left = tables_of(part, state, quick=True)
    assert left == 0
    assert FAILURE.error in "".join(failure for table in tables for failure in table.failures)
    assert "failed: " in markdown(tables)


def test_the_page_has_a_place_for_every_part() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("machine", *PARTS):
        assert re.search(f"<!-- {name} -->\n(.*\n)*?<!-- /{name} -->\n", page), name


def test_published_runs_are_compared_where_they_serve_all_ranks() -> None:
    assert published.best(("dgx2x2", "allgather", 10**9)) == (7750.0, 2700.0)
    assert published.best(("ndv2x4", "allgather", 10**9)) == (65000.0, 222.0)
    assert published.best(("ndv2x4", "alltoall", 10**9)) is None
    assert published.time_target(("ndv2x2", "allgather", 10**9), 1.0) is None
    assert published.time_target(("dgx2x2", "alltoall", 1000), 1.0) == 1.03
    assert published.time_target(("dgx2x2", "allgather", 10**9), 7750.0) == 1.0005
    assert published.time_target(("dgx2x2", "allgather", 10**9), 2 * 7750.0) == 2.001


def test_seconds_depend_on_size_and_symmetry() -> None:
    assert [bench.seconds_target(*case) for case in ((64, 8), (64, 4), (128, 64))] == [1.0, 5.0, None]


def test_optimum_is_the_published_one_or_ours() -> None:
    value = synthesis(1.0, program=False)
    assert bench.optimum("T4_mesh4x4", "alltoall", value) == 50.0
    assert bench.optimum("T4_mesh4x4", "allgather", value) == 106.67
    assert bench.optimum("T4_mesh4x4", "reducescatter", value) == pytest.approx(2**30 / 100e3)
    value["tree_bound_us"] = 125.0
    assert bench.optimum("T4_mesh4x4", "allreduce", value) == pytest.approx(2**30 / 125e3)


def test_diagnoses_are_counted_by_what_was_slow_and_what_was_named(tmp_path: Path) -> None:
    part, state = PARTS["diagnosis"], State(tmp_path, lambda _: "v")
    either, one, no = "tx side or rx side", "several faults", "nothing"
    ring = {"tx side": {either: [17, 2], one: [0, 1]}, "healthy": {no: [20, 0]}}
    for case in part.cases(True):
        value = ring if case[0] == "ring" else {"healthy": {no: [1, 0], "link": [0, 1]}}
        state.put(part.rows(case)[0], Result(value, "", 1.0, 1.0, 50.0))
    tables = tables_of(part, state, quick=True)[0]
    assert [table.title for table in tables] == ["ring", "alltoall"]
    assert tables[0].header == ["slow part", "cases", "right %", f"named: {either}", f"named: {one}", f"named: {no}"]
    assert tables[0].rows == [
        ["tx side", "20", "85.00", "17 + 2 wrong", "0 + 1 wrong", "0"],
        ["healthy", "20", "100.00", "0", "0", "20"],
    ]
    assert tables[1].rows == [["healthy", "2", "50.00", "1", "0 + 1 wrong"]]
    assert [str(target) for table in tables for target in table.missed] == [
        "ring, tx side: share wrong: 0.15, target at most 0.02",
        "alltoall, healthy: share false alarms: 0.5, target at most 0.01",
    ]


def test_clusters_of_little_symmetry_have_targets_of_their_kind() -> None:
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(case[0] for case in PARTS["unsymmetric"].cases(False)):
        kinds.setdefault(unsymmetric.kind_of(name), []).append(name)
    assert {kind: sorted(names) for kind, names in kinds.items()} == {
        "3 servers or more": [
            *("8+8+4", "8+8+4b", "a100-gpu", "a100-half", "a100-nic", "a100-nvlink", "h800-nic", "odd-10", "odd-12")
        ],
        "at most 2 servers": ["7+8", "mixed", "nic25+50", "nvlink-pair", "odd-3", "odd-5", "odd-6", "odd-7"],
        "cube mesh": ["dgx1-v100"],
        "5 of a cube mesh": ["cubemesh-5", "dgx1-5"],
    }
    assert unsymmetric.program_target("odd-3", "reducescatter", 64 * 2**20) == 1.20
    assert unsymmetric.program_target("a100-nic", "allreduce", 2**30) == 1.11


def test_programs_on_clusters_of_little_symmetry_are_compared_with_their_targets(tmp_path: Path) -> None:
    part, state = PARTS["unsymmetric"], State(tmp_path, lambda _: "v")
    filled(part, state, ratio=1.0)
    (table,), _ = tables_of(part, state, quick=True)
    at = table.header.index("program / bound")
    assert table.header[at + 1] == "target"
    assert [row[at : at + 2] for row in table.rows] == [["**1.100**", "1.05"], ["1.100", "1.10"]]
    assert "dgx1-5 allgather 64MiB: program / bound: 1.1, target at most 1.05" in map(str, table.missed)
