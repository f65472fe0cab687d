"""What is written is what is told: the program's time, or the schedule's where only that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.strategies import two_servers

Capsys = pytest.CaptureFixture[str]


def told(capsys: Capsys, folder: Path, *outputs: str) -> dict[str, object]:
    (folder / "own.yaml").write_text(write_yaml(two_servers(3)))
    files = [word for name in outputs for word in ("-o", str(folder / name))]
    args = ("--op", "allgather", "--size", "96K", "--json", "--force", "--no-cache")
    result = run(capsys, "synth", "--topo", str(folder / "own.yaml"), *args, *files)
    assert (result.code, result.err) == (0, "")
    values: dict[str, object] = json.loads(result.out)
    return values


def test_a_schedule_alone_is_chosen_and_told_by_its_own_time(capsys: Capsys, tmp_path: Path) -> None:
    alone = told(capsys, tmp_path, "a.json")
    both = told(capsys, tmp_path, "b.json", "b.xml")
    assert (alone["time_is_of"], both["time_is_of"]) == ("schedule", "program")
    assert alone["program_time_us"] is None
    assert alone["time_us"] == alone["schedule_time_us"]
    assert both["time_us"] == both["program_time_us"]
    assert float(str(alone["schedule_time_us"])) <= float(str(both["schedule_time_us"]))
    timed = run(capsys, "simulate", str(tmp_path / "a.json"), "--size", "96K", "--json")
    assert json.loads(timed.out)["time_us"] == pytest.approx(alone["time_us"])


@pytest.mark.parametrize("outputs", [("a.json",), ("a.xml",)])
def test_the_account_tells_who_won_and_why(capsys: Capsys, tmp_path: Path, outputs: tuple[str, ...]) -> None:
    values = told(capsys, tmp_path, *outputs)
    account = values["explain"]
    assert isinstance(account, dict)
    (winner,) = [one for one in account["candidates"] if one["won"]]
    assert winner["plan"] == account["winner"]
    assert winner["went_on"]
    assert account["why"].startswith(("the fastest", "within 1 %", "the only"))
    assert winner["schedule_us"] == pytest.approx(values["schedule_time_us"])
    if outputs == ("a.xml",):
        assert winner["program_us"] == pytest.approx(values["program_time_us"])
