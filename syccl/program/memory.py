"""Every chunk of every buffer as a numbered location, with the aliasing of in-place or out-of-place calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syccl.program.columns import BUFFERS, CODE, READS_SOURCE, WRITES_TARGET, Columns, Flags, Ints
from syccl.program.ir import Program, StepType
from syccl.program.order import Parts
from syccl.program.semantics import buffer_chunks, shared_offsets

_COPY = CODE[StepType.COPY]
_NOP = CODE[StepType.NOP]


@dataclass(frozen=True, eq=False)
class Memory:
    """Locations of one kind of call: buffer b of rank r starts at ``base[r, b]`` (input, output, scratch)."""

    in_place: bool
    base: Ints
    """Shape (ranks, 3)."""
    locations: int

    @property
    def name(self) -> str:
        """How the call passes its buffers, in words."""
        return "in place" if self.in_place else "out of place"


@dataclass(frozen=True, eq=False)
class Operands:
    """Where each part reads and writes; what is written is taken to be read too."""

    source: Ints
    target: Ints
    active: Flags
    """Parts that do something: neither no-ops nor empty nor copies of a location onto itself."""
    reads_source: Flags
    writes_target: Flags
    table: Columns
    parts: Parts

    def name(self, part: int, *, source: bool) -> str:
        """Return the words for an operand, as ``s[1]``."""
        step = int(self.parts.step[part])
        buffer, offset = (self.table.src_buffer, self.table.src) if source else (self.table.dst_buffer, self.table.dst)
        return f"{BUFFERS[int(buffer[step])].value}[{int(offset[step] + self.parts.chunk[part])}]"


def memory(program: Program, *, in_place: bool) -> Memory:
    """Return where the buffers lie in one kind of call."""
    inputs, outputs = buffer_chunks(program)
    base = np.zeros((program.size, len(BUFFERS)), dtype=np.int64)
    start = 0
    for rank in program.ranks:
        into, out = shared_offsets(program, rank.rank) if in_place else (0, inputs)
        scratch = program.chunks if in_place else inputs + outputs
        base[rank.rank] = start + np.array([into, out, scratch])
        start += scratch + rank.scratch_chunks
    return Memory(in_place, base, start)


def operands(table: Columns, parts: Parts, where: Memory) -> Operands:
    """Return the locations that every part touches.

    A copy whose two ends are one location does nothing, as in the runtimes.
    """
    step = parts.step
    rank = table.rank[parts.block]
    source = where.base[rank, table.src_buffer[step]] + table.src[step] + parts.chunk
    target = where.base[rank, table.dst_buffer[step]] + table.dst[step] + parts.chunk
    kind = table.type[step]
    active = (table.count[step] > 0) & (kind != _NOP) & ~((kind == _COPY) & (source == target))
    return Operands(
        source=source,
        target=target,
        active=active,
        reads_source=READS_SOURCE[kind] & active,
        writes_target=WRITES_TARGET[kind] & active,
        table=table,
        parts=parts,
    )
