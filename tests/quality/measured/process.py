"""One command in a process of its own, with an empty cache folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent
MEASURE = Path(__file__).parent.parent / "measure.py"
LIMIT_S = 600.0


@dataclass(frozen=True)
class Run:
    """What a command printed and took; ``code`` is None where it was ended at the limit."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    code: int | None
    stdout: str
    stderr: str


def run(args: Sequence[str], *, limit_s: float = LIMIT_S) -> Run:
    """Run Python with some arguments from the root of the repository, for so many CPU seconds at most."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, str(MEASURE), str(limit_s), sys.executable, *args],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": cache},
        )
    return Run(*json.loads(done.stdout))
