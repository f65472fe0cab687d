"""The examples run and say what they should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_schedule_is_made_from_python() -> None:
    script = ROOT / "examples" / "from_python.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("allgather of 16777216 bytes over 6 GPUs in ")
    bound, time = map(float, re.findall(r"([\d.]+) us", done.stdout)[:2])
    assert bound <= time <= 2 * bound
