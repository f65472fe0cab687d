"""``syccl verify``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import write_xml
from syccl.schedule.json_file import write_json
from tests.cli.run import run
from tests.report.made import allgather_program, allgather_schedule
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = write_xml(allgather_program())
    Path("a.xml").write_text(text)
    Path("tab.xml").write_text(text.replace("  <gpu", "\t<gpu"))
    Path("wrong.xml").write_text(text.replace('type="cpy"', 'type="nop"', 1))
    Path("a.json").write_text(write_json(allgather_schedule(ring(2)), made_by={"seed": 0}))


@pytest.mark.parametrize("name", ["a.xml", "a.json"])
def test_a_correct_file_is_0(capsys: Capsys, name: str) -> None:
    result = run(capsys, "verify", name)
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("chunks: correct\n")


@pytest.mark.parametrize("name", ["tab.xml", "wrong.xml"])
def test_a_wrong_file_is_1_and_its_faults_are_listed(capsys: Capsys, name: str) -> None:
    result = run(capsys, "verify", name)
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("error[")
    assert "WRONG" in result.out.splitlines()[-1]


def test_findings_are_values_for_scripts(capsys: Capsys) -> None:
    result = run(capsys, "verify", "wrong.xml", "--json")
    values = json.loads(result.out)
    assert (result.code, values["correct"]) == (1, False)
    assert set(values["findings"][0]) == {"severity", "rule", "where", "message", "remedy"}


def test_a_custom_program_has_an_unchecked_result(capsys: Capsys) -> None:
    Path("custom.xml").write_text(Path("a.xml").read_text().replace('coll="allgather"', 'coll="custom"'))
    result = run(capsys, "verify", "custom.xml")
    assert result.code == 0
    assert "the result was not checked" in result.out
    assert "correct" not in result.out.splitlines()[-1]


def test_a_file_that_cannot_be_read_is_3(capsys: Capsys) -> None:
    assert run(capsys, "verify", "none.xml").code == 3
