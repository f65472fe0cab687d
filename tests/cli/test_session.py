"""A session as a person has it, with the real pipeline: make, verify, simulate, make again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.topology import Topology
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.strategies import gpus

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_synth_writes_is_correct_and_takes_the_time_that_it_says(capsys: Capsys) -> None:
    ask = ("synth", "--topo", "dgx1-v100", "--op", "allgather", "--size", "16M", "-o", "a.xml", "-o", "a.json")
    made = json.loads(run(capsys, *ask, "--json").out)
    assert made["bound_us"] <= made["schedule_time_us"] <= made["program_time_us"]
    assert made["bound_us"] == max(made[f"{term}_bound_us"] for term in ("bandwidth", "latency", "combined"))
    for name, time in (("a.xml", "program_time_us"), ("a.json", "schedule_time_us")):
        checked = run(capsys, "verify", name)
        assert (checked.code, checked.err) == (0, "")
        simulated = run(capsys, "simulate", name, "--topo", "dgx1-v100", "--size", "16M", "--json")
        assert json.loads(simulated.out)["time_us"] == pytest.approx(made[time])
    assert run(capsys, *ask).code == 3


def test_one_gpu_has_nothing_to_send(capsys: Capsys, folder: Path) -> None:
    Path("one.yaml").write_text(write_yaml(Topology("one", gpus(1), ())))
    for op in ("allgather", "reducescatter", "allreduce"):
        made = run(capsys, "synth", "--topo", "one.yaml", "--op", op, "--json")
        assert (made.code, made.err) == (0, "")
        values = json.loads(made.out)
        assert (values["bound_us"], values["bottleneck"]) == (0, None)
        assert run(capsys, "verify", values["output"]).code == 0
