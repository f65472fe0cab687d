"""What must be moved: chunks, each with a source and a target.

Every collective is data: a chunk's *source* is the rank that holds it, or ``ALL`` when every rank holds a
contribution and the chunk is their sum; its *target* is the rank that wants it, or ``ALL``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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

ALLTOALLV = Op("alltoallv", "pair", "pair", "(n-1)/n")
"""Alltoall whose pairs of ranks have different amounts to move, stated by a matrix."""


def op_named(name: str) -> Op:
    """Return the collective of that name (``reduce_scatter`` and ``all_gather`` spellings are read too).

    Raises
    ------
    InputError
        When there is no such collective.
    """
    known = {**OPS, ALLTOALLV.name: ALLTOALLV}
    op = known.get(name.lower().replace("_", "").replace("-", ""))
    if op is None:
        msg = f"unknown collective {name!r}; choose one of {', '.join(known)}"
        raise InputError(msg)
    return op


def require_equal(op: Op) -> None:
    """Raise unless a collective moves equal parts of a size.

    Raises
    ------
    InputError
        When it is alltoallv.
    """
    if op == ALLTOALLV:
        msg = "alltoallv has no sizes but a matrix; ask `syccl synth` or `syccl bound` with --matrix FILE"
        raise InputError(msg)


def busbw_factor(op: Op, ranks: int) -> float:
    """Return nccl-tests' factor from algbw to busbw."""
    if op.busbw_factor == "1":
        return 1.0
    return (2 if op.busbw_factor.startswith("2") else 1) * (ranks - 1) / ranks


class Part(NamedTuple):
    """A chunk of alltoallv: where it starts, where it must end, and its bytes."""

    source: int
    target: int
    size_bytes: int


@dataclass(frozen=True)
class Demand:
    """A collective over ``ranks`` ranks, its buffer cut into ``chunks`` equal chunks.

    ``chunks`` counts the chunks of the *total* buffer, whose size is nccl-tests' size: the send buffer of one rank
    for allreduce, broadcast, reduce, alltoall and reducescatter, the receive buffer of one rank for allgather, and
    the root's larger buffer for gather and scatter. For alltoall there are ``chunks`` chunks *per sender*.

    Chunks of alltoallv are unequal: ``parts`` lists them, and ``chunks`` counts them. Its size is that of the largest
    send or receive buffer of any rank, which is nccl-tests' size of alltoall where all parts are equal.

    Raises
    ------
    InputError
        When counts do not divide, the root is out of range, or parts are missing, out of range or not wanted.
    """

    op: Op
    ranks: int
    chunks: int
    root: int = 0
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        """Check counts and root."""
        if self.op.rooted and not 0 <= self.root < self.ranks:
            msg = f"root {self.root} is out of range; choose 0..{self.ranks - 1}"
            raise InputError(msg)
        if not self.op.rooted and self.root != 0:
            msg = f"{self.op.name} has no root; root is {self.root}"
            raise InputError(msg)
        if self.op == ALLTOALLV:
            self._check_parts()
            return
        if self.parts:
            msg = f"{self.op.name} has equal chunks; only alltoallv has parts"
            raise InputError(msg)
        blocked = "block" in (self.op.source, self.op.target) or self.op.source == "pair"
        if self.chunks < 1 or (blocked and self.chunks % self.ranks):
            msg = f"{self.op.name} over {self.ranks} ranks cannot be cut into {self.chunks} chunks"
            raise InputError(msg)

    def _check_parts(self) -> None:
        if self.chunks != len(self.parts):
            msg = f"alltoallv has {len(self.parts)} parts, but chunks is {self.chunks}"
            raise InputError(msg)
        for i, part in enumerate(self.parts):
            if not (0 <= part.source < self.ranks and 0 <= part.target < self.ranks and part.size_bytes > 0):
                msg = (
                    f"part {i} of alltoallv ({part.size_bytes} bytes, {part.source}->{part.target}) must have at least "
                    f"a byte and ranks from 0 to {self.ranks - 1}"
                )
                raise InputError(msg)

    @property
    def chunk_ids(self) -> int:
        """Number of distinct chunks in the whole job (alltoall: ``ranks * chunks``, else ``chunks``)."""
        return self.chunks * (self.ranks if self.op.source == "pair" and not self.is_unequal else 1)

    @property
    def is_unequal(self) -> bool:
        """Whether chunks have sizes of their own."""
        return self.op == ALLTOALLV

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """Bytes from each rank (row) to each rank by the parts of alltoallv, shape ``(ranks, ranks)``."""
        table = np.zeros((self.ranks, self.ranks), dtype=np.int64)
        if self.parts:
            source, target, size = np.array(self.parts, dtype=np.int64).T
            np.add.at(table, (source, target), size)
        return table

    @property
    def own_size_bytes(self) -> int:
        """The size that the parts of alltoallv make: the largest send or receive buffer of any rank."""
        return int(max(self.matrix.sum(axis=0).max(), self.matrix.sum(axis=1).max()))

    @cached_property
    def unit_bytes(self) -> int:
        """Largest number of bytes of which all parts of alltoallv are multiples; 1 where there are none."""
        return math.gcd(*(part.size_bytes for part in self.parts)) or 1

    @cached_property
    def buffer_chunks(self) -> int:
        """Number of equal chunks that a runtime cuts the total buffer into: for alltoallv, of ``unit_bytes`` each."""
        return max(1, self.own_size_bytes // self.unit_bytes) if self.is_unequal else self.chunks

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Equal chunks of a runtime's buffer in each chunk, shape ``(chunk_ids,)``: one but for alltoallv."""
        if not self.is_unequal:
            return np.ones(self.chunk_ids, dtype=np.int64)
        return np.array([part.size_bytes // self.unit_bytes for part in self.parts], dtype=np.int64)

    @cached_property
    def places(self) -> tuple[list[int], list[int]]:
        """Where each part of alltoallv starts in its sender's and in its receiver's buffer, in units.

        Buffers have no gaps: what is sent lies in the order of receivers, what is received in that of senders.
        """
        sent, received = [0] * len(self.parts), [0] * len(self.parts)
        sizes = self.counts.tolist()
        for place, mine, others in ((sent, 0, 1), (received, 1, 0)):
            end = [0] * self.ranks
            for i in sorted(range(len(self.parts)), key=lambda i: (self.parts[i][others], i)):
                place[i] = end[self.parts[i][mine]]
                end[self.parts[i][mine]] += sizes[i]
        return sent, received

    def chunk_bytes(self, size_bytes: int) -> NDArray[np.float64]:
        """Return the bytes of every chunk for a total size, shape ``(chunk_ids,)``.

        Raises
        ------
        InputError
            When the parts of alltoallv make another size.
        """
        if not self.is_unequal:
            return np.full(self.chunk_ids, size_bytes / self.chunks)
        if self.own_size_bytes != size_bytes:
            msg = (
                f"the size of this alltoallv is {self.own_size_bytes} bytes, the largest buffer of its matrix, "
                f"not {size_bytes}; leave the size out"
            )
            raise InputError(msg)
        return np.array([part.size_bytes for part in self.parts], dtype=np.float64)

    def _ends(self, role: str, *, sender: bool) -> NDArray[np.int32]:
        if self.is_unequal:
            return np.array([part.source if sender else part.target for part in self.parts], dtype=np.int32)
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
