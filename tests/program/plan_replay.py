"""An execution plan run on numbers with a random legal interleaving; nothing is shared with its proof."""

from __future__ import annotations

import random
from collections import defaultdict, deque

import numpy as np

from syccl.program.ir import Buffer
from syccl.program.mscclpp.ir import PORT, Op, Plan, Ref

Block = tuple[int, int]


class Run:
    """One run: operations of a phase in any order, puts of the host as late as may be, blocks in any order."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan, self.dice = plan, random.Random(seed)
        self.memory: dict[tuple[int, Buffer], np.ndarray] = {}
        whole = max(max(rank.input_chunks, rank.output_chunks) for rank in plan.ranks)
        for rank in plan.ranks:
            values = np.random.default_rng(rank.rank).integers(1, 1 << 30, rank.input_chunks)
            both = np.full(whole, -1)
            first = rank.rank * rank.input_chunks if rank.input_chunks < whole else 0
            out = rank.rank * rank.output_chunks if rank.output_chunks < whole else 0
            own = both if plan.in_place else np.full(rank.input_chunks, -1)
            self.memory[rank.rank, Buffer.INPUT] = both[first : first + rank.input_chunks] if plan.in_place else own
            self.memory[rank.rank, Buffer.INPUT][:] = values
            self.memory[rank.rank, Buffer.OUTPUT] = both[out : out + rank.output_chunks]
            self.memory[rank.rank, Buffer.SCRATCH] = np.full(rank.scratch_chunks, -1)
        self.inputs = [self.memory[rank.rank, Buffer.INPUT].copy() for rank in plan.ranks]
        self.signals: dict[tuple[str, int, int], int] = defaultdict(int)
        self.host: dict[tuple[str, int, int], deque[tuple[int, Ref, Ref, Block]]] = defaultdict(deque)
        self.ended = self.go()

    def go(self) -> bool:
        todo = {(rank.rank, block.id): deque(block.ops) for rank in self.plan.ranks for block in rank.blocks}
        while any(todo.values()):
            live = [block for block, ops in todo.items() if ops]
            self.dice.shuffle(live)
            moved = sum(self.step(block, todo[block]) for block in live)
            if not moved:
                return False
        return not any(self.signals.values())

    def step(self, block: Block, ops: deque[Op]) -> bool:
        op = ops[0]
        channels = self.channels(block, op)
        if op.name == "wait":
            if any(self.signals[c] < channels.count(c) for c in channels):
                return False
            for channel in channels:
                self.signals[channel] -= 1
        elif op.name in {"signal", "flush"}:
            for channel in channels:
                self.carry(channel)
                if op.name == "signal":
                    self.signals[self.far(channel)] += 1
        else:
            run = [ops.popleft()]
            while ops and ops[0].name in {"put", "re", "copy"}:
                run.append(ops.popleft())
            self.dice.shuffle(run)
            for one in run:
                self.work(block, one)
            return True
        ops.popleft()
        return True

    def work(self, block: Block, op: Op) -> None:
        channels = self.channels(block, op)
        if op.name == "put" and op.kind == PORT:
            for channel, src, dst in zip(channels, op.src, op.dst, strict=True):
                self.host[channel].append((block[0], src, dst, block))
        elif op.name in {"put", "copy"}:
            for src, dst in zip(op.src, op.dst, strict=True):
                self.at(block, op.kind, dst)[:] = self.at(block, op.kind, src)
        elif op.name == "re":
            total = sum(self.at(block, op.kind, src) for src in op.src)
            self.at(block, op.kind, op.dst[0])[:] = total

    def carry(self, channel: tuple[str, int, int]) -> None:
        while self.host[channel]:
            _, src, dst, block = self.host[channel].popleft()
            self.at(block, PORT, dst)[:] = self.at(block, PORT, src)

    def at(self, block: Block, kind: str, ref: Ref) -> np.ndarray:
        rank, buffer = block[0], ref.buffer
        if buffer is None:
            numbers = self.plan.ranks[rank].blocks[block[1]].buffers[kind]
            remote = self.plan.ranks[rank].remote_buffers[numbers[ref.remote]]
            rank, buffer = remote.rank, remote.buffer
        return self.memory[rank, buffer][ref.start : ref.start + ref.size]

    def channels(self, block: Block, op: Op) -> list[tuple[str, int, int]]:
        numbers = self.plan.ranks[block[0]].blocks[block[1]].channels.get(op.kind, ())
        return [(op.kind, block[0], numbers[place]) for place in op.channels]

    def far(self, channel: tuple[str, int, int]) -> tuple[str, int, int]:
        kind, rank, number = channel
        peers = self.plan.ranks[rank].channels[kind]
        turn = peers[:number].count(peers[number])
        back = self.plan.ranks[peers[number]].channels[kind]
        return kind, peers[number], [i for i, peer in enumerate(back) if peer == rank][turn]


def is_right(plan: Plan, seed: int) -> bool:
    """Whether a run ends with what its collective asks for, for those that the tests use."""
    run = Run(plan, seed)
    if not run.ended:
        return False
    for rank in plan.ranks:
        out, share = run.memory[rank.rank, Buffer.OUTPUT], rank.input_chunks // plan.size
        if plan.collective == "allreduce":
            wanted = sum(run.inputs)
        elif plan.collective == "reducescatter":
            wanted = sum(run.inputs)[rank.rank * share : (rank.rank + 1) * share]
        elif plan.collective == "alltoall":
            wanted = np.concatenate([own[rank.rank * share : (rank.rank + 1) * share] for own in run.inputs])
        else:
            wanted = np.concatenate(run.inputs)
        if not np.array_equal(out, wanted):
            return False
    return True
