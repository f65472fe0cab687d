"""Runs a command and prints its wall seconds, CPU seconds and peak memory.

A process of its own, because the peak of a child counts from before it became the command: a small parent keeps
that part small.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

began = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=False)
wall_s = time.perf_counter() - began
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu_s = usage.ru_utime + usage.ru_stime
json.dump([wall_s, cpu_s, usage.ru_maxrss / 1024, done.returncode, done.stdout, done.stderr], sys.stdout)
