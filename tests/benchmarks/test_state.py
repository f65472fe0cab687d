"""Results survive an interruption and count only for the code that they were measured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality import measuring
from tests.quality.measuring import Limits, measure_all
from tests.quality.rows import Result, Row
from tests.quality.state import ROOT, State, code_behind, code_version

ROWS = [Row.of("synth", topology=f"t{i}", size_bytes=i) for i in range(4)]


def result(value: object = 1, error: str = "") -> Result:
    return Result(value, error, 1.5, 1.25, 100.0)


def test_rows_are_equal_when_their_arguments_are() -> None:
    row = Row.of("synth", topology="a", size_bytes=1)
    assert row == Row.of("synth", size_bytes=1, topology="a")
    assert row != Row.of("synth", size_bytes=2, topology="a")
    assert (row.measure, row.args) == ("synth", {"topology": "a", "size_bytes": 1})


def test_results_are_read_again(tmp_path: Path) -> None:
    state = State(tmp_path / "new", lambda _: "v1")
    state.put(ROWS[0], result({"schedule": 1.25}))
    state.put(ROWS[1], result(None, "KeyError at a.py:1: 'x'"))
    again = State(tmp_path / "new", lambda _: "v1")
    assert list(again) == ROWS[:2]
    assert again[ROWS[0]] == result({"schedule": 1.25})
    assert again[ROWS[1]].error == "KeyError at a.py:1: 'x'"


def test_results_of_other_code_do_not_count_and_stay(tmp_path: Path) -> None:
    State(tmp_path, lambda _: "v1").put(ROWS[0], result())
    other = State(tmp_path, lambda _: "v2")
    assert ROWS[0] not in other
    other.put(ROWS[1], result())
    assert list(State(tmp_path, lambda _: "v1")) == [ROWS[0]]


def test_fresh_forgets_everything(tmp_path: Path) -> None:
    State(tmp_path, lambda _: "v1").put(ROWS[0], result())
    assert list(State(tmp_path, lambda _: "v1", fresh=True)) == []
    assert list(State(tmp_path, lambda _: "v1")) == []


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_line_that_was_cut_short_is_measured_again(tmp_path: Path, kept: int) -> None:
    state = State(tmp_path, lambda _: "v1")
    state.put(ROWS[0], result())
    file = tmp_path / "results.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:kept])
    again = State(tmp_path, lambda _: "v1")
    assert list(again) == [ROWS[0]]
    again.put(ROWS[1], result(2))
    assert list(State(tmp_path, lambda _: "v1")) == ROWS[:2]


FILES = {
    "syccl/a/__init__.py": "from syccl.a.b import f as f",
    "syccl/a/b.py": "from syccl import c",
    "syccl/__init__.py": "",
    "syccl/c.py": "",
    "syccl/far.py": "import syccl.c",
    "topologies/t.yaml": "",
    "tests/quality/measured/x.py": "def x():\n    from syccl.a import f",
    "tests/quality/measured/y.py": "from tests.quality.measured.process import run as r",
    "tests/quality/tables.py": "",
}


def test_the_version_follows_what_is_imported_and_for_commands_everything(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def behind(module: str) -> set[str]:
        files = code_behind(f"tests.quality.measured.{module}", tmp_path)
        return {path.relative_to(tmp_path).as_posix() for path in files}

    assert behind("x") == FILES.keys() - {"syccl/far.py", "tests/quality/measured/y.py", "tests/quality/tables.py"}
    assert behind("y") == FILES.keys() - {"tests/quality/tables.py"}
    before = code_version("tests.quality.measured.x", tmp_path)
    code_version.cache_clear()
    (tmp_path / "syccl/far.py").write_text("2")
    assert code_version("tests.quality.measured.x", tmp_path) == before
    code_version.cache_clear()
    (tmp_path / "syccl/c.py").write_text("2")
    assert code_version("tests.quality.measured.x", tmp_path) != before


def test_what_a_synthesis_runs_counts_for_its_version_and_traffic_does_not() -> None:
    paths = {path.relative_to(ROOT).as_posix() for path in code_behind("tests.quality.measured.engine", ROOT)}
    assert {"syccl/pipeline.py", "syccl/solve/modulo.py", "topologies/a100x32.yaml"} <= paths
    assert "tests/quality/run.py" not in paths
    assert not any(path.startswith(("syccl/traffic/", "syccl/cli/")) for path in paths)
    everything = {path.relative_to(ROOT).as_posix() for path in code_behind("tests.quality.measured.command", ROOT)}
    assert paths | {"syccl/cli/main.py", "syccl/traffic/crux.py"} <= everything


def test_time_that_is_up_leaves_the_rest_for_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Row] = []

    def measured(row: Row, *, limit_s: float) -> Result:
        asked.append(row)
        return result(limit_s)

    monkeypatch.setattr(measuring, "measure", measured)
    state = State(tmp_path, lambda _: "v1")
    measure_all(ROWS, state, Limits(stop_after_s=-1.0))
    assert asked == []
    measure_all(ROWS[:3], state, Limits(row_s=7.0))
    assert asked == list(State(tmp_path, lambda _: "v1")) == ROWS[:3]
    assert state[ROWS[0]].value == 7.0
