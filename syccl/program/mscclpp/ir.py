"""An execution plan of MSCCL++ as its file states it: one-sided operations, signals and waits per thread block.

The consumer is ``mscclpp::Executor`` of microsoft/mscclpp 0.9, read at commit 00668b4: ``src/core/executor`` and
``src/core/include/execution_common.hpp``, which has the limits below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from syccl.program.ir import Buffer

MEMORY: Final = "memory"
"""Channel whose thread block itself writes into the peer's memory: within a server."""
PORT: Final = "port"
"""Channel whose puts and signals a thread of the host carries out in order: between servers."""
KINDS: Final = (MEMORY, PORT)

MAX_OPERATIONS: Final = 64
MAX_CHANNELS: Final = 16
"""Channels of one kind, and remote buffers of one kind, of a thread block."""
MAX_CHANNELS_OF_OPERATION: Final = 8
MAX_OPERANDS: Final = 10
"""Sources, or targets, of an operation: two local and eight remote buffers."""
MAX_BARRIERS: Final = 16
MAX_SEMAPHORES: Final = 16
MAX_OFFSET_BYTES: Final = 2**32
"""Offsets and sizes on the device have 32 bits."""
MAX_BLOCKS: Final = 108
"""Thread blocks of a rank: all spin, so all must run at once on an A100's multiprocessors, the fewest in use."""


class Ref(NamedTuple):
    """A run of chunks: in a local ``buffer``, or else in the block's remote buffer ``remote``."""

    buffer: Buffer | None
    remote: int
    start: int
    size: int


class Op(NamedTuple):
    """An operation of a thread block; ``part`` of ``parts`` is its share where blocks divide an operation."""

    name: str
    kind: str = ""
    channels: tuple[int, ...] = ()
    """Places in the block's list of channels of that kind."""
    src: tuple[Ref, ...] = ()
    dst: tuple[Ref, ...] = ()
    barrier: int = -1
    blocks: int = 0
    """Thread blocks that meet at the barrier."""
    semaphores: tuple[int, ...] = ()
    part: int = 0
    parts: int = 1
    inner: tuple[Op, ...] = ()
    """Operations of a pipeline."""


class RemoteBuffer(NamedTuple):
    """A buffer of another rank and the kinds of channels that it is reached by."""

    rank: int
    buffer: Buffer
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanBlock:
    """A thread block: its channels and remote buffers by kind, as numbers in the lists of its rank."""

    id: int
    channels: dict[str, tuple[int, ...]]
    buffers: dict[str, tuple[int, ...]]
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class PlanRank:
    """The buffers (in chunks), channels (the peer of each, by kind) and thread blocks of a rank."""

    rank: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    channels: dict[str, tuple[int, ...]]
    remote_buffers: tuple[RemoteBuffer, ...]
    blocks: tuple[PlanBlock, ...]
    switches: int = 0
    """Multicast channels, which are counted only."""
    semaphores: int = 0

    def chunks(self, buffer: Buffer) -> int:
        """Return the size of a buffer in chunks."""
        sizes = {Buffer.INPUT: self.input_chunks, Buffer.OUTPUT: self.output_chunks}
        return sizes.get(buffer, self.scratch_chunks)


@dataclass(frozen=True, eq=False)
class Plan:
    """A whole file. ``min_bytes`` and ``max_bytes`` bound the calls that it may serve, both included."""

    name: str
    collective: str
    protocol: str
    in_place: bool
    ranks: tuple[PlanRank, ...]
    min_bytes: int = 0
    max_bytes: int = 2**64 - 1
    alignment: int = 16
    """Bytes; chunks are whole multiples of it."""
    threads: int = 1024
    """Threads of a thread block."""
    reuse: bool = False
    double_scratch: bool = False
    extra: tuple[str, ...] = field(default=())
    """Members of the file that its loader does not read."""

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.ranks)
