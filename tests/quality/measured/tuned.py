"""A sweep over sizes in this process."""

from __future__ import annotations

import time
from typing import Any

from syccl.collective import op_named
from syccl.pipeline import Options
from syccl.tuning import tune
from tests.quality.measured.engine import load_libraries
from tests.quality.measured.named import topology_named


def tuned(topology: str, op: str, sizes: list[int]) -> dict[str, Any]:
    """Tune once, cold; return how many programs serve the sizes, how good they are and CPU seconds."""
    load_libraries()
    graph, wanted = topology_named(topology), op_named(op)
    began = time.process_time()
    made = tune(graph, wanted, sizes, Options(size_bytes=sizes[-1]))
    cpu_s = time.process_time() - began
    served = [(row.seconds, row.best_s, row.bound_s) for row in made.rows if row.seconds is not None]
    return {
        "sizes": len(sizes),
        "served": len(served),
        "schedules": len(made.schedules),
        "candidates": made.candidates,
        "over_best": max((seconds / best for seconds, best, _ in served if best), default=None),
        "over_bound": max((seconds / bound for seconds, _, bound in served if bound), default=None),
        "cpu_s": cpu_s,
    }
