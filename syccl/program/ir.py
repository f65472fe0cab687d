"""The program: what a runtime file says, per rank thread blocks of ordered steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Buffer(Enum):
    """Where a chunk lives on a rank; the value is the runtime's letter."""

    INPUT = "i"
    OUTPUT = "o"
    SCRATCH = "s"

    # Members are unique objects; their names need not be hashed for each of a million slots.
    __hash__ = object.__hash__


class StepType(Enum):
    """What a step does; the value is the runtime's spelling. The source operand of a reduction is local.

    =====  ======== ===== =====================================
    type   receives sends effect
    =====  ======== ===== =====================================
    s               yes   sends src
    r      yes            dst = message
    rcs    yes      yes   dst = message; sends it on
    rrc    yes            dst = src + message
    rrs    yes      yes   sends src + message, stores nothing
    rrcs   yes      yes   dst = src + message; sends it
    cpy                   dst = src
    re                    dst = dst + src
    nop                   carries a dependency only
    =====  ======== ===== =====================================
    """

    SEND = "s"
    RECV = "r"
    RECV_COPY_SEND = "rcs"
    RECV_REDUCE_COPY = "rrc"
    RECV_REDUCE_SEND = "rrs"
    RECV_REDUCE_COPY_SEND = "rrcs"
    COPY = "cpy"
    REDUCE = "re"
    NOP = "nop"

    @property
    def receives(self) -> bool:
        """Whether the step takes a message."""
        return self.value in {"r", "rcs", "rrc", "rrs", "rrcs"}

    @property
    def sends(self) -> bool:
        """Whether the step emits a message."""
        return self.value in {"s", "rcs", "rrs", "rrcs"}


class Slot(NamedTuple):
    """Where a step's ``cnt`` consecutive chunks start."""

    buffer: Buffer
    offset: int


class Step(NamedTuple):
    """One instruction of a thread block."""

    type: StepType
    src: Slot
    dst: Slot
    cnt: int
    depends: tuple[int, int] | None = None
    """(thread block id, step index) of the same rank that must be done first."""
    has_dependents: bool = False
    line: int = 0
    """Line in the file it was read from; 0 when made here."""


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """One CUDA block: at most one peer to send to and one to receive from, on one channel; -1 for none."""

    id: int
    send: int
    recv: int
    channel: int
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class RankProgram:
    """The thread blocks and buffer sizes (in chunks) of one rank."""

    rank: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    blocks: tuple[ThreadBlock, ...]
    line: int = 0


@dataclass(frozen=True, eq=False)
class Program:
    """A whole runtime file.

    ``chunks`` is ``nchunksperloop``: the number of chunks that the total buffer is cut into. ``min_bytes`` and
    ``max_bytes`` bound the sizes for which a runtime selects it (``max_bytes`` 0: no bound). ``counts`` are the chunks
    from each rank (row) to each of an alltoallv, which files do not state; empty: not known.
    """

    name: str
    collective: str
    protocol: str
    channels: int
    chunks: int
    ranks: tuple[RankProgram, ...]
    in_place: bool = True
    out_of_place: bool = True
    min_bytes: int = 0
    max_bytes: int = 0
    counts: tuple[tuple[int, ...], ...] = ()

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.ranks)
