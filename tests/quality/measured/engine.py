"""Syntheses in this process: how good they are and how long they take once everything is loaded."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from syccl.collective import op_named
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.report.figures import US
from syccl.schedule import Schedule, expand
from syccl.symmetry.automorphisms import find_group
from tests.quality.measured.named import topology_named

_MOST_PLACES = 20_000_000
"""(chunk, rank) pairs up to which the depth of trees is counted."""


def load_libraries() -> None:
    """Import what the package imports late, so that seconds of synthesis are not seconds of loading."""
    import joblib  # noqa: F401
    from ortools.graph.python import max_flow  # noqa: F401
    from ortools.linear_solver import linear_solver_pb2, pywraplp  # noqa: F401
    from ortools.sat.python import cp_model  # noqa: F401


def synth(topology: str, op: str, size_bytes: int, *, program: bool, root: int = 0) -> dict[str, Any]:
    """Synthesize once, cold, and return times in microseconds and CPU seconds; ratios are to the bound."""
    load_libraries()
    options = Options(size_bytes=size_bytes, want_program=program)
    wanted, graph = op_named(op), topology_named(topology)
    began = time.process_time()
    made = synthesize(graph, wanted, options, root=root)
    cpu_s = time.process_time() - began
    return {**figures(made), "cpu_s": cpu_s, "order": find_group(topology_named(topology)).order}


def figures(made: Synthesis) -> dict[str, Any]:
    """What tables show of a synthesis."""
    bound_s, program_s = made.bound.seconds, made.program_time_s
    return {
        "ranks": made.demand.ranks,
        "chunks": made.demand.chunks,
        "bound_us": bound_s * US,
        "bandwidth_us": made.bound.bandwidth_s * US,
        "tree_bound_us": None if made.tree_bound_s is None else made.tree_bound_s * US,
        "schedule_us": made.schedule_time_s * US,
        "program_us": None if program_s is None else program_s * US,
        "schedule": made.schedule_time_s / bound_s,
        "program": None if program_s is None else program_s / bound_s,
        "depth": hop_depth(made.schedule),
        "winner": str(made.explain["winner"]),
    }


def hop_depth(schedule: Schedule) -> int | None:
    """Return the most transfers that any data makes one after the other, None where there are too many to count."""
    places = schedule.demand.chunk_ids * schedule.topology.ranks
    if places > _MOST_PLACES:
        return None
    rows = expand(schedule).transfers
    depth = np.zeros((schedule.demand.chunk_ids, schedule.topology.ranks), dtype=np.int32)
    by_stage = np.argsort(rows.stage, kind="stable")
    cuts = np.flatnonzero(np.diff(rows.stage[by_stage])) + 1
    for part in np.split(by_stage, cuts):
        arrived = depth[rows.chunk[part], rows.src[part]] + 1
        np.maximum.at(depth, (rows.chunk[part], rows.dst[part]), arrived)
    return int(depth.max(initial=0))
