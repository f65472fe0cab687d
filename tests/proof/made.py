"""Proofs for tests: made by the linear program, then checked and damaged."""

from __future__ import annotations

from syccl.bounds.window import proven, windows
from syccl.collective import OPS
from syccl.proof import Certificate
from syccl.topology import Topology

WHOLE = {"allreduce", "broadcast", "reduce"}


def certificate(topology: Topology, op: str, size: int, *, root: int = 0) -> Certificate:
    """The proof of the best time-window bound that is at hand."""
    programs = windows(topology, op, root)
    assert programs is not None
    start = max(1, int(programs.fabric.distance.max()) - 10)
    found = programs.latest_short(size if op in WHOLE else size / topology.ranks, start)
    assert found is not None
    made = proven(topology, OPS[op], (size, root), (programs, found))
    assert made is not None
    return made
