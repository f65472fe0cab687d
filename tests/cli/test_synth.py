"""``syccl synth`` around a pipeline made by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from syccl import __version__
from syccl.collective import Demand
from syccl.errors import GaveUpError
from syccl.topology import Kind, Link, Node, Topology
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import Result, run
from tests.report.made import Options, Synthesis, allgather_schedule, synthesis
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


class Pipeline:
    """Stands for the pipeline: remembers what it was asked and answers with a synthesis made by hand."""

    def __init__(self) -> None:
        self.calls: list[tuple[Topology, str, Options, int]] = []
        self.changes: dict[str, Any] = {}
        self.error: Exception | None = None

    def synthesize(
        self, topology: Topology, op: Any, options: Options, *, root: int = 0, progress: Callable[[str], None], **_: Any
    ) -> Any:
        self.calls.append((topology, op.name, options, root))
        progress("bound")
        if self.error:
            raise self.error
        demand = Demand(op, topology.ranks, topology.ranks, root)
        schedule = allgather_schedule(topology) if topology.ranks == 2 else None
        return synthesis(**{"topology": topology, "demand": demand, "schedule": schedule, **self.changes})


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pipeline:
    made = Pipeline()
    module = ModuleType("syccl.pipeline")
    module.__dict__.update(
        Options=Options, Synthesis=Synthesis, synthesize=made.synthesize, LARGEST_DEFAULT_PROGRAM=128
    )
    monkeypatch.setitem(sys.modules, "syccl.pipeline", module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring2.yaml").write_text(write_yaml(ring(2)))
    return made


def synth(capsys: Capsys, *args: str, op: str = "allgather") -> Result:
    return run(capsys, "synth", "--topo", "ring2.yaml", "--op", op, *args)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "ring2.yaml")


def test_the_default_output_is_a_program_named_after_the_question(
    capsys: Capsys, pipeline: Pipeline, tmp_path: Path
) -> None:
    result = synth(capsys)
    assert (result.code, result.err) == (0, "")
    assert files(tmp_path) == ["allgather.ring2.64MiB.xml"]
    assert (tmp_path / "allgather.ring2.64MiB.xml").read_text().startswith('<algo name="allgather" proto="Simple"')


def test_defaults_are_those_of_the_manual(capsys: Capsys, pipeline: Pipeline) -> None:
    synth(capsys)
    topology, op, options, root = pipeline.calls[0]
    assert (topology.ranks, op, root) == (2, "allgather", 0)
    assert options == Options(size_bytes=64 * 2**20, want_program=True)


def test_options_reach_the_pipeline(capsys: Capsys, pipeline: Pipeline) -> None:
    args = ("--size", "1G", "--datatype", "half", "--protocol", "ll", "--jobs", "2", "--time-limit", "1.5")
    synth(capsys, *args, "--root", "1", "-o", "x.json", op="broadcast")
    _, op, options, root = pipeline.calls[0]
    assert (op, root) == ("broadcast", 1)
    assert options == Options(2**30, "float16", "LL", jobs=2, time_limit_s=1.5, want_program=False)


def test_the_table_goes_to_standard_output(capsys: Capsys, pipeline: Pipeline) -> None:
    lines = synth(capsys).out.splitlines()
    assert lines[0].split() == ["topology", "ring2"]
    assert next(line for line in lines if line.startswith("wrote")).endswith("allgather.ring2.64MiB.xml")
    assert any("MSCCL_ALGO_DIR" in line for line in lines)


def test_the_table_holds_no_escape_codes_in_a_pipe(capsys: Capsys, pipeline: Pipeline) -> None:
    assert "\x1b" not in synth(capsys).out


def test_json_is_all_that_is_printed(capsys: Capsys, pipeline: Pipeline) -> None:
    values = json.loads(synth(capsys, "--json").out)
    assert (values["op"], values["ranks"], values["output"]) == ("allgather", 2, "allgather.ring2.64MiB.xml")


def test_quiet_prints_nothing(capsys: Capsys, pipeline: Pipeline, tmp_path: Path) -> None:
    assert synth(capsys, "--quiet") == (0, "", "")
    assert files(tmp_path) == ["allgather.ring2.64MiB.xml"]


def test_explain_prints_what_was_tried(capsys: Capsys, pipeline: Pipeline) -> None:
    pipeline.changes["explain"] = {"why": "the only plan", "winner": "star", "rounds": 7, "candidates": [{"pieces": 4}]}
    out = synth(capsys, "--explain").out
    assert "\nwhy: star: the only plan\n" in out
    assert "\ncandidates:\npieces  outcome\n" in out
    assert "\nsearch:\nrounds  7\n" in out
    assert "rounds" not in synth(capsys, "--force").out


def test_program_and_schedule_are_written_together(capsys: Capsys, pipeline: Pipeline, tmp_path: Path) -> None:
    assert synth(capsys, "-o", "a.json", "-o", "a.xml").code == 0
    assert files(tmp_path) == ["a.json", "a.xml"]
    made_by = json.loads((tmp_path / "a.json").read_text())["made_by"]
    assert made_by == {
        "size_bytes": 64 * 2**20, "datatype": "float32", "protocol": "Simple", "seed": 0, "version": __version__,
    }  # fmt: skip


def test_an_existing_output_is_kept_and_nothing_is_synthesized(
    capsys: Capsys, pipeline: Pipeline, tmp_path: Path
) -> None:
    (tmp_path / "a.xml").write_text("mine")
    result = synth(capsys, "-o", "a.xml")
    assert result.code == 3
    assert result.err == "error: output 'a.xml' exists; --force replaces it, -o chooses another name\n"
    assert (tmp_path / "a.xml").read_text() == "mine"
    assert pipeline.calls == []


def test_force_replaces_an_existing_output(capsys: Capsys, pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("mine")
    assert synth(capsys, "-o", "a.xml", "--force").code == 0
    assert (tmp_path / "a.xml").read_text() != "mine"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-o", "none/a.xml"), "cannot be written"),
        (("-o", "a.txt"), "must end in .xml"),
        (("--size", "0"), "must be a positive whole number"),
        (("--size", "1023"), "no multiple of the 4 bytes of float32"),
        (("--size", "12parsecs"), "unknown unit"),
        (("--datatype", "float31"), "unknown datatype"),
        (("--protocol", "TCP"), "unknown protocol"),
        (("--root", "2"), "has no root"),
    ],
)
def test_wrong_values_are_3_before_any_work(
    capsys: Capsys, pipeline: Pipeline, tmp_path: Path, args: tuple[str, str], message: str
) -> None:
    result = synth(capsys, *args)
    assert (result.code, result.out) == (3, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert (pipeline.calls, files(tmp_path)) == ([], [])


def test_an_unknown_op_is_3(capsys: Capsys, pipeline: Pipeline) -> None:
    result = synth(capsys, op="allfather")
    assert result.code == 3
    assert "unknown collective 'allfather'" in result.err


def test_a_root_out_of_range_is_3(capsys: Capsys, pipeline: Pipeline) -> None:
    result = synth(capsys, "--root", "2", op="broadcast")
    assert (result.code, result.err) == (3, "error: root 2 is out of range; ring2 has ranks 0..1\n")


def test_an_unknown_topology_is_3_with_near_names(capsys: Capsys, pipeline: Pipeline) -> None:
    result = run(capsys, "synth", "--topo", "a100x31", "--op", "allgather")
    assert result.code == 3
    assert "'a100x32'" in result.err


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_is_a_positive_number(capsys: Capsys, pipeline: Pipeline, limit: str) -> None:
    assert synth(capsys, "--time-limit", limit).code == 2


def test_a_time_limit_may_state_its_unit(capsys: Capsys, pipeline: Pipeline) -> None:
    for text, seconds in (("1.5", 1.5), ("1.5s", 1.5), ("300ms", 0.3), ("2min", 120.0)):
        assert synth(capsys, "--time-limit", text, "--force").code == 0
        assert pipeline.calls[-1][2].time_limit_s == pytest.approx(seconds)


@pytest.mark.parametrize("limit", ["2days", "2 hours", "soon", "-1s", "9999999h", ""])
def test_a_time_limit_that_is_no_time_is_told_what_is(capsys: Capsys, pipeline: Pipeline, limit: str) -> None:
    refused = synth(capsys, "--time-limit", limit)
    assert refused.code == 2
    told = f"{limit!r} is no time from 0 s to 1e+08 s; write for example 1.5s, 300ms or 2h"
    assert told in " ".join(refused.err.split())


@pytest.mark.parametrize("limit", ["0", "0s", "-1"])
def test_a_time_limit_out_of_range_is_told_the_range(capsys: Capsys, pipeline: Pipeline, limit: str) -> None:
    refused = synth(capsys, "--time-limit", limit)
    assert refused.code == 2
    assert "is not in the range x>0" in refused.err


def test_an_error_in_the_pipeline_leaves_no_file(capsys: Capsys, pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.error = GaveUpError("no schedule within 1 s")
    assert synth(capsys) == (5, "", "error: no schedule within 1 s\n")
    assert files(tmp_path) == []


def test_a_missing_program_is_a_bug_and_leaves_no_file(capsys: Capsys, pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.changes["program"] = None
    assert synth(capsys, "-o", "a.json", "-o", "a.xml").code == 70
    assert files(tmp_path) == []


def test_a_run_that_hit_the_limit_warns(capsys: Capsys, pipeline: Pipeline) -> None:
    pipeline.changes["hit_time_limit"] = True
    assert synth(capsys, "--quiet").err.startswith("warning: stopped at the time limit")


def test_above_128_gpus_the_schedule_is_the_default(
    capsys: Capsys, pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ring129.yaml").write_text(write_yaml(ring(129)))
    monkeypatch.setattr("syccl.schedule.json_file.write_json", lambda schedule, made_by: "{}\n")
    pipeline.changes.update(program=None, program_time_s=None, bottleneck=None)
    result = run(capsys, "synth", "--topo", "ring129.yaml", "--op", "allgather", "--json")
    assert (tmp_path / "allgather.ring129.64MiB.json").read_text() == "{}\n"
    assert result.err == "note: 129 GPUs: the schedule is written, not a program; ask for one with -o FILE.xml\n"
    values = json.loads(result.out)
    assert (values["program_time_us"], values["program_ratio"]) == (None, None)


def test_equally_near_nics_are_one_warning(capsys: Capsys, pipeline: Pipeline) -> None:
    nics = [Node("nic0", Kind.NIC), Node("nic1", Kind.NIC)]
    two = ring(2)
    links = (*two.links, *(Link(0, nic, 10**9, 10**6) for nic in (2, 3)))
    pipeline.changes = {"topology": Topology("two", (*two.nodes, *nics), links)}
    result = synth(capsys)
    assert result.code == 0
    assert result.err.startswith("warning: gpu0 has several equally near NICs;")
    assert result.err.count("\n") == 1
