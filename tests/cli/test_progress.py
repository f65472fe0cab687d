"""Progress on a terminal."""

from __future__ import annotations

import io
import sys
import time

import pytest

from syccl.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(patch: pytest.MonkeyPatch, stream: io.StringIO, *, quiet: bool = False, patience_s: float = 0.02) -> str:
    patch.setattr(sys, "stderr", stream)
    with Progress(quiet=quiet, patience_s=patience_s) as progress:
        progress("bounds")
        time.sleep(0.2)
        progress("sketches")
    return stream.getvalue()


def test_messages_replace_each_other_and_are_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert text == "\r\x1b[Kbounds\r\x1b[Ksketches\r\x1b[K"


def test_a_short_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), patience_s=60.0) == ""


def test_a_file_or_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""


def test_quiet_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), quiet=True) == ""
