"""What must be moved: chunks, each with a source and a target.

Every collective is data: a chunk's *source* is the rank that holds it, or ``ALL`` when every rank holds a
contribution and the chunk is their sum; its *target* is the rank that wants it, or ``ALL``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError

ALL = -1
"""Source: summed over all ranks. Target: wanted by all ranks."""


@dataclass(frozen=True, slots=True)
class Op:
    """A collective operation as data.

    ``source`` and ``target`` say which rank a chunk starts and ends at: ``"all"``, ``"root"``, ``"block"``
    (the rank that owns the chunk's block of the total buffer) or ``"pair"`` (one block per ordered pair).
    """

    name: str
    source: str
    target: str
    busbw_factor: str
    """nccl-tests' factor from algbw to busbw: ``"2(n-1)/n"``, ``"(n-1)/n"`` or ``"1"``."""

    @property
    def reduces(self) -> bool:
        """Whether chunks are sums of contributions."""
        return self.source == "all"

    @property
    def rooted(self) -> bool:
        """Whether one rank plays a special role."""
        return "root" in (self.source, self.target)


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("allgather", "block", "all", "(n-1)/n"),
        Op("reducescatter", "all", "block", "(n-1)/n"),
        Op("allreduce", "all", "all", "2(n-1)/n"),
        Op("alltoall", "pair", "pair", "(n-1)/n"),
        Op("broadcast", "root", "all", "1"),
        Op("reduce", "all", "root", "1"),
        Op("gather", "block", "root", "(n-1)/n"),
        Op("scatter", "root", "block", "(n-1)/n"),
    )
}


def op_named(name: str) -> Op:
    """Return the collective of that name (``reduce_scatter`` and ``all_gather`` spellings are read too).

    Raises
    ------
    InputError
        When there is no such collective.
    """
    op = OPS.get(name.lower().replace("_", "").replace("-", ""))
    if op is None:
        msg = f"unknown collective {name!r}; choose one of {', '.join(OPS)}"
        raise InputError(msg)
    return op


def busbw_factor(op: Op, ranks: int) -> float:
    """Return nccl-tests' factor from algbw to busbw."""
    if op.busbw_factor == "1":
        return 1.0
    return (2 if op.busbw_factor.startswith("2") else 1) * (ranks - 1) / ranks


@dataclass(frozen=True)
class Demand:
    """A collective over ``ranks`` ranks, its buffer cut into ``chunks`` equal chunks.

    ``chunks`` counts the chunks of the *total* buffer, whose size is nccl-tests' size: the send buffer of one rank
    for allreduce, broadcast, reduce, alltoall and reducescatter, the receive buffer of one rank for allgather, and
    the root's larger buffer for gather and scatter. For alltoall there are ``chunks`` chunks *per sender*.

    Raises
    ------
    InputError
        When counts do not divide or the root is out of range.
    """

    op: Op
    ranks: int
    chunks: int
    root: int = 0

    def __post_init__(self) -> None:
        """Check counts and root."""
        if self.op.rooted and not 0 <= self.root < self.ranks:
            msg = f"root {self.root} is out of range; choose 0..{self.ranks - 1}"
            raise InputError(msg)
        if not self.op.rooted and self.root != 0:
            msg = f"{self.op.name} has no root; root is {self.root}"
            raise InputError(msg)
        blocked = "block" in (self.op.source, self.op.target) or self.op.source == "pair"
        if self.chunks < 1 or (blocked and self.chunks % self.ranks):
            msg = f"{self.op.name} over {self.ranks} ranks cannot be cut into {self.chunks} chunks"
            raise InputError(msg)

    @property
    def chunk_ids(self) -> int:
        """Number of distinct chunks in the whole job (alltoall: ``ranks * chunks``, else ``chunks``)."""
        return self.chunks * (self.ranks if self.op.source == "pair" else 1)

    def _ends(self, role: str, *, sender: bool) -> NDArray[np.int32]:
        ids = np.arange(self.chunk_ids, dtype=np.int32)
        per_block = max(1, self.chunks // self.ranks)
        if role == "all":
            return np.full(self.chunk_ids, ALL, dtype=np.int32)
        if role == "root":
            return np.full(self.chunk_ids, self.root, dtype=np.int32)
        if role == "pair":
            block = (ids // self.chunks) if sender else (ids % self.chunks) // per_block
            return np.asarray(block, dtype=np.int32)
        return np.asarray(ids // per_block, dtype=np.int32)

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """Rank that holds each chunk at the start, or ``ALL``; shape ``(chunk_ids,)``."""
        return self._ends(self.op.source, sender=True)

    @cached_property
    def targets(self) -> NDArray[np.int32]:
        """Rank that wants each chunk in the end, or ``ALL``; shape ``(chunk_ids,)``."""
        return self._ends(self.op.target, sender=False)
