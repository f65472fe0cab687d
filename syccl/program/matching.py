"""Which receive takes which send's message, and which step releases which dependence: both follow from the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syccl.findings import Finding
from syccl.program.columns import CODE, Columns, Ints
from syccl.program.ir import Program, StepType
from syccl.program.structure import trailing_nops

_NOP = CODE[StepType.NOP]


@dataclass(frozen=True, eq=False)
class Matching:
    """Messages in order within each connection, and the releasing step of each dependence.

    A connection is (sender, receiver, channel); its k-th send meets its k-th receive, whatever the offsets say.
    """

    senders: Ints
    """Sending step of each message; shape (messages,)."""
    receivers: Ints
    """Receiving step of each message; shape (messages,)."""
    connection: Ints
    """Number of each message's connection, ascending; shape (messages,)."""
    released_by: Ints
    """For each step the step it waits for, -1 for none; shape (steps,)."""


def match(program: Program, table: Columns) -> tuple[Matching, tuple[Finding, ...]]:
    """Return messages and dependences, with what stays unmatched.

    Where there are errors among the findings the matching is not complete and not to be used.
    """
    scale = max(int(table.channel.max(initial=0)) + 1, 1)
    senders = np.flatnonzero(table.sends)
    receivers = np.flatnonzero(table.receives)
    out = table.block[senders]
    into = table.block[receivers]
    out_key = (table.rank[out] * program.size + table.send[out]) * scale + table.channel[out]
    into_key = (table.recv[into] * program.size + table.rank[into]) * scale + table.channel[into]
    out_order, into_order = np.argsort(out_key, kind="stable"), np.argsort(into_key, kind="stable")
    senders, out_key = senders[out_order], out_key[out_order]
    receivers, into_key = receivers[into_order], into_key[into_order]
    found: list[Finding] = []
    if not np.array_equal(out_key, into_key) or (table.count[senders] != table.count[receivers]).any():
        for key in np.union1d(out_key, into_key):
            found += _compare(table, senders[out_key == key], receivers[into_key == key])
    released_by, never = _releases(program, table)
    return Matching(senders, receivers, out_key, released_by), (*found, *never)


def _compare(table: Columns, sends: Ints, receives: Ints) -> Iterator[Finding]:
    """Say what differs between the two ends of one connection."""
    end = table.block[sends[0]] if len(sends) else table.block[receives[0]]
    pair = (table.rank[end], table.send[end]) if len(sends) else (table.recv[end], table.rank[end])
    name = f"{pair[0]}->{pair[1]} channel {table.channel[end]}"
    sent, taken = table.count[sends].tolist(), table.count[receives].tolist()
    if sent == taken:
        return
    differ = next((k for k, (a, b) in enumerate(zip(sent, taken, strict=False)) if a != b), min(len(sent), len(taken)))
    if sum(sent) == sum(taken) or len(sent) == len(taken):
        first, rest = receives[differ], f"cnt {_plus(sent[differ:])} sent, {_plus(taken[differ:])} received"
        message = f"count mismatch on {name}: {rest}; the parts differ with the size, which corrupts or hangs"
        yield Finding("error", "count", table.where(first), message)
    elif len(sent) < len(taken):
        message = f"unmatched receive on {name}: {len(sent)} messages are sent, {len(taken)} received; it hangs"
        yield Finding("error", "unmatched", table.where(receives[len(sent)]), message)
    else:
        message = f"unmatched send on {name}: {len(sent)} messages are sent, {len(taken)} received"
        yield Finding("error", "unmatched", table.where(sends[len(taken)]), message)


def _plus(counts: list[int]) -> str:
    return "+".join(map(str, counts[:4])) + ("+..." if len(counts) > 4 else "")


def _releases(program: Program, table: Columns) -> tuple[Ints, list[Finding]]:
    """Find what releases each dependence: the first real step of that thread block that publishes late enough."""
    nop = table.type == _NOP
    uncounted = np.cumsum(nop & (table.depends_block < 0))
    before = np.concatenate([[0], uncounted])[table.first[table.block]]
    flag = table.index - (uncounted - before)
    publishers = np.flatnonzero(table.publishes & ~nop)
    waiters = np.flatnonzero((table.depends_block >= 0) & ~trailing_nops(table))
    ids = np.full((program.size, max(len(rank.blocks) for rank in program.ranks) + 1), -1)
    ids[table.rank, table.id] = np.arange(len(table.id))
    awaited = ids[table.rank[table.block[waiters]], table.depends_block[waiters]]
    scale = int(max(flag.max(initial=0), table.depends_step.max(initial=0))) + 1
    published = table.block[publishers] * scale + flag[publishers]
    found = np.searchsorted(published, awaited * scale + table.depends_step[waiters])
    release = np.append(publishers, -1)[found]
    never = (release < 0) | (table.block[release] != awaited)
    released_by = np.full(len(nop), -1)
    released_by[waiters] = release
    return released_by, [
        Finding(
            "error",
            "deadlock",
            table.where(step),
            f"waits for tb {table.depends_block[step]} to publish step {table.depends_step[step]} or a later one, "
            "but none of these has hasdep=1; it hangs",
        )
        for step in waiters[never]
    ]
