"""``syccl lower`` and ``syccl lift``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.targets import RCCL
from syccl.program.verify import verify_program
from syccl.schedule.json_file import read_json, write_json
from syccl.schedule.verify import verify_schedule
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.program.programs import ring_allreduce
from tests.schedule.tiny import ring_allreduce as ring_schedule
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.yaml").write_text(write_yaml(ring(3)))
    Path("a.json").write_text(write_json(ring_schedule(3), made_by={}))
    Path("a.xml").write_text(write_xml(ring_allreduce(3)))
    Path("bad.xml").write_text(write_xml(ring_allreduce(3)).replace('type="rrs"', 'type="rcs"', 1))


def test_a_schedule_becomes_a_program_for_the_runtime_asked_for(capsys: Capsys) -> None:
    result = run(capsys, "lower", "a.json", "--target", "rccl", "--size", "3KiB")
    assert (result.code, result.err) == (0, "")
    text = Path("a.rccl.xml").read_text()
    program = read_xml(text, source="a.rccl.xml")
    assert verify_program(program, size_bytes=3 << 10) == ()
    assert {step.type for rank in program.ranks for block in rank.blocks for step in block.steps} <= RCCL.step_types
    assert "RCCL_MSCCL_ENABLE=1" in result.out


def test_a_program_is_lifted_and_lowered_for_another_runtime(capsys: Capsys) -> None:
    result = run(capsys, "lower", "a.xml", "--topo", "ring.yaml", "--target", "rccl", "--size", "3K", "--json")
    assert result.code == 0
    record = json.loads(result.out)
    assert record["output"] == "a.rccl.xml"
    assert record["program_us"] >= record["schedule_us"] > 0
    assert run(capsys, "lint", "a.rccl.xml", "--target", "rccl").code == 0


def test_a_program_is_lifted(capsys: Capsys) -> None:
    result = run(capsys, "lift", "a.xml", "--topo", "ring.yaml", "-o", "b.json")
    assert (result.code, result.err) == (0, "")
    assert result.out == "a.xml: schedule, allreduce over 3 ranks of ring3, 3 chunks, 12 transfers: wrote b.json\n"
    assert verify_schedule(read_json(Path("b.json").read_text(), source="b.json")) == ()


@pytest.mark.parametrize("verb", ["lift", "lower"])
def test_what_is_wrong_is_neither_lifted_nor_lowered(capsys: Capsys, verb: str) -> None:
    result = run(capsys, verb, "bad.xml", "--topo", "ring.yaml")
    assert result.code == 1
    assert "WRONG" in result.out
    assert not Path("bad.json").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("lower", "a.xml"), "give one with --topo"),
        (("lower", "a.json", "--topo", "ring.yaml"), "a schedule says which topology it is for"),
        (("lift", "a.json", "--topo", "ring.yaml"), "is a schedule already"),
        (("lower", "a.json", "--size", "3K", "-o", "a.xml"), "exists; --force replaces it"),
        (("lower", "a.json", "-o", "b.json"), "must end in .xml"),
        (("lift", "a.xml", "--topo", "a100x8", "-o", "c.json"), "is for 3 ranks, topology 'a100x8' has 8"),
    ],
)
def test_slips_are_told(capsys: Capsys, args: tuple[str, ...], said: str) -> None:
    result = run(capsys, *args)
    assert (result.code, result.out) == (3, "")
    assert said in result.err


def test_a_schedule_that_fits_no_program_names_the_limit(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from syccl.program import targets

    monkeypatch.setattr(targets, "TARGETS", (replace(targets.EXECUTOR, blocks=0),))
    result = run(capsys, "lower", "a.json", "--size", "3K")
    assert result.code == 5
    assert "fits msccl-executor-nccl: 1 thread blocks, msccl-executor-nccl allows 0" in result.err
