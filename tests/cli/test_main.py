"""The door: version, help, errors as one line, exit codes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from syccl import __version__
from syccl.cli import main as door
from syccl.errors import FindingsError, GaveUpError, InfeasibleError, InputError, InternalError
from tests.cli.run import run

Capsys = pytest.CaptureFixture[str]


def raising(error: BaseException) -> Callable[..., None]:
    def command(*args: object, **kwargs: object) -> None:
        raise error

    return command


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make the command line end in an error."""
    return lambda error: monkeypatch.setattr(door.root, "main", raising(error))


def test_the_version_is_that_of_the_package(capsys: Capsys) -> None:
    assert run(capsys, "--version") == (0, f"syccl {__version__}\n", "")


def test_help_lists_every_verb_and_the_exit_codes(capsys: Capsys) -> None:
    result = run(capsys, "--help")
    assert result.code == 0
    assert [verb for verb in door.VERBS if verb not in result.out] == []
    assert "70" in result.out


@pytest.mark.parametrize("verb", door.VERBS)
def test_every_verb_has_help(capsys: Capsys, verb: str) -> None:
    result = run(capsys, verb, "--help")
    assert result.code == 0
    assert f"syccl {verb}" in result.out


@pytest.mark.parametrize(
    "args", [["nonsense"], ["synth"], ["synth", "--topo", "a100x8"], ["topo", "nonsense"], ["--nonsense"], ["verify"]]
)
def test_a_wrong_command_line_is_2(capsys: Capsys, args: list[str]) -> None:
    result = run(capsys, *args)
    assert result.code == 2
    assert "Usage: syccl" in result.err


@pytest.mark.parametrize(
    ("error", "code"),
    [(FindingsError("x"), 1), (InputError("x"), 3), (InfeasibleError("x"), 4), (GaveUpError("x"), 5)],
)
def test_errors_on_purpose_have_their_exit_codes(
    capsys: Capsys, failing: Callable[[BaseException], None], error: Exception, code: int
) -> None:
    failing(error)
    assert run(capsys) == (code, "", "error: x\n")


def test_a_message_of_many_lines_becomes_one(capsys: Capsys, failing: Callable[[BaseException], None]) -> None:
    failing(InputError("a.yaml:3:\n  wrong"))
    assert run(capsys).err == "error: a.yaml:3: wrong\n"


@pytest.mark.parametrize("error", [InternalError("own output"), ValueError("own output"), RecursionError("own output")])
def test_a_bug_is_70_without_a_traceback(
    capsys: Capsys, failing: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.delenv("SYCCL_DEBUG", raising=False)
    failing(error)
    result = run(capsys)
    assert result.code == 70
    assert result.err.startswith(f"error: a bug in syccl: {type(error).__name__}: own output")
    assert result.err.count("\n") == 1


def test_debug_shows_where(
    capsys: Capsys, failing: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYCCL_DEBUG", "1")
    failing(ValueError("own output"))
    assert "Traceback" in run(capsys).err


def test_an_interrupt_is_130(capsys: Capsys, failing: Callable[[BaseException], None]) -> None:
    failing(click.Abort())
    assert run(capsys) == (130, "", "interrupted\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m syccl topo schema | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=root)
    assert (done.returncode, done.stderr) in [(0, ""), (141, "")]


def shell(redirection: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m syccl topo schema {redirection}"
    root = Path(__file__).parent.parent.parent
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=root)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_output_is_one_line_and_3() -> None:
    done = shell(">/dev/full")
    assert (done.returncode, done.stderr) == (3, "error: standard output cannot be written: No space left on device\n")


def test_a_closed_output_is_one_line_and_3() -> None:
    done = shell(">&-")
    assert (done.returncode, done.stderr) == (3, "error: standard output cannot be written: it is closed\n")


def test_a_pipe_without_a_reader_is_141() -> None:
    done = shell("| true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) in [(141, ""), (0, "")]


def test_the_exit_of_click_on_a_broken_pipe_is_141(
    failing: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_discard_output", lambda: None)
    failing(SystemExit(1))
    assert door.main([]) == 141


def test_python_m_syccl_is_the_same_door() -> None:
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "syccl", "--version"], capture_output=True, text=True, check=False, cwd=root
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"syccl {__version__}\n", "")
