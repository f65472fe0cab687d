"""Runs a command and prints its wall seconds, CPU seconds and peak memory: ``measure.py LIMIT_S COMMAND...``.

A process of its own, because the peak of a child counts from before it became the command: a small parent keeps
that part small. A command that takes more CPU seconds than the limit is ended and has no exit code, as is one that
takes many times as long by the clock.
"""

from __future__ import annotations

import json
import math
import resource
import signal
import subprocess
import sys
import time

WALL_FACTOR = 10
limit_s, command = float(sys.argv[1]), sys.argv[2:]


def _limit_cpu() -> None:
    """Limit the command, or keep the limit of a measured process that measures another."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(limit_s) + 1 if hard == resource.RLIM_INFINITY else min(math.ceil(limit_s) + 1, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (min(math.ceil(limit_s), most), most))


began = time.perf_counter()
try:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=WALL_FACTOR * limit_s, preexec_fn=_limit_cpu
    )
    said = [done.returncode, done.stdout, done.stderr]
except subprocess.TimeoutExpired:
    said = [None, "", f"no answer within {WALL_FACTOR * limit_s:g} s"]
if said[0] in {-signal.SIGXCPU, -signal.SIGKILL}:
    said = [None, "", f"no answer within {limit_s:g} CPU s, or killed"]
wall_s = time.perf_counter() - began
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
json.dump([wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, *said], sys.stdout)
