"""Where chunks lie in the buffers of a runtime."""

from __future__ import annotations

from syccl.collective import Demand


def input_offset(demand: Demand, chunk: int) -> int:
    """Return where a chunk starts in the input buffer of the ranks that hold it at the start, in chunks."""
    if demand.is_unequal:
        return demand.places[0][chunk]
    per_block = max(1, demand.chunks // demand.ranks)
    return chunk % per_block if demand.op.source == "block" else chunk % demand.chunks


def output_offset(demand: Demand, chunk: int) -> int:
    """Return where a chunk ends in the output buffer of the ranks that want it, in chunks."""
    if demand.is_unequal:
        return demand.places[1][chunk]
    per_block = max(1, demand.chunks // demand.ranks)
    if demand.op.target == "pair":
        return chunk // demand.chunks * per_block + chunk % per_block
    return chunk % per_block if demand.op.target == "block" else chunk
