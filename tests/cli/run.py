"""Running the command line inside a test."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from syccl.cli.main import main


class Result(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *args: str) -> Result:
    """Run ``syccl`` with these arguments."""
    capsys.readouterr()
    code = main(args)
    captured = capsys.readouterr()
    return Result(code, captured.out, captured.err)
