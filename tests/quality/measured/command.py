"""Whole commands, from the start of the process to the files on disk."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.quality.measured.named import topology_file
from tests.quality.measured.process import Run
from tests.quality.measured.process import run as run_python


class CommandError(Exception):
    """A command ended with anything but success."""


def syccl(args: Sequence[str]) -> Run:
    """Run a verb; anything but success is an error with what was said."""
    made = run_python(["-m", "syccl", *args])
    if made.code != 0:
        msg = f"syccl {' '.join(args)} ended with {made.code}: {made.stderr[-500:]}"
        raise CommandError(msg)
    return made


def command(topology: str, op: str, size: str, form: str, *, run: int = 0) -> dict[str, Any]:
    """Run ``syccl synth`` to an xml or json file, which is thrown away; return its record and what it took.

    ``run`` only tells repeated measurements apart.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = syccl(_synth(topology, op, size, Path(folder) / f"made.{form}"))
    return {**json.loads(made.stdout), **_took(made)}


def chain(topology: str, op: str, size: str) -> dict[str, Any]:
    """Run synth, verify and simulate on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.json"
        made = syccl(_synth(topology, op, size, path))
        checked = syccl(["verify", str(path)])
        timed = syccl(["simulate", str(path), "--topo", topology, "--size", size, "--json"])
        rows = len(json.loads(path.read_text(encoding="utf-8"))["transfers"]["chunk"])
        file = {"file_mib": path.stat().st_size / 2**20, "rows": rows}
    seconds = {"verify_s": checked.wall_s, "simulate_s": timed.wall_s}
    return {**json.loads(made.stdout), **_took(made), **file, **seconds}


def _synth(topology: str, op: str, size: str, output: Path) -> list[str]:
    file = topology_file(topology, output.parent)
    return ["synth", "--topo", file, "--op", op, "--size", size, "--json", "--no-cache", "-o", str(output)]


def _took(made: Run) -> dict[str, float]:
    return {"wall_s": made.wall_s, "cpu_s": made.cpu_s, "peak_mib": made.peak_mib}
