"""Where chunks lie in the buffers of a runtime."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALL, Demand
from syccl.program import Buffer, Slot
from syccl.schedule import Schedule


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


class Places:
    """Where the chunks of a schedule lie on a rank, and on those that its symmetries move the rank to."""

    def __init__(self, schedule: Schedule) -> None:
        self.demand, self.symmetry = schedule.demand, schedule.symmetry
        self._tables: dict[tuple[Buffer, int], dict[int, int]] = {}

    def stay_apart(self, rank: int, slot: Slot, other: Slot) -> bool:
        """Return whether two slots of one buffer are as far from each other on every image of a rank.

        Scratch keeps its place.
        """
        if self.symmetry is None or slot.buffer is Buffer.SCRATCH:
            return True
        offsets, chunk = self._offsets[slot.buffer], self._chunk_at(rank, slot.buffer)
        images = self.symmetry.chunks
        apart = offsets[images[:, chunk[other.offset]]] - offsets[images[:, chunk[slot.offset]]]
        return bool((apart == other.offset - slot.offset).all())

    @cached_property
    def _offsets(self) -> dict[Buffer, NDArray[np.int64]]:
        ids = range(self.demand.chunk_ids)
        kinds = ((Buffer.INPUT, input_offset), (Buffer.OUTPUT, output_offset))
        return {buffer: np.array([offset(self.demand, chunk) for chunk in ids]) for buffer, offset in kinds}

    def _chunk_at(self, rank: int, buffer: Buffer) -> dict[int, int]:
        """Return the chunk at every offset of a rank's input or output."""
        if (buffer, rank) not in self._tables:
            ends = self.demand.sources if buffer is Buffer.INPUT else self.demand.targets
            mine = np.flatnonzero((ends == rank) | (ends == ALL))
            self._tables[buffer, rank] = dict(zip(self._offsets[buffer][mine].tolist(), mine.tolist(), strict=True))
        return self._tables[buffer, rank]
