"""Small programs for tests, and symmetries to simulate them under."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syccl.program import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock
from syccl.symmetry import Group
from syccl.topology import Topology

T = StepType
OUTPUT = Slot(Buffer.OUTPUT, 0)


def step(kind: StepType, cnt: int = 1, depends: tuple[int, int] | None = None, *, publishes: bool = False) -> Step:
    return Step(kind, OUTPUT, OUTPUT, cnt, depends, publishes)


def block(number: int, steps: Sequence[Step], *, send: int = -1, recv: int = -1, channel: int = 0) -> ThreadBlock:
    return ThreadBlock(number, send, recv, channel, tuple(steps))


def program(*ranks: Sequence[ThreadBlock], chunks: int = 1, protocol: str = "Simple") -> Program:
    parts = tuple(RankProgram(r, chunks, chunks, 0, tuple(blocks)) for r, blocks in enumerate(ranks))
    channels = 1 + max((b.channel for part in parts for b in part.blocks), default=0)
    return Program("test", "custom", protocol, channels, chunks, parts)


def one_message(cnt: int = 1, *, chunks: int = 1, protocol: str = "Simple") -> Program:
    """Rank 0 sends ``cnt`` chunks to rank 1."""
    return program(
        [block(0, [step(T.SEND, cnt)], send=1)],
        [block(0, [step(T.RECV, cnt)], recv=0)],
        chunks=chunks,
        protocol=protocol,
    )


def ring_allreduce(ranks: int, *, channels: int = 1, cnt: int = 1, stride: int = 1) -> Program:
    """One fused block per channel; ``cnt`` chunks in every step."""
    kinds = [T.SEND, *[T.RECV_REDUCE_SEND] * (ranks - 2), T.RECV_REDUCE_COPY_SEND]
    kinds += [*[T.RECV_COPY_SEND] * (ranks - 2), T.RECV]
    steps = [step(kind, cnt) for kind in kinds]
    return program(
        *[
            [
                block(c, steps, send=(rank + stride) % ranks, recv=(rank - stride) % ranks, channel=c)
                for c in range(channels)
            ]
            for rank in range(ranks)
        ],
        chunks=ranks * channels * cnt,
    )


def direct_allgather(ranks: int, *, pieces: int = 1, relabel: bool = False) -> Program:
    """Everybody sends its ``pieces`` to everybody, from blocks of their own, after a local copy.

    ``relabel`` numbers the blocks of each rank in another order.
    """
    parts = []
    for rank in range(ranks):
        copy = block(0, [step(T.COPY, pieces, publishes=True)])
        blocks = [copy]
        for offset in range(1, ranks):
            sends = [step(T.SEND, 1, (0, 0) if piece == 0 else None) for piece in range(pieces)]
            blocks.append(block(2 * offset - 1, sends, send=(rank + offset) % ranks))
            blocks.append(block(2 * offset, [step(T.RECV)] * pieces, recv=(rank - offset) % ranks))
        if relabel and rank % 2:
            last = len(blocks) - 1
            blocks = [renumbered(b, last) for b in reversed(blocks)]
        parts.append(blocks)
    return program(*parts, chunks=ranks * pieces)


def renumbered(b: ThreadBlock, last: int) -> ThreadBlock:
    steps = [s._replace(depends=(last - s.depends[0], s.depends[1])) if s.depends else s for s in b.steps]
    return ThreadBlock(last - b.id, b.send, b.recv, b.channel, tuple(steps))


def rotation(topology: Topology, by: int = 1) -> Group:
    """The group of the rotation of all ranks, everything else fixed."""
    n = topology.ranks
    image = np.arange(len(topology.nodes), dtype=np.int32)
    image[list(topology.gpus)] = [topology.gpus[(rank + by) % n] for rank in range(n)]
    return Group.generated(topology, (image,))


def server_swap(topology: Topology) -> Group:
    """The group that swaps the nodes named ``s0.*`` and ``s1.*``."""
    index = {node.name: i for i, node in enumerate(topology.nodes)}
    other = {"s0": "s1", "s1": "s0"}
    image = [index.get(f"{other.get(name[:2], name[:2])}{name[2:]}", i) for name, i in index.items()]
    return Group.generated(topology, (np.array(image, dtype=np.int32),))
