"""The steps of a program as columns, so that a check is a few array operations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from syccl.program.ir import Buffer, Program, RankProgram, StepType, ThreadBlock

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TYPES: Final = tuple(StepType)
"""Step types in the order of their codes."""
BUFFERS: Final = tuple(Buffer)
"""Buffers in the order of their codes: input, output, scratch."""

CODE: Final = {step_type: code for code, step_type in enumerate(TYPES)}
_BUFFER_CODE = {buffer: code for code, buffer in enumerate(BUFFERS)}


def indices(mask: Flags) -> list[int]:
    """Return the places where a mask is set."""
    places: list[int] = np.flatnonzero(mask).tolist()
    return places


def _types(*names: str) -> Flags:
    return np.array([step_type.value in names for step_type in TYPES])


RECEIVES: Final = np.array([step_type.receives for step_type in TYPES])
SENDS: Final = np.array([step_type.sends for step_type in TYPES])
READS_SOURCE: Final = _types("s", "rrc", "rrs", "rrcs", "cpy", "re")
READS_TARGET: Final = _types("re")
WRITES_TARGET: Final = _types("r", "rcs", "rrc", "rrcs", "cpy", "re")


@dataclass(frozen=True, eq=False)
class Columns:
    """One entry per step, rank by rank, thread block by thread block, in the order of the file.

    ``block`` numbers thread blocks through all ranks; ``depends_block`` is the id that the step waits for within
    its rank, -1 for none. ``owners`` are the thread blocks with their ranks.
    """

    owners: tuple[tuple[RankProgram, ThreadBlock], ...]
    block: Ints
    type: Ints
    src_buffer: Ints
    src: Ints
    dst_buffer: Ints
    dst: Ints
    count: Ints
    depends_block: Ints
    depends_step: Ints
    publishes: Flags
    first: Ints
    """First step of each thread block, and the number of steps; shape (blocks + 1,)."""
    rank: Ints
    """Rank of each thread block; shape (blocks,)."""
    id: Ints
    send: Ints
    recv: Ints
    channel: Ints

    @cached_property
    def index(self) -> Ints:
        """Position of each step within its thread block."""
        return np.arange(len(self.block)) - self.first[self.block]

    @cached_property
    def receives(self) -> Flags:
        """Steps that take a message."""
        return RECEIVES[self.type] & (self.count > 0)

    @cached_property
    def sends(self) -> Flags:
        """Steps that emit a message."""
        return SENDS[self.type] & (self.count > 0)

    def where(self, step: int) -> str:
        """Return the place of a step in words."""
        rank, block = self.owners[int(self.block[step])]
        index = int(self.index[step])
        line = block.steps[index].line
        return f"rank {rank.rank} tb {block.id} step {index}" + (f" (line {line})" if line else "")

    def name(self, step: int) -> str:
        """Return the short name of a step, as ``tb 3 step 1 (rrc)``."""
        block = self.owners[int(self.block[step])][1]
        return f"tb {block.id} step {int(self.index[step])} ({TYPES[int(self.type[step])].value})"


def columns(program: Program) -> Columns:
    """Return the steps of a program as columns."""
    owners = tuple((rank, block) for rank in program.ranks for block in rank.blocks)
    steps = [step for _, block in owners for step in block.steps]
    sources, targets = [step.src for step in steps], [step.dst for step in steps]
    waits = [(-1, -1) if wait is None else wait for wait in [step.depends for step in steps]]
    lengths = _ints([len(block.steps) for _, block in owners])
    return Columns(
        owners=owners,
        block=np.repeat(np.arange(len(owners)), lengths),
        type=_ints([CODE[step.type] for step in steps]),
        src_buffer=_ints([_BUFFER_CODE[slot.buffer] for slot in sources]),
        src=_ints([slot.offset for slot in sources]),
        dst_buffer=_ints([_BUFFER_CODE[slot.buffer] for slot in targets]),
        dst=_ints([slot.offset for slot in targets]),
        count=_ints([step.cnt for step in steps]),
        depends_block=_ints([block for block, _ in waits]),
        depends_step=_ints([step for _, step in waits]),
        publishes=np.array([step.has_dependents for step in steps], dtype=np.bool_),
        first=np.concatenate([[0], np.cumsum(lengths)]),
        rank=_ints([rank.rank for rank, _ in owners]),
        id=_ints([block.id for _, block in owners]),
        send=_ints([block.send for _, block in owners]),
        recv=_ints([block.recv for _, block in owners]),
        channel=_ints([block.channel for _, block in owners]),
    )


def _ints(values: object) -> Ints:
    return np.array(values, dtype=np.int64)
