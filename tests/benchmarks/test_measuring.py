"""What a row's process says becomes a result, whatever way it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quality.measured.process import Run, run
from tests.quality.measuring import as_result, measure
from tests.quality.rows import Row
from tests.quality.worker import MEASURES, measured

MEASURE = Path(__file__).parent.parent / "quality" / "measure.py"


def said(stdout: str, stderr: str = "", code: int | None = 0) -> Run:
    return Run(2.0, 1.0, 50.0, code, stdout, stderr)


def test_an_answer_is_taken_from_the_last_line() -> None:
    made = as_result(said('warning\n{"value": {"schedule": 1.5}}\n'))
    assert (made.value, made.error, made.cpu_s) == ({"schedule": 1.5}, "", 1.0)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (said('{"error": "KeyError at x.py:3: 1"}'), "KeyError at x.py:3: 1"),
        (said("", "no answer within 2 s", None), "no answer within 2 s"),
        (said("", "", -9), "ended with -9"),
        (said("half of {", "Fatal\nSegmentation fault\n", -11), "Segmentation fault"),
    ],
)
def test_every_bad_end_is_an_error(made: Run, error: str) -> None:
    result = as_result(made)
    assert (result.value, result.error) == (None, error)


def test_a_crash_names_its_place() -> None:
    made = measured(Row.of("synth", topology="nosuch", op="allgather", size_bytes=4, program=False).key)
    assert str(made["error"]).startswith("InputError at catalog.py:")


def test_a_process_that_takes_too_long_is_ended() -> None:
    made = run(["-c", "import time; time.sleep(60)"], limit_s=0.05)
    assert made.code is None
    assert made.wall_s < 30
    assert "no answer within 0.5 s" in made.stderr


def test_a_process_that_computes_too_long_is_ended() -> None:
    made = run(["-c", "while True: pass"], limit_s=1.0)
    assert made.code is None
    assert 0.5 < made.cpu_s < 3
    assert "no answer within 1 CPU s" in made.stderr


def test_a_process_is_measured() -> None:
    made = run(["-c", "import sys; sys.stdout.write(str(sum(range(10**6)))); bytearray(80 * 2**20)"])
    assert (made.code, made.stdout) == (0, "499999500000")
    assert made.cpu_s > 0
    assert made.peak_mib > 80


def test_a_row_is_measured_in_a_fresh_process() -> None:
    row = Row.of("synth", topology="cluster/nvlink-pair", op="allreduce", size_bytes=2**26, program=False)
    made = measure(row, limit_s=120)
    assert made.error == ""
    assert made.value["ranks"] == 3
    assert made.value["schedule"] >= 1 - 1e-9
    assert made.value["cpu_s"] <= made.cpu_s
    assert made.peak_mib > 20


def test_every_measure_exists() -> None:
    from importlib import import_module

    names = {name: module for name, module in MEASURES.items() if name != "lifted"}
    for name, module in names.items():
        assert callable(getattr(import_module(f"tests.quality.measured.{module}"), name))
    assert "tests.quality.measured.lifted" not in sys.modules


def test_a_measured_process_may_measure_another_under_a_higher_limit() -> None:
    inner = [sys.executable, str(MEASURE), "600", sys.executable, "-c", "print(7)"]
    done = subprocess.run([sys.executable, str(MEASURE), "60", *inner], capture_output=True, text=True, check=True)
    assert json.loads(json.loads(done.stdout)[4])[4] == "7\n"
