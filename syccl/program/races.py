"""Races between thread blocks: two accesses to one chunk, one of them a write, that nothing orders.

Thread blocks are ordered by messages and dependences only, also through other ranks. That order does not depend on
timing, so vector clocks along one legal execution decide for all of them (Flanagan and Freund, FastTrack, PLDI 2009):
along it, every access must come after the last write, and every write after the reads since then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.program.columns import Columns, Flags, Ints
from syccl.program.memory import Operands
from syccl.program.order import Parts

Rows = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Clocks:
    """How far each part knows the other thread blocks of its rank."""

    position: Ints
    """Place of each part in the execution."""
    own: Ints
    """Place of each part in its thread block."""
    neighbour: Ints
    """Place of each part's thread block among those of its rank."""
    version: Ints
    """Row of ``known`` that holds for each part."""
    known: Rows
    """Parts of each thread block of the rank that are done before; shape (versions, most blocks of a rank)."""

    def ordered(self, earlier: Ints, later: Ints, block: Ints) -> Flags:
        """Return which earlier parts are surely done before the later ones; both of one rank, by execution order."""
        knows: Flags = self.known[self.version[later], self.neighbour[earlier]] > self.own[earlier]
        same: Flags = block[earlier] == block[later]
        return same | knows


def clocks(table: Columns, parts: Parts, order: list[int], *, messages: bool) -> Clocks:
    """Return vector clocks for all parts.

    Parameters
    ----------
    table, parts
        The program.
    order
        All parts in an order in which they can run with unbounded FIFOs.
    messages
        Whether messages order thread blocks too; without them only the dependences within each rank do, which
        needs no clocks of other ranks.
    """
    start = np.searchsorted(table.rank, table.rank)
    neighbour = np.arange(len(start)) - start
    most = int(neighbour.max(initial=0)) + 1
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    own = np.arange(len(order)) - parts.first[parts.block]
    columns = np.arange(len(start)) if messages else neighbour
    waits = [parts.depends, parts.takes] if messages else [parts.depends]
    shown = start if messages else np.zeros_like(start)
    version, known = _walk(parts, order, waits, _Layout(columns.tolist(), shown.tolist(), most))
    return Clocks(position, own, neighbour[parts.block], version, known)


class _Layout(NamedTuple):
    """How clock rows are laid out: the column of each thread block, and from where ``width`` columns are its rank's."""

    columns: list[int]
    shown: list[int]
    width: int


def _walk(parts: Parts, order: list[int], waits: list[Ints], layout: _Layout) -> tuple[Ints, Rows]:
    """Run along the execution and join clocks; a clock row is shared until something is joined to it.

    Rows hold what a thread block knows of all others, never of itself. The row of a part is kept only as long as
    some other part still waits for that part.
    """
    blocks = parts.block.tolist()
    own = (np.arange(len(order)) - parts.first[parts.block]).tolist()
    awaited_parts = np.concatenate(waits)
    uses = np.bincount(awaited_parts[awaited_parts >= 0], minlength=len(own)).tolist()
    kind = np.int16 if max(own, default=0) < np.iinfo(np.int16).max else np.int32
    known: Rows = np.zeros((sum(uses) + 1, layout.width), dtype=kind)
    version = [0] * len(own)
    # The shown columns of the last rank may reach beyond its thread blocks, hence the margin.
    current: list[Rows] = [np.zeros(max(layout.columns, default=0) + layout.width, dtype=kind)] * len(layout.columns)
    current_version = [0] * len(current)
    kept: dict[int, Rows] = {}
    last = 0
    pairs = list(zip(*(column.tolist() for column in waits), strict=True))
    for part in order:
        block = blocks[part]
        for awaited in pairs[part]:
            if awaited < 0:
                continue
            other = blocks[awaited]
            if other != block and current[block][layout.columns[other]] <= own[awaited]:
                current[block] = row = np.maximum(current[block], kept[awaited])
                row[layout.columns[other]] = own[awaited] + 1
                current_version[block] = last = last + 1
                known[last] = row[layout.shown[block] : layout.shown[block] + layout.width]
            uses[awaited] -= 1
            if not uses[awaited]:
                del kept[awaited]
        if uses[part]:
            kept[part] = current[block]
        version[part] = current_version[block]
    return np.array(version, dtype=np.int64), known[: last + 1]


class Race(NamedTuple):
    """Two parts that touch one location without order; the first one came first in the execution."""

    first: int
    second: int
    verbs: tuple[str, str]
    operand: str
    """The location in the words of the second part, as ``s[1]``."""


def races(operands: Operands, clocks: Clocks) -> list[Race]:
    """Return the races, one for each two steps, in order of locations."""
    part, write, location, from_source = _accesses(operands)
    order = np.lexsort((clocks.position[part], location))
    part, write, location, from_source = part[order], write[order], location[order], from_source[order]
    index = np.arange(len(part))
    segment = np.searchsorted(location, location)
    last_write = np.concatenate([[-1], np.maximum.accumulate(np.where(write, index, -1))])[:-1]
    next_write = np.minimum.accumulate(np.where(write, index, len(index))[::-1])[::-1]
    after_write = np.flatnonzero(last_write >= segment)
    read = np.flatnonzero(~write & (next_write < len(index)))
    read = read[location[next_write[read]] == location[read]]
    first = np.concatenate([last_write[after_write], read])
    second = np.concatenate([after_write, next_write[read]])
    wrong = np.flatnonzero(~clocks.ordered(part[first], part[second], operands.parts.block))
    found: dict[tuple[int, int], Race] = {}
    for k in wrong.tolist():
        a, b = int(first[k]), int(second[k])
        steps = int(operands.parts.step[part[a]]), int(operands.parts.step[part[b]])
        if steps not in found:
            verbs = "writes" if write[a] else "reads", "writes" if write[b] else "reads"
            name = operands.name(int(part[b]), source=bool(from_source[b]))
            found[steps] = Race(int(part[a]), int(part[b]), verbs, name)
    return list(found.values())


def _accesses(operands: Operands) -> tuple[Ints, Flags, Ints, Flags]:
    """Return part, whether it writes, location and whether that is the source operand, of every access."""
    reads = np.flatnonzero(operands.reads_source)
    writes = np.flatnonzero(operands.writes_target)
    part = np.concatenate([reads, writes])
    is_read = np.arange(len(part)) < len(reads)
    location = np.concatenate([operands.source[reads], operands.target[writes]])
    return part, ~is_read, location, is_read
