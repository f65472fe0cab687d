"""What schedules are to reach on bundled topologies: the largest ratio to the bound, asked for alone."""

from __future__ import annotations

KIB, MIB, GIB = 2**10, 2**20, 2**30
OPS = ("allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "reduce", "gather", "scatter")
"""Collectives that have a size."""
SWEPT = ("a100x32", "h800x64")
"""Where there is a target at every power of two from 1 KiB to 4 GiB."""

_RELAYED = ("a100x32", "h800x64", "h800x512", "torus2d-4x4")
_PIPELINED_1GIB = {"a100x32": 1.10, "dgx1-v100": 1.10, "torus2d-4x4": 1.13, "h800x64": 1.50}


def schedule_target(topology: str, op: str, size_bytes: int) -> float | None:
    """Return the largest good ratio of schedule to bound, None where none is stated."""
    if op in {"broadcast", "reduce"} and size_bytes == GIB:
        return _PIPELINED_1GIB.get(topology)
    if topology in SWEPT:
        return _swept(topology, op, size_bytes)
    if op == "alltoall" and topology in _RELAYED and size_bytes >= 16 * MIB:
        return 1.05
    return None


def _swept(topology: str, op: str, size_bytes: int) -> float | None:
    """Return the target of the sweep from 1 KiB to 4 GiB."""
    slack = topology == "h800x64"
    if op == "alltoall":
        return 1.03
    if op == "allreduce":
        if 64 * KIB < size_bytes <= 4 * MIB:
            return 1.25 if slack else 1.12
        return 1.05
    if op in {"broadcast", "reduce"}:
        if size_bytes <= 64 * KIB:
            return 1.08
        return (1.40 if slack else 1.30) if size_bytes <= MIB else None
    return 1.07
