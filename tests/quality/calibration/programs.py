"""Programs of msccl-tools' examples for eight GPUs, as a runtime without fused steps runs them.

All-pairs and ring allgather, all-pairs allreduce; ``instances`` are copies on channels of their own with equal shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from syccl.program.ir import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock

RANKS = 8
_IDLE = -1
_Dependence = tuple[int, int]


def program_named(name: str, protocol: str) -> Program:
    """Return the program of a measured file: ag_allpair, ar_allpair or ag_ring with channels and instances."""
    op, algorithm, _, *numbers = name.split("_")
    if algorithm == "ring":
        channels, instances = map(int, numbers)
        return allgather_ring(channels, instances, protocol)
    make = allgather_pairs if op == "ag" else allreduce_pairs
    return make(int(numbers[-1]), protocol)


def allgather_pairs(instances: int, protocol: str) -> Program:
    """Return the allgather in which each rank sends its part to every other at once."""
    ranks = []
    for rank in range(RANKS):
        blocks = []
        for peer in _others(rank):
            for copy in range(instances):
                own, other = _out(rank * instances + copy), _out(peer * instances + copy)
                blocks.append((peer, peer, copy, [_step("s", own, own), _step("r", other, other)]))
        ranks.append(blocks)
    return _program("allgather", protocol, RANKS * instances, ranks)


def allgather_ring(channels: int, instances: int, protocol: str) -> Program:
    """Return a ring where chunk ``c`` keeps to channel ``c`` modulo ``channels``, both ends in one thread block."""
    ranks = []
    for rank in range(RANKS):
        blocks = []
        for copy in range(instances):
            for channel in range(channels):
                steps = []
                for hop in range(RANKS):
                    owner = (rank - hop) % RANKS
                    if owner % channels != channel:
                        continue
                    slot = _out(owner * instances + copy)
                    steps += [_step("r", slot, slot)] if hop > 0 else []
                    steps += [_step("s", slot, slot)] if hop < RANKS - 1 else []
                blocks.append(((rank + 1) % RANKS, (rank - 1) % RANKS, channels * copy + channel, steps))
        ranks.append(blocks)
    return _program("allgather", protocol, RANKS * instances, ranks)


def allreduce_pairs(instances: int, protocol: str) -> Program:
    """Return the allreduce of ``RANKS`` parts of ``RANKS`` chunks: gather in scratch, sum, send the sums to all.

    Each rank sums its part chunk by chunk, one thread block a chunk: the first is its own, the others those that
    also send and receive.
    """
    ranks = [_allreduce_blocks(rank, instances) for rank in range(RANKS)]
    scratch = RANKS * (RANKS - 1) * instances
    return _program("allreduce", protocol, RANKS * RANKS * instances, ranks, scratch)


_Block = tuple[int, int, int, list[Step]]


def _allreduce_blocks(rank: int, instances: int) -> list[_Block]:
    peers = _others(rank)
    block_of = {(_IDLE, copy): copy for copy in range(instances)}
    block_of |= {(peer, copy): (i + 1) * instances + copy for i, peer in enumerate(peers) for copy in range(instances)}
    first = [_Sums(rank, copy, instances, block_of) for copy in range(instances)]
    blocks: list[_Block] = [(_IDLE, _IDLE, copy, sums.steps(0, _IDLE)) for copy, sums in enumerate(first)]
    last_own = len(blocks[0][3]) - 1
    for i, peer in enumerate(peers):
        for copy, sums in enumerate(first):
            base = copy * RANKS * RANKS
            own, other = _in(base + rank * RANKS), _in(base + peer * RANKS)
            place = _scratch(copy * RANKS * (RANKS - 1) + i * RANKS)
            steps = [_step("s", other, place, RANKS), _step("r", own, place, RANKS, publishes=True)]
            steps += sums.steps(i + 1, peer)
            last = len(steps) - 1
            waits = [(block_of[one, copy], last) for one in peers if one != peer]
            steps += [_step("nop", own, own, 0, depends=one) for one in waits]
            steps += [_step("s", own, own, RANKS, depends=(block_of[_IDLE, copy], last_own))]
            steps += [_step("r", other, other, RANKS)]
            blocks.append((peer, peer, copy, steps))
    return blocks


class _Sums:
    """The local sums of one rank and instance."""

    def __init__(self, rank: int, copy: int, instances: int, block_of: dict[tuple[int, int], int]) -> None:
        self._rank, self._copy, self._instances, self._block_of = rank, copy, instances, block_of

    def steps(self, chunk: int, peer: int) -> list[Step]:
        """Return the steps that sum one chunk when all but the block's own peer have been waited for."""
        waits = [(self._block_of[one, self._copy], 1) for one in _others(self._rank) if one != peer]
        here = _in(self._copy * RANKS * RANKS + self._rank * RANKS + chunk)
        steps = [_step("nop", here, here, 0, depends=one) for one in waits[:-1]]
        for i in range(RANKS - 1):
            there = _scratch(self._copy * RANKS * (RANKS - 1) + i * RANKS + chunk)
            steps.append(_step("re", there, here, depends=waits[-1] if i == 0 else None, publishes=i == RANKS - 2))
        return steps


def _others(rank: int) -> list[int]:
    return [peer for peer in range(RANKS) if peer != rank]


def _in(index: int) -> Slot:
    return Slot(Buffer.INPUT, index)


def _out(index: int) -> Slot:
    return Slot(Buffer.OUTPUT, index)


def _scratch(index: int) -> Slot:
    return Slot(Buffer.SCRATCH, index)


def _step(
    kind: str, src: Slot, dst: Slot, cnt: int = 1, *, depends: _Dependence | None = None, publishes: bool = False
) -> Step:
    return Step(StepType(kind), src, dst, cnt, depends, publishes)


def _program(op: str, protocol: str, chunks: int, ranks: Sequence[Sequence[_Block]], scratch: int = 0) -> Program:
    own = chunks // RANKS if op == "allgather" else chunks
    made = []
    for rank, blocks in enumerate(ranks):
        numbered = [
            ThreadBlock(i, send, receive, channel, tuple(steps))
            for i, (send, receive, channel, steps) in enumerate(blocks)
        ]
        made.append(RankProgram(rank, own, chunks, scratch, tuple(numbered)))
    channels = 1 + max(block.channel for rank in made for block in rank.blocks)
    return Program(f"{op}-{protocol}", op, protocol, channels, chunks, tuple(made), True, False)
