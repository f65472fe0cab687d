"""Runs a command and prints its wall seconds, CPU seconds and peak memory: ``measure.py LIMIT_S COMMAND...``.

A process of its own, because the peak of a child counts from before it became the command: a small parent keeps
that part small. A command that takes longer than the limit is ended and has no exit code.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

limit_s, command = float(sys.argv[1]), sys.argv[2:]
began = time.perf_counter()
try:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    said = [done.returncode, done.stdout, done.stderr]
except subprocess.TimeoutExpired:
    said = [None, "", f"no answer within {limit_s:g} s"]
wall_s = time.perf_counter() - began
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
json.dump([wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, *said], sys.stdout)
