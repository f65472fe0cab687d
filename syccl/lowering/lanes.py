"""From transfers to what each rank does one-sidedly, lane by lane: puts, signals, waits and local sums.

All transfers of a chunk are in one lane, and a lane is one thread block on every rank. What waits for what is then
within a block, where operations stand in the schedule's order, so that no block waits for another of its rank.
Nothing blocks but waits, and each waits for transfers of lower order only: no deadlock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from syccl.collective import Demand
from syccl.lowering.layout import input_offset, output_offset
from syccl.lowering.tasks import wants
from syccl.program import Buffer, Slot
from syccl.schedule import Schedule


class Put(NamedTuple):
    """A chunk written into a peer's memory."""

    peer: int
    src: Slot
    dst: Slot


class Sum(NamedTuple):
    """Local chunks added up; the first source comes first."""

    sources: tuple[Slot, ...]
    dst: Slot


@dataclass
class Turn:
    """What a rank does between two waits: waits (so many signals of a peer), sums, puts, a signal to each peer."""

    waits: dict[int, int] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)


Turns = dict[int, list[Turn]]
"""The turns of every rank of a lane."""


@dataclass(frozen=True, eq=False)
class Lanes:
    """All lanes, each with the turns of every rank, and the scratch of each rank in chunks."""

    turns: tuple[Turns, ...]
    scratch: dict[int, int]


class _Version(NamedTuple):
    """What a rank holds of a chunk after the rows of one stage: where, and where each row's data arrives."""

    rows: list[int]
    slot: Slot
    arrives: list[Slot]
    reduces: bool


def lanes_of(schedule: Schedule, lane: Sequence[int]) -> Lanes:
    """Return the turns of all ranks.

    Parameters
    ----------
    schedule
        Explicit.
    lane
        The lane of every chunk, from 0 on.
    """
    memory = _Memory(schedule)
    rows = schedule.transfers
    by_lane: dict[int, list[int]] = {number: [] for number in range(max(lane, default=0) + 1)}
    order, chunk = rows.order.tolist(), rows.chunk.tolist()
    for row in sorted(range(len(rows)), key=lambda row: (order[row], row)):
        by_lane[lane[chunk[row]]].append(row)
    turns = tuple(_Lane(schedule, memory).turns(mine) for mine in by_lane.values())
    return Lanes(turns, memory.scratch)


class _Memory:
    """Where every rank keeps what it holds of each chunk, in the course of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self.demand, rows = schedule.demand, schedule.transfers
        self.reduce, self.stage = rows.reduce.tolist(), rows.stage.tolist()
        self.scratch: dict[int, int] = defaultdict(int)
        into: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, node in enumerate(zip(rows.dst.tolist(), rows.chunk.tolist(), strict=True)):
            into[node].append(row)
        self.versions = {node: self._versions(node, into[node]) for node in sorted(into)}
        self.arrival: dict[int, Slot] = {}
        for versions in self.versions.values():
            for version in versions:
                self.arrival.update(zip(version.rows, version.arrives, strict=True))

    def _versions(self, node: tuple[int, int], rows: list[int]) -> list[_Version]:
        rank, chunk = node
        found: list[_Version] = []
        stages = sorted({self.stage[row] for row in rows})
        for stage in stages:
            mine = [row for row in rows if self.stage[row] == stage]
            reduces = self.reduce[mine[0]]
            final = stage == stages[-1] and wants(self.demand, rank, chunk)
            output = Slot(Buffer.OUTPUT, output_offset(self.demand, chunk))
            if reduces or not final:
                arrives = [self._spare(rank) for _ in mine]
                found.append(_Version(mine, output if final else arrives[0], arrives, reduces))
            else:
                found.append(_Version(mine, output, [output] * len(mine), reduces))
        return found

    def _spare(self, rank: int) -> Slot:
        self.scratch[rank] += 1
        return Slot(Buffer.SCRATCH, self.scratch[rank] - 1)

    def held(self, node: tuple[int, int], stage: int) -> tuple[list[_Version], Slot]:
        """Return the versions that a row of a stage waits for, and where what it carries lies."""
        before = [v for v in self.versions.get(node, []) if self.stage[v.rows[0]] < stage]
        return before, before[-1].slot if before else Slot(Buffer.INPUT, input_offset(self.demand, node[1]))


class _Lane:
    def __init__(self, schedule: Schedule, memory: _Memory) -> None:
        self.memory, self.ranks = memory, range(schedule.demand.ranks)
        rows = schedule.transfers
        self.src, self.dst, self.chunk = rows.src.tolist(), rows.dst.tolist(), rows.chunk.tolist()
        self.made: Turns = {rank: [Turn()] for rank in self.ranks}
        self.sent: dict[tuple[int, int], int] = defaultdict(int)
        self.waited: dict[tuple[int, int], int] = defaultdict(int)
        self.signal: dict[int, int] = {}
        self.summed: set[tuple[int, int, int]] = set()

    def turns(self, rows: Sequence[int]) -> Turns:
        for row in rows:
            self._put(row)
        nodes = sorted({(self.dst[row], self.chunk[row]) for row in rows})
        for node in nodes:
            self._need(node, self.memory.versions[node])
        for (peer, rank), count in sorted(self.sent.items()):
            # What is left over are signals of chunks that this rank did not look at; none may stay.
            self._wait(rank, peer, count)
        return self.made

    def _put(self, row: int) -> None:
        rank, peer = self.src[row], self.dst[row]
        before, slot = self.memory.held((rank, self.chunk[row]), self.memory.stage[row])
        self._need((rank, self.chunk[row]), before)
        turn = self.made[rank][-1]
        if all(put.peer != peer for put in turn.puts):
            self.sent[rank, peer] += 1
        self.signal[row] = self.sent[rank, peer]
        turn.puts.append(Put(peer, slot, self.memory.arrival[row]))

    def _need(self, node: tuple[int, int], versions: Sequence[_Version]) -> None:
        """Let a rank wait for versions of a chunk and add up what is to be added."""
        rank, chunk = node
        for version in versions:
            for row in version.rows:
                self._wait(rank, self.src[row], self.signal[row])
            key = (rank, chunk, self.memory.stage[version.rows[0]])
            if version.reduces and key not in self.summed:
                self.summed.add(key)
                _, slot = self.memory.held(node, key[2])
                if self.made[rank][-1].puts:
                    self.made[rank].append(Turn())
                self.made[rank][-1].sums.append(Sum((slot, *version.arrives), version.slot))

    def _wait(self, rank: int, peer: int, count: int) -> None:
        lacking = count - self.waited[peer, rank]
        if lacking <= 0:
            return
        self.waited[peer, rank] = count
        turn = self.made[rank][-1]
        if turn.puts or turn.sums:
            turn = Turn()
            self.made[rank].append(turn)
        turn.waits[peer] = turn.waits.get(peer, 0) + lacking


def own_copies(demand: Demand, rank: int, received: set[int]) -> list[tuple[Slot, Slot, int]]:
    """Return (source, target, chunk) of what a rank both holds and wants."""
    return [
        (Slot(Buffer.INPUT, input_offset(demand, c)), Slot(Buffer.OUTPUT, output_offset(demand, c)), c)
        for c in range(len(demand.sources))
        if int(demand.sources[c]) in {rank, -1} and wants(demand, rank, c) and c not in received
    ]
