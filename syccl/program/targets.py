"""Runtimes as data: how each spells a file, what it refuses, what its kernels run, which sizes it takes.

Read from microsoft/msccl at b23e9cd, Azure/msccl-executor-nccl at c6f6b36 and ROCm/rccl at 0cbce2a.
"""

from __future__ import annotations

from dataclasses import dataclass

from syccl.errors import InputError
from syccl.program.ir import StepType

_COMMON = ("proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace")
_PLAIN = frozenset({StepType.SEND, StepType.RECV, StepType.COPY, StepType.REDUCE, StepType.NOP})
_NAMED_ALIKE = ("allreduce", "allgather", "alltoall", "broadcast", "reduce")
_NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Target:
    """A runtime that loads programs; limits are per rank unless said otherwise."""

    name: str
    aliases: tuple[str, ...]
    spellings: tuple[tuple[str, str], ...]
    """Collectives that it knows, each with the value of ``coll`` that means it."""
    required: tuple[str, ...]
    """Attributes of ``algo`` without which it refuses a file."""
    step_types: frozenset[StepType]
    """Steps that its kernels run."""
    reads_out_of_place: bool
    """Whether ``outofplace`` is an attribute of its own; else ``inplace`` alone says which of the two kinds of calls a
    file is for."""
    includes_end: bool
    """Whether a call of ``maxBytes`` bytes is still taken, 0 meaning no limit."""
    default_max_bytes: int
    """``maxBytes`` of a file that does not state it."""
    steps: int
    """Steps of a thread block, no-ops included."""
    blocks: int
    """Thread blocks; all of them spin, so all must fit on the GPU's multiprocessors at once."""
    table_blocks: int
    """Thread blocks that its tables hold."""
    channels: int
    peers: int
    """Thread blocks of a rank that send, or that receive, on one channel."""
    awaited_blocks: int
    """Thread blocks that steps of others can wait for."""
    nodes: int
    """XML elements that its parser holds: the root, all ranks, and one rank's own blocks and steps."""
    chunks: int
    """Chunks in a buffer."""
    count: int
    """Chunks in a step."""
    fused: int
    """Consecutive reductions into one chunk that its kernels may run as one."""
    notes: tuple[str, ...] = ()
    """What its users must know."""
    custom_call: str = ""
    """Call that runs files of alltoallv; empty: it reads them, but none of its calls runs them."""

    def spelling(self, collective: str) -> str | None:
        """Return the value of ``coll`` for a collective; None where it knows none."""
        return dict(self.spellings).get(collective)

    def stated_end(self, last_bytes: int | None) -> int:
        """Return the ``maxBytes`` of a file whose largest call has ``last_bytes`` bytes (None: any)."""
        if last_bytes is None:
            return 0 if self.includes_end else _NO_LIMIT
        return last_bytes if self.includes_end else last_bytes + 1


EXECUTOR = Target(
    name="msccl-executor-nccl",
    aliases=("executor", "azure"),
    spellings=(
        *((name, name) for name in (*_NAMED_ALIKE, "gather", "scatter", "alltoallv")),
        ("reducescatter", "reducescatter"),
    ),
    required=(*_COMMON, "outofplace", "minBytes", "maxBytes"),
    step_types=frozenset(StepType),
    reads_out_of_place=True,
    includes_end=True,
    default_max_bytes=0,
    steps=64,  # MSCCL_MAX_NUM_STEPS
    blocks=108,  # SMs of an A100, the fewest of the GPUs it runs on
    table_blocks=1024,
    channels=32,  # MAXCHANNELS
    peers=32,  # the executor's table of peers of a channel
    awaited_blocks=128,  # depid is int8 in the device struct
    nodes=4095,
    chunks=32768,  # int16 in the device struct
    count=71,
    fused=16,  # MSCCL_MAX_REDUCE_FUSION
    notes=("one process per GPU", "every file of the folder is read at start: keep it clean"),
)
"""Azure/msccl-executor-nccl (NCCL 2.23), the executor most used today and the default."""

MSCCL = Target(
    name="msccl",
    aliases=("microsoft",),
    spellings=(
        *((name, name) for name in (*_NAMED_ALIKE, "custom")),
        ("reducescatter", "reduce_scatter"),
        ("alltoallv", "custom"),
    ),
    required=("name", *_COMMON),
    step_types=frozenset(StepType),
    reads_out_of_place=False,
    includes_end=False,
    default_max_bytes=2**27,
    steps=256,
    blocks=108,
    table_blocks=216,
    channels=32,
    peers=32,
    awaited_blocks=128,
    nodes=4095,
    chunks=32768,
    count=71,
    fused=16,
    custom_call="ncclCustomCollective",
    notes=("at most 4 files", "allocates its scratch for maxBytes at start", "sum, prod, max and min only"),
)
"""microsoft/msccl (NCCL 2.12), the first runtime."""

RCCL = Target(
    name="rccl",
    aliases=("amd",),
    spellings=EXECUTOR.spellings,
    required=EXECUTOR.required,
    step_types=_PLAIN,  # since 2024 its kernels are built without the others ("full Ops")
    reads_out_of_place=True,
    includes_end=True,
    default_max_bytes=0,
    steps=64,
    blocks=64,
    table_blocks=64,
    channels=128,
    peers=32,
    awaited_blocks=64,
    nodes=4095,
    chunks=32768,
    count=71,
    fused=4095,  # its kernels have no array that could overrun
    notes=("files are tried in no stated order: let their ranges not overlap",),
)
"""ROCm/rccl (October 2024)."""

TARGETS = (EXECUTOR, MSCCL, RCCL)


def target_named(name: str) -> Target:
    """Return the runtime of that name.

    Raises
    ------
    InputError
        When there is no such runtime.
    """
    for target in TARGETS:
        if name.lower() in (target.name, *target.aliases):
            return target
    known = ", ".join(f"{target.name} (or {', '.join(target.aliases)})" for target in TARGETS)
    msg = f"unknown target {name!r}; choose one of {known}"
    raise InputError(msg)
