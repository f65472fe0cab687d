"""``syccl lint``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import write_xml
from tests.cli.run import run
from tests.program.programs import ring_allreduce

Capsys = pytest.CaptureFixture[str]
UNLIKE = {
    "gpus": ["a", "b", "c"],
    "links": [
        ["a", "b", 10, 1],
        ["b", "a", 10, 1],
        ["b", "c", 40, 1],
        ["c", "b", 40, 1],
        ["c", "a", 25, 1],
        ["a", "c", 25, 1],
    ],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(write_xml(ring_allreduce(3)))


def test_verdicts_findings_and_sizes_are_told(capsys: Capsys) -> None:
    result = run(capsys, "lint", "a.xml")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert any(line.split()[:3] == ["msccl-executor-nccl", "yes", "0"] for line in lines)
    assert any(line.split()[:2] == ["rccl", "no"] for line in lines)
    assert any(line.startswith("error[type]: rank 0 tb 0") and line.endswith("(rccl)") for line in lines)
    assert any("float16/bfloat16 (2B)" in line and "multiples of 6B" in line and "none" in line for line in lines)


def test_a_runtime_that_cannot_use_the_file_is_1(capsys: Capsys) -> None:
    assert run(capsys, "lint", "a.xml", "--target", "rccl").code == 1
    assert run(capsys, "lint", "a.xml", "--target", "executor").code == 0


@pytest.mark.parametrize("chunks", ["0", "-3"])
def test_a_file_without_a_number_of_chunks_is_selected_for_no_size(capsys: Capsys, chunks: str) -> None:
    Path("b.xml").write_text(Path("a.xml").read_text().replace('nchunksperloop="3"', f'nchunksperloop="{chunks}"'))
    result = run(capsys, "lint", "b.xml")
    assert (result.code, result.err) == (1, "")
    assert "multiples of" not in result.out
    assert json.loads(run(capsys, "lint", "b.xml", "--json").out)["selected"] == []


def test_json_has_stable_names(capsys: Capsys) -> None:
    record = json.loads(run(capsys, "lint", "a.xml", "--json").out)
    assert list(record) == ["file", "collective", "ranks", "targets", "findings", "selected"]
    assert record["targets"]["rccl"] == {"usable": False}
    assert {"severity", "rule", "where", "message", "remedy", "targets"} == set(record["findings"][0])
    assert {(one["element_bytes"], one["multiple_of_bytes"]) for one in record["selected"]} == {
        (1, 3), (2, 6), (4, 12), (8, 24)
    }  # fmt: skip


def test_an_unknown_runtime_and_a_missing_file_are_input_errors(capsys: Capsys) -> None:
    unknown = run(capsys, "lint", "a.xml", "--target", "nccl")
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.err.startswith("error: unknown target 'nccl'; choose one of msccl-executor-nccl")
    assert run(capsys, "lint", "none.xml").code == 3


def test_what_is_made_may_have_as_many_steps_as_its_runtime_takes(capsys: Capsys) -> None:
    Path("unlike.json").write_text(json.dumps(UNLIKE))
    asked = ("--topo", "unlike.json", "--op", "allreduce", "--target", "msccl", "--no-cache")
    for made in (
        ("synth", *asked, "--size", "192M", "-o", "x.xml"),
        ("tune", *asked, "-b", "192M", "-e", "192M", "-o", "t"),
    ):
        result = run(capsys, *made)
        assert (result.code, result.err) == (0, "")
    for file in ("x.xml", *map(str, Path("t/msccl-algorithms").glob("*.xml"))):
        assert max(block.count("<step") for block in Path(file).read_text().split("<tb ")) > 64
        assert run(capsys, "lint", file, "--target", "msccl").code == 0
        assert run(capsys, "lint", file, "--target", "rccl").code == 1
