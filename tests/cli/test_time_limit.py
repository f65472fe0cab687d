"""``--time-limit``: the best verified so far, marked as such."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from syccl import contest
from syccl.clock import Clock
from syccl.program import targets
from syccl.program.verify import verify_program
from syccl.report.synthesis import Record
from syccl.schedule.verify import verify_schedule
from syccl.topology import Topology
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import Result, run
from tests.strategies import mesh, ring, two_servers

Capsys = pytest.CaptureFixture[str]
OPS = ("allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "reduce", "gather", "scatter")


def synth(capsys: Capsys, folder: Path, topology: Topology, *args: str) -> Result:
    (folder / "own.yaml").write_text(write_yaml(topology))
    files = ("-o", str(folder / "a.xml"), "-o", str(folder / "a.json"), "--force", "--no-cache")
    return run(capsys, "synth", "--topo", str(folder / "own.yaml"), *files, *args)


def record(result: Result) -> Record:
    values: Record = json.loads(result.out)
    return values


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("size", ["4K", "48M"])
def test_without_time_there_is_a_verified_answer_all_the_same(
    capsys: Capsys, tmp_path: Path, op: str, size: str
) -> None:
    result = synth(capsys, tmp_path, two_servers(3), "--op", op, "--size", size, "--time-limit", "0.001", "--json")
    assert result.code == 0
    assert result.err == "warning: stopped at the time limit; the result depends on the speed of this machine\n"
    values = record(result)
    assert values["hit_time_limit"] is True
    account = values["explain"]
    assert isinstance(account, dict)
    assert account["why"].endswith("; others were left untried at the time limit")
    for file in ("a.xml", "a.json"):
        assert run(capsys, "verify", str(tmp_path / file)).code == 0


def test_a_limit_that_is_not_reached_changes_nothing(capsys: Capsys, tmp_path: Path) -> None:
    made = []
    for limit in ((), ("--time-limit", "100000")):
        result = synth(capsys, tmp_path, ring(5), "--op", "allreduce", "--size", "60K", *limit, "--json")
        assert (result.code, result.err, record(result)["hit_time_limit"]) == (0, "", False)
        made.append((tmp_path / "a.xml").read_bytes() + (tmp_path / "a.json").read_bytes())
    assert made[0] == made[1]


def test_the_table_says_that_time_ran_out(capsys: Capsys, tmp_path: Path) -> None:
    args = ("--op", "allgather", "--size", "1M", "--time-limit", "0.001")
    lines = synth(capsys, tmp_path, mesh(4), *args).out.splitlines()
    told = next(line for line in lines if line.startswith("solve time"))
    assert told.endswith("(stopped at the time limit; a longer run may find better)")


def test_a_limit_that_ends_without_an_answer_has_an_exit_code_of_its_own(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "TARGETS", (replace(targets.EXECUTOR, blocks=1),))
    result = synth(capsys, tmp_path, mesh(4), "--op", "allgather", "--size", "1M", "--time-limit", "0.001")
    assert result.code == 5
    assert result.err.startswith("error: no program fits the runtime: ")
    assert not (tmp_path / "a.xml").exists()


def test_where_the_first_plan_fits_no_runtime_the_search_goes_on(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("--op", "alltoall", "--size", "1M", "--time-limit", "0.001", "--json")
    topology = two_servers(3)
    first = record(synth(capsys, tmp_path, topology, *args))["explain"]
    assert isinstance(first, dict)
    refused = first["winner"]

    monkeypatch.setattr(contest, "_is_short_enough", lambda _, plan: plan.name != refused)
    second = record(synth(capsys, tmp_path, topology, *args))
    assert second["hit_time_limit"] is True
    assert second["explain"]["winner"] != refused  # type: ignore[index]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_limit_that_is_no_number_of_seconds_is_refused(capsys: Capsys, tmp_path: Path, text: str) -> None:
    assert synth(capsys, tmp_path, mesh(4), "--op", "allgather", "--time-limit", text).code == 2


@pytest.mark.parametrize("op", ["allgather", "broadcast"])
def test_whenever_time_runs_out_the_answer_is_verified(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is made to run out at the n-th question, for many n."""
    from syccl.collective import op_named
    from syccl.pipeline import Options, synthesize

    ends = 0

    class Counting(Clock):
        def is_over(self) -> bool:
            nonlocal asked
            asked += 1
            self.hit |= asked > ends
            return asked > ends

        def until(self, reserve_s: float) -> Clock:
            return self

    for ends in (0, 2, 5, 12):
        asked = 0
        clock = Counting(1e6)
        made = synthesize(two_servers(3), op_named(op), Options(96 << 10), clock=clock)
        assert made.program is not None
        assert verify_schedule(made.schedule) == ()
        assert [f for f in verify_program(made.program, size_bytes=96 << 10) if f.severity == "error"] == []
        assert made.hit_time_limit == (asked > ends)
