"""Proofs for tests: made by the linear program, then checked and damaged."""

from __future__ import annotations

from syccl.bounds.window import THOROUGH, proven, sharper, windows
from syccl.collective import OPS
from syccl.proof import Certificate
from syccl.topology import Topology

WHOLE = {"allreduce", "broadcast", "reduce"}


def certificate(topology: Topology, op: str, size: int, *, root: int = 0) -> Certificate:
    """The proof of the best time-window bound that is at hand."""
    programs = windows(topology, op, root)
    assert programs is not None
    far = programs.fabric.distance
    if op in {"broadcast", "scatter", "reduce", "gather"}:
        far = far[root] if op in {"broadcast", "scatter"} else far[:, root]
    start = max(1, int(far.max()) - 10)
    found = programs.latest_short(size if op in WHOLE else size / topology.ranks, start)
    assert found is not None
    made = proven(topology, OPS[op], (size, root), (programs, found))
    assert made is not None
    return made


def sharp_certificate(
    topology: Topology, size: int, parts: tuple[tuple[int, ...], ...], *, start_ps: int = 0
) -> Certificate:
    """The proof of an allreduce's bound with the rows of a partition."""
    programs = windows(topology, "allreduce", 0, THOROUGH)
    assert programs is not None
    programs = sharper(programs, parts)
    assert programs is not None
    found = programs.latest_short(size, start_ps or max(1, int(programs.fabric.distance.max()) - 10))
    assert found is not None
    made = proven(topology, OPS["allreduce"], (size, 0), (programs, found))
    assert made is not None
    return made
