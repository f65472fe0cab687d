"""Random faults in right programs: found, harmless or missed."""

from __future__ import annotations

import itertools
import random

from tests.program.mutations import faults, is_found, is_harmless
from tests.program.programs import (
    allpairs_allreduce,
    direct_alltoall,
    direct_reducescatter,
    ring_allreduce,
    rooted,
    two_level_allgather,
)

ROOT = 1
PROGRAMS = {
    "allreduce, rings": ring_allreduce(4, rings=2),
    "allreduce, all pairs": allpairs_allreduce(4),
    "allgather, two levels": two_level_allgather(2, 3, 2),
    "reducescatter, direct": direct_reducescatter(4, share=2),
    "alltoall, direct": direct_alltoall(4, share=2),
    **{op: rooted(op, 4, ROOT, 2) for op in ("broadcast", "reduce", "gather", "scatter")},
}


def mutation(kind: str, each: int) -> dict[str, int]:
    """How many of ``each`` random faults of one kind in every program are found, change nothing, or are missed."""
    counts = {"made": 0, "found": 0, "harmless": 0, "missed": 0}
    for name, program in PROGRAMS.items():
        for made in itertools.islice(faults(program, kind, random.Random(f"{name} {kind}")), each):
            counts["made"] += 1
            verdict = "found" if is_found(made) else "harmless" if is_harmless(made, ROOT) else "missed"
            counts[verdict] += 1
    return counts
