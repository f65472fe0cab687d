"""``syccl simulate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import write_xml
from syccl.schedule.json_file import write_json
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.report.made import allgather_program, allgather_schedule
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring2.yaml").write_text(write_yaml(ring(2)))
    Path("ring3.yaml").write_text(write_yaml(ring(3)))
    Path("a.xml").write_text(write_xml(allgather_program()))
    Path("a.json").write_text(write_json(allgather_schedule(ring(2)), made_by={"seed": 0}))


def test_a_schedule_brings_its_topology(capsys: Capsys) -> None:
    values = json.loads(run(capsys, "simulate", "a.json", "--size", "1M", "--json").out)
    assert values["time_us"] == pytest.approx(2**19 / 25e3 + 0.7)
    assert (values["topology"], values["op"], values["bottleneck"]) == ("ring2", "allgather", "gpu0->gpu1")


def test_a_program_is_slower_than_its_schedule(capsys: Capsys) -> None:
    args = ("--size", "1M", "--json")
    program = json.loads(run(capsys, "simulate", "a.xml", "--topo", "ring2.yaml", *args).out)
    schedule = json.loads(run(capsys, "simulate", "a.json", "--topo", "ring2.yaml", *args).out)
    assert program["time_us"] >= schedule["time_us"]


def test_the_table_is_for_people(capsys: Capsys) -> None:
    result = run(capsys, "simulate", "a.json")
    assert result.code == 0
    assert result.out.startswith("file            a.json: schedule, allgather over 2 ranks of ring2, 2 chunks\n")


@pytest.mark.parametrize(("old", "new"), [('cnt="1"', 'cnt="999999999"'), ('loop="2"', 'loop="999999999"')])
def test_a_broken_program_is_not_run(capsys: Capsys, old: str, new: str) -> None:
    Path("broken.xml").write_text(Path("a.xml").read_text().replace(old, new, 1))
    result = run(capsys, "simulate", "broken.xml", "--topo", "ring2.yaml")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("error[")
    assert "WRONG" in result.out.splitlines()[-1]
    values = json.loads(run(capsys, "simulate", "broken.xml", "--topo", "ring2.yaml", "--json").out)
    assert values["correct"] is False


def test_a_size_that_runtimes_do_not_take_is_noted(capsys: Capsys) -> None:
    args = ("simulate", "a.xml", "--topo", "ring2.yaml", "--size")
    assert run(capsys, *args, "1M").err == ""
    result = run(capsys, *args, "1001")
    assert result.code == 0
    assert result.err.startswith("note: with float32 a runtime would not use this file: NOT selected for 1001 B")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("a.xml",), "give one with --topo"),
        (("a.xml", "--topo", "ring3.yaml"), "2 ranks"),
        (("a.json", "--topo", "ring3.yaml"), "leave --topo out"),
        (("a.json", "--size", "0"), "must be a positive"),
        (("none.xml",), "cannot be read"),
    ],
)
def test_wrong_inputs_are_3(capsys: Capsys, args: tuple[str, ...], message: str) -> None:
    result = run(capsys, "simulate", *args)
    assert result.code == 3
    assert message in result.err
