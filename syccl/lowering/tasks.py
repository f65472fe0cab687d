"""From transfers to tasks: what each thread block will have to do, before anything is said about order.

Works in the quotient: only representative ranks get tasks, with peers and chunks as seen from them. A block is one end
of one connection (a send block or a receive block); where a whole connection is forwarded over one other connection,
as in rings and chains, the two ends share a block and its steps are fused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from syccl.collective import ALL, Demand
from syccl.lowering.layout import Places, input_offset, output_offset
from syccl.lowering.wiring import Block as Block
from syccl.lowering.wiring import Ends as Ends
from syccl.lowering.wiring import Wiring as Wiring
from syccl.lowering.wiring import ends_of as ends_of
from syccl.lowering.wiring import paired_blocks
from syccl.program import Buffer, Slot, StepType
from syccl.schedule import Schedule
from syccl.simulate.cost import MAX_COUNT


class Task(NamedTuple):
    """One step to be: operands, what it waits for, and the row of the schedule that it sends or receives.

    Reductions of one ``lock`` are done one at a time, in any order: the first adds to ``src``, later ones to ``dst``.
    """

    type: StepType
    block: Block
    src: Slot
    dst: Slot
    after: tuple[int, ...]
    row_in: int = -1
    row_out: int = -1
    lock: int = -1
    cnt: int = 1


def plan_tasks(schedule: Schedule, wiring: Wiring) -> tuple[Task, ...]:
    """Return the tasks of the representative ranks.

    Parameters
    ----------
    schedule
        Explicit, or compressed by a group that is semiregular on ranks.
    """
    return _Planner(schedule, wiring).plan()


class _Version(NamedTuple):
    """What a rank holds of a chunk between two arrivals: since which stage, by which rows, where, and who reads it."""

    stage: int
    rows: list[int]
    slot: Slot
    readers: list[int]


class _Planner:
    def __init__(self, schedule: Schedule, wiring: Wiring) -> None:
        self.wiring, self.demand, self.places = wiring, schedule.demand, Places(schedule)
        self.counts = schedule.demand.counts.tolist()
        self.stage = schedule.transfers.stage.tolist()
        self.reduce = schedule.transfers.reduce.tolist()
        self.end = max(self.stage, default=0) + 1
        self.ends = ends_of(schedule, wiring)
        self.into: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.out: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row in range(len(self.stage)):
            self.out[self.ends.sender[row], self.ends.sender_chunk[row]].append(row)
            self.into[self.ends.receiver[row], self.ends.receiver_chunk[row]].append(row)
        self.nodes = sorted(self.into.keys() | self.out.keys())
        if schedule.symmetry is None:
            self.representatives = list(range(self.demand.ranks))
        else:
            self.representatives = [orbit[0] for orbit in schedule.symmetry.group.rank_orbits]
        self.scratch: dict[int, int] = defaultdict(int)
        self.versions = {node: self._versions(node) for node in self.nodes}
        self.forward = self._forwarded() if wiring.fuse else {}
        self.send_task, self.receive_task = self._number()
        self.locks = 0

    def plan(self) -> tuple[Task, ...]:
        tasks: dict[int, Task] = {}
        for node in self.nodes:
            self._receives(node, tasks)
        for node in self.nodes:
            self._sends(node, tasks)
        copies = [task for rank in self.representatives for task in self._copies(rank)]
        return tuple([tasks[i] for i in range(len(tasks))] + copies)

    def _number(self) -> tuple[list[int], list[int]]:
        """Return the task that sends and the task that receives each row; a fused task does both."""
        rows = range(len(self.stage))
        receive = list(rows)
        back = {send: receive for receive, send in self.forward.items()}
        fresh = iter(range(len(receive), 2 * len(receive)))
        return [back[row] if row in back else next(fresh) for row in rows], receive

    def _versions(self, node: tuple[int, int]) -> list[_Version]:
        """Return all versions of a chunk on a rank, the first being what the rank starts with."""
        rank, chunk = node
        stages = sorted({self.stage[row] for row in self.into[node]})
        rows = [[row for row in self.into[node] if self.stage[row] == stage] for stage in stages]
        since = [-1, *stages]
        until = [*stages, self.end]
        readers = [
            [row for row in self.out[node] if low < self.stage[row] <= high]
            for low, high in zip(since, until, strict=True)
        ]
        wanted = wants(self.demand, rank, chunk)
        slots: list[Slot] = []
        for i in range(len(stages), 0, -1):
            is_last = i == len(stages)
            is_replaced = not is_last and not self.reduce[rows[i][0]]
            if not is_last and not is_replaced and not readers[i]:
                slots.append(slots[-1])
            elif wanted and (is_last or is_replaced):
                slots.append(Slot(Buffer.OUTPUT, output_offset(self.demand, chunk)))
            else:
                slots.append(Slot(Buffer.SCRATCH, self.scratch[rank]))
                self.scratch[rank] += self.counts[chunk]
        slots.append(Slot(Buffer.INPUT, input_offset(self.demand, chunk)))
        return [_Version(*v) for v in zip(since, [[], *rows], reversed(slots), readers, strict=True)]

    def _forwarded(self) -> dict[int, int]:
        """Return row in -> row out for every connection that is forwarded, as a whole, over one other connection."""
        onward: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
        blocked: set[tuple[int, int, int]] = set()
        targets: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        for node in self.nodes:
            for version in self.versions[node][1:]:
                key = self._receiving(version.rows[0])
                if len(version.rows) > 1 or len(version.readers) > 1:
                    blocked.update(self._receiving(row) for row in version.rows)
                for out in version.readers:
                    onward[key][version.rows[0]] = out
                    targets[key].add(self.ends.sender_peer[out])
                    if self.ends.sender_channel[out] != key[2]:
                        blocked.add(key)
        taken: dict[tuple[int, int, int], int] = defaultdict(int)
        for key, peers in targets.items():
            for peer in peers:
                taken[key[0], peer, key[2]] += 1
        received: dict[tuple[int, int, int], int] = defaultdict(int)
        for row in range(len(self.stage)):
            received[self._receiving(row)] += 1
        forward: dict[int, int] = {}
        for key, pairs in onward.items():
            alone = len(targets[key]) == 1 and taken[key[0], next(iter(targets[key])), key[2]] == 1
            if key not in blocked and alone and 2 * len(pairs) >= received[key]:
                forward.update(pairs)
        return forward

    def _receiving(self, row: int) -> tuple[int, int, int]:
        """Return the connection that a row arrives on, as its receiver sees it: rank, peer, channel."""
        return self.ends.receiver[row], self.ends.receiver_peer[row], self.ends.receiver_channel[row]

    def _sending(self, row: int) -> tuple[int, int, int]:
        """Return the connection that a row leaves on, as its sender sees it: rank, peer, channel."""
        return self.ends.sender[row], self.ends.sender_peer[row], self.ends.sender_channel[row]

    def _block(self, row: int, *, sending: bool) -> Block:
        rank, peer, channel = self._sending(row) if sending else self._receiving(row)
        joined = self._joined.get((rank, sending, peer, channel))
        if joined is not None:
            return joined
        return Block(rank, peer, -1, channel) if sending else Block(rank, -1, peer, channel)

    @cached_property
    def _joined(self) -> dict[tuple[int, bool, int, int], Block]:
        """Blocks that hold two ends: of a forwarded connection, or of any two where blocks are few."""
        if self.wiring.paired:
            return paired_blocks(self.ends)
        table: dict[tuple[int, bool, int, int], Block] = {}
        for row_in, row_out in self.forward.items():
            rank, source, channel = self._receiving(row_in)
            target = self.ends.sender_peer[row_out]
            block = Block(rank, target, source, channel)
            table[rank, False, source, channel] = table[rank, True, target, channel] = block
        return table

    def _receives(self, node: tuple[int, int], tasks: dict[int, Task]) -> None:
        versions = self.versions[node]
        for i, version in enumerate(versions[1:]):
            before = versions[i]
            reduces = self.reduce[version.rows[0]]
            after = [self.receive_task[row] for row in before.rows] if reduces else []
            after += self._overwritten(versions[: i + 1], version.slot, reduces=reduces)
            lock = -1
            if reduces and len(version.rows) > 1:
                lock, self.locks = self.locks, self.locks + 1
            stored = self._is_stored(node, versions[i + 2 :])
            for row in version.rows:
                out = self.forward.get(row, -1)
                kind = _receive_type(reduces, stored, forwards=out >= 0)
                src = before.slot if reduces else version.slot
                tasks[self.receive_task[row]] = Task(
                    kind,
                    self._block(row, sending=False),
                    src,
                    version.slot,
                    tuple(dict.fromkeys(after)),
                    row,
                    out,
                    lock,
                    self.counts[node[1]],
                )

    def _is_stored(self, node: tuple[int, int], later: Sequence[_Version]) -> bool:
        """Return whether a rank still needs what it holds of a chunk once that has been forwarded."""
        return self.reduce[later[0].rows[0]] if later else wants(self.demand, *node)

    def _overwritten(self, earlier: Sequence[_Version], slot: Slot, *, reduces: bool) -> list[int]:
        """Return the sends of earlier versions from memory that the next one is written to."""
        if not reduces and sum(len(version.readers) for version in earlier) == 1:
            # A finished sum that comes back holds what the only send took away.
            return []
        # In place the output is the input.
        shared = {Buffer.INPUT, Buffer.OUTPUT}
        read = [v for v in earlier if v.slot == slot or {v.slot.buffer, slot.buffer} == shared]
        return [self.send_task[row] for version in read for row in version.readers]

    def _sends(self, node: tuple[int, int], tasks: dict[int, Task]) -> None:
        for version in self.versions[node]:
            after = tuple(self.receive_task[row] for row in version.rows)
            for row in version.readers:
                if self.send_task[row] not in tasks:
                    block = self._block(row, sending=True)
                    tasks[self.send_task[row]] = Task(
                        StepType.SEND, block, version.slot, version.slot, after, row_out=row, cnt=self.counts[node[1]]
                    )

    def _copies(self, rank: int) -> list[Task]:
        """Return the local copies of what a rank both holds and wants, in runs of consecutive chunks."""
        demand = self.demand
        own = [
            chunk
            for chunk in np.flatnonzero((demand.sources == rank) | (demand.sources == ALL)).tolist()
            if wants(demand, rank, chunk) and not self.into.get((rank, chunk))
        ]
        if not own:
            return []
        total = sum(self.counts[chunk] for chunk in own)
        run = min(MAX_COUNT, -(-total // self.wiring.copy_blocks))
        copies: list[Task] = []
        for src, dst, length in self._copied(rank, own, run):
            block = Block(rank, -1, -1, 0, len(copies) % self.wiring.copy_blocks)
            copies.append(Task(StepType.COPY, block, src, dst, (), cnt=length))
        return copies

    def _copied(self, rank: int, own: list[int], longest: int) -> list[tuple[Slot, Slot, int]]:
        """Return source, target and length of runs of chunks that are consecutive in both, on every image of a rank."""
        runs: list[tuple[Slot, Slot, int]] = []
        for chunk in own:
            for i in range(self.counts[chunk]):
                source = Slot(Buffer.INPUT, input_offset(self.demand, chunk) + i)
                target = Slot(Buffer.OUTPUT, output_offset(self.demand, chunk) + i)
                first, other, length = runs[-1] if runs else (source, target, longest)
                consecutive = (source.offset - first.offset, target.offset - other.offset) == (length, length)
                pairs = ((first, source), (other, target))
                if length < longest and consecutive and all(self.places.stay_apart(rank, *pair) for pair in pairs):
                    runs[-1] = (first, other, length + 1)
                else:
                    runs.append((source, target, 1))
        return runs


def _receive_type(reduces: bool, stored: bool, *, forwards: bool) -> StepType:
    """Return the step of a receive."""
    if not forwards:
        return StepType.RECV_REDUCE_COPY if reduces else StepType.RECV
    if not reduces:
        return StepType.RECV_COPY_SEND
    return StepType.RECV_REDUCE_COPY_SEND if stored else StepType.RECV_REDUCE_SEND


def wants(demand: Demand, rank: int, chunk: int) -> bool:
    """Return whether a rank must hold a chunk in the end."""
    return int(demand.targets[chunk]) in {ALL, rank}
