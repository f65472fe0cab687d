"""Bytes from rank to rank of one collective: of a ring, of direct sends, of a schedule, of a program."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.errors import InputError
from syccl.program import Program
from syccl.schedule import Schedule
from syccl.schedule.ir import expand

Pairs = dict[tuple[int, int], float]
"""Bytes from each rank to each other one, ranks as positions in the job."""
Sends = dict[tuple[int, int, int], float]
"""Bytes of each connection: sender, receiver, channel. A schedule has no channels, so all of it is on channel 0."""

_RING_ROUNDS = {"allreduce": 2, "allgather": 1, "reducescatter": 1}
_DIRECT_ROUNDS = {"allreduce": 2, "allgather": 1, "reducescatter": 1, "alltoall": 1}


def pairs_of(sends: Sends) -> Pairs:
    """Return the bytes from rank to rank, over all channels."""
    pairs: Pairs = {}
    for (src, dst, _), size_bytes in sends.items():
        pairs[src, dst] = pairs.get((src, dst), 0.0) + size_bytes
    return pairs


def ring_pairs(op: str, size_bytes: int, servers: Sequence[int]) -> Pairs:
    """Return what rings send, from rank to rank (see `ring_sends`)."""
    return pairs_of(ring_sends(op, size_bytes, servers))


def ring_sends(op: str, size_bytes: int, servers: Sequence[int]) -> Sends:
    """Return what rings send, one ring for each GPU of the largest server, with equal shares of the data.

    A ring visits server after server. In ring ``c``, which is channel ``c``, it enters each at its GPU ``c`` and leaves
    at the neighbour that GPU ``c`` has next to it when GPUs are paired (0 and 1, 2 and 3, ...), as where two GPUs share
    a NIC.

    Parameters
    ----------
    op
        allreduce, allgather or reducescatter.
    servers
        Number of the server of every rank, in the job's order.

    Raises
    ------
    InputError
        When rings do not do that collective.
    """
    if op not in _RING_ROUNDS:
        msg = f"a ring does {', '.join(_RING_ROUNDS)}, not {op}; write by: direct, by: synth or by: FILE"
        raise InputError(msg)
    members: dict[int, list[int]] = {}
    for rank, server in enumerate(servers):
        members.setdefault(server, []).append(rank)
    n, rings = len(servers), max(map(len, members.values()))
    step = _RING_ROUNDS[op] * (n - 1) / n * size_bytes / rings
    sends: Sends = {}
    for ring in range(rings):
        order = [rank for group in members.values() for rank in _visit(group, ring)]
        for src, dst in zip(order, order[1:] + order[:1], strict=True):
            sends[src, dst, ring] = step
    return sends


def _visit(group: list[int], ring: int) -> list[int]:
    first = ring % len(group)
    last = first ^ 1 if first ^ 1 < len(group) else (first + 1) % len(group)
    between = [rank for at, rank in enumerate(group) if at not in {first, last}]
    return [group[first], *between, group[last]] if len(group) > 1 else group


def direct_pairs(op: str, size_bytes: int, ranks: int) -> Pairs:
    """Return what direct sends carry, from rank to rank (see `direct_sends`)."""
    return pairs_of(direct_sends(op, size_bytes, ranks))


def direct_sends(op: str, size_bytes: int, ranks: int) -> Sends:
    """Return what ranks send where each sends straight to each other one.

    Raises
    ------
    InputError
        When that is not done for the collective.
    """
    if op not in _DIRECT_ROUNDS:
        msg = f"direct sends do {', '.join(_DIRECT_ROUNDS)}, not {op}; write by: synth or by: FILE"
        raise InputError(msg)
    each = _DIRECT_ROUNDS[op] * size_bytes / ranks
    return {(src, dst, 0): each for src in range(ranks) for dst in range(ranks) if src != dst}


def plan_pairs(plan: Program | Schedule, size_bytes: int) -> Pairs:
    """Return what a program or schedule sends, from rank to rank (see `plan_sends`)."""
    return pairs_of(plan_sends(plan, size_bytes))


def plan_sends(plan: Program | Schedule, size_bytes: int) -> Sends:
    """Return what a program or schedule sends when it is run with that size (see ``Demand``)."""
    sends: Sends = {}
    if isinstance(plan, Program):
        chunk = size_bytes / plan.chunks
        for rank in plan.ranks:
            for block in rank.blocks:
                sent = sum(step.cnt for step in block.steps if step.type.sends)
                if sent:
                    key = rank.rank, block.send, block.channel
                    sends[key] = sends.get(key, 0.0) + sent * chunk
        return sends
    rows = expand(plan).transfers
    chunk = size_bytes / plan.demand.chunks
    for src, dst in zip(rows.src.tolist(), rows.dst.tolist(), strict=True):
        sends[src, dst, 0] = sends.get((src, dst, 0), 0.0) + chunk
    return sends
