"""Runs a command and prints its wall seconds and peak memory, nothing else measured in between.

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
peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
json.dump([wall_s, peak_mib, done.returncode, done.stdout, done.stderr], sys.stdout)
