"""Execution plans of MSCCL++ on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.schedule.json_file import write_json
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.schedule.tiny import ring_allreduce
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.yaml").write_text(write_yaml(ring(3)))
    Path("a.json").write_text(write_json(ring_allreduce(3), made_by={}))


def test_a_schedule_becomes_a_plan_that_is_proved(capsys: Capsys) -> None:
    made = run(capsys, "lower", "a.json", "--target", "mscclpp", "--size", "3K", "--json")
    assert (made.code, made.err) == (0, "")
    record = json.loads(made.out)
    assert (record["output"], record["program_us"]) == ("a.mscclpp.json", None)
    assert run(capsys, "verify", "a.mscclpp.json").out.endswith("in place: correct\n")
    assert "usable" in run(capsys, "lint", "a.mscclpp.json").out


def test_synth_writes_a_plan(capsys: Capsys) -> None:
    args = ("--topo", "ring.yaml", "--op", "allgather", "--size", "3K", "--no-cache")
    made = run(capsys, "synth", *args, "--target", "mscclpp", "-o", "b.json")
    assert (made.code, made.err) == (0, "")
    assert "not simulated" in made.out
    assert 'ExecutionPlan("b.json", rank)' in made.out
    assert run(capsys, "verify", "b.json", "--json").code == 0


def test_a_plan_without_a_signal_is_wrong(capsys: Capsys) -> None:
    run(capsys, "lower", "a.json", "--target", "mscclpp", "--size", "3K")
    document = json.loads(Path("a.mscclpp.json").read_text())
    ops = document["gpus"][0]["threadblocks"][0]["ops"]
    ops.remove(next(op for op in ops if op["name"] == "signal"))
    Path("bad.json").write_text(json.dumps(document))
    result = run(capsys, "verify", "bad.json")
    assert result.code == 1
    assert "error[deadlock]" in result.out
    document["gpus"][0]["threadblocks"][0]["ops"] = ops * 10
    Path("bad.json").write_text(json.dumps(document))
    result = run(capsys, "lint", "bad.json", "--json")
    assert (result.code, json.loads(result.out)["usable"]) == (1, False)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("lower", "a.json", "--target", "mscclpp", "--size", "3K", "--protocol", "LL"), "packets are not written"),
        (("lower", "a.json", "--target", "mscclpp", "--size", "4K"), "no multiple of 48 bytes"),
        (("synth", "--topo", "ring.yaml", "--op", "reduce", "--target", "mscclpp", "-o", "c.json"), "runs no reduce"),
        (("synth", "--topo", "ring.yaml", "--op", "allgather", "--target", "mscclpp"), "name it with -o FILE.json"),
    ],
)
def test_what_cannot_be_a_plan_is_told(capsys: Capsys, args: tuple[str, ...], message: str) -> None:
    result = run(capsys, *args)
    assert result.code == 3
    assert message in result.err


def test_a_plan_is_not_simulated(capsys: Capsys) -> None:
    run(capsys, "lower", "a.json", "--target", "mscclpp", "--size", "3K")
    result = run(capsys, "simulate", "a.mscclpp.json", "--topo", "ring.yaml")
    assert result.code == 3
    assert "not simulated" in result.err
