"""One measured run of the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Run:
    """What a command printed, what its whole process took (with the processes that it started), and its peak memory."""

    stdout: str
    wall_s: float
    cpu_s: float
    peak_mib: float

    @property
    def record(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        return json.loads(self.stdout)


def syccl(args: Sequence[str]) -> Run:
    """Run a verb; anything but success ends the measurement with what was said."""
    command = [sys.executable, "-m", "syccl", *args]
    measure = [sys.executable, str(Path(__file__).with_name("measure.py")), *command]
    done = subprocess.run(measure, capture_output=True, text=True, check=True, cwd=ROOT)
    wall_s, cpu_s, peak_mib, code, stdout, stderr = json.loads(done.stdout)
    if code:
        sys.exit(f"syccl {' '.join(args)} ended with {code}: {stderr}")
    return Run(stdout, wall_s, cpu_s, peak_mib)


def synth(topology: str, op: str, size: str) -> Run:
    """Run ``syccl synth`` to its default kind of file, which is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        return syccl(["synth", "--topo", topology, "--op", op, "--size", size, "--json", "-o", f"{folder}/made.xml"])
