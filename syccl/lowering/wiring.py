"""How a program's connections are laid on channels and thread blocks."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from syccl.schedule import Schedule

_TURNS = 2
"""Runs of rows that every channel of a connection gets at least, so that their work is even."""


class Block(NamedTuple):
    """Who a thread block is: a representative rank, its peers (-1: none), a channel, a serial for local blocks."""

    rank: int
    send: int
    recv: int
    channel: int
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Wiring:
    """How connections are laid on channels.

    Parameters
    ----------
    channels
        Connections between the same two ranks that share the work.
    split
        Whether sums and copies use different channels (pays when messages loop).
    fuse
        Whether whole connections that are forwarded share a block.
    copy_blocks
        Blocks for local copies of a rank's own chunks.
    own
        Rank, peer and channels of every connection, seen from its sender, where they differ. Not for split or fused
        wirings. Empty: all have ``channels``.
    paired
        Whether a block both sends to one rank and receives from one, as there are too many connections for blocks of
        their own.
    groups
        Sets of channels over which a rank's connections are spread, as a channel holds only so many.
    lanes
        Channel of every chunk, for rings and trees that keep to their own channel: chunks of equal lane must stay
        together under every symmetry of the schedule. Empty: rows are dealt over ``channels``.
    run
        Rows of a connection that one channel gets before the next one does, where it has many: chunks that lie beside
        each other can then travel in one step.
    urgent
        Whether blocks do first what most is still to come after; else what the schedule has first.
    """

    channels: int = 2
    split: bool = False
    fuse: bool = False
    copy_blocks: int = 1
    own: tuple[tuple[int, int, int], ...] = ()
    paired: bool = False
    groups: int = 1
    lanes: tuple[int, ...] = ()
    run: int = 1
    urgent: bool = False


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of every row, moved to representative ranks; arrays of shape ``(rows,)``."""

    sender: list[int]
    sender_peer: list[int]
    sender_chunk: list[int]
    receiver: list[int]
    receiver_peer: list[int]
    receiver_chunk: list[int]
    sender_channel: list[int]
    receiver_channel: list[int]


def ends_of(schedule: Schedule, wiring: Wiring) -> Ends:
    """Return each row as its sender and its receiver see it, and its channel."""
    rows, symmetry = schedule.transfers, schedule.symmetry
    src, dst, chunk = rows.src, rows.dst, rows.chunk
    if symmetry is None:
        ends = [a.tolist() for a in (src, dst, chunk, dst, src, chunk)]
        orbit = chunk
    else:
        group = symmetry.group
        home = group.inverse[group.mover]
        at_src, at_dst = home[src], home[dst]
        ends = [
            table[element, what].tolist()
            for table, element, what in (
                (group.ranks, at_src, src),
                (group.ranks, at_src, dst),
                (symmetry.chunks, at_src, chunk),
                (group.ranks, at_dst, dst),
                (group.ranks, at_dst, src),
                (symmetry.chunks, at_dst, chunk),
            )
        ]
        orbit = symmetry.chunks.min(axis=0)[chunk]
    if wiring.lanes:
        channels = [[wiring.lanes[c] for c in column] for column in (ends[2], ends[5])]
    else:
        channels = [_channels(schedule, wiring, ends, orbit.tolist())] * 2
    return Ends(*ends, *channels)


def _channels(schedule: Schedule, wiring: Wiring, ends: list[list[int]], orbit: Sequence[int]) -> list[int]:
    """Deal the rows of each connection over the channels in order; fused chains need one channel per chunk."""
    number = {c: i for i, c in enumerate(sorted(set(orbit)))}
    halves = [wiring.split and not reduce for reduce in schedule.transfers.reduce.tolist()]
    connections = list(zip(ends[0], ends[1], halves, strict=True))
    seen: dict[tuple[int, int, bool], int] = defaultdict(int)
    own = {(rank, peer): count for rank, peer, count in wiring.own}
    dealt = Counter(connections)
    group = _groups(ends, wiring.groups)
    channel = []
    for row, connection in enumerate(connections):
        channels = own.get(connection[:2], wiring.channels)
        if wiring.fuse:
            turn = number[orbit[row]]
        else:
            run = min(wiring.run, dealt[connection] // (_TURNS * channels))
            turn = seen[connection] // max(1, run)
            seen[connection] += 1
        first = group[connection[:2]] * wiring.channels
        second = wiring.channels if connection[2] else 0
        channel.append(first + turn % channels + second)
    return channel


def _groups(ends: list[list[int]], count: int) -> dict[tuple[int, int], int]:
    """Return a group for each connection, seen from its sender, so that ranks send and receive in all alike."""
    far = dict(zip(zip(ends[0], ends[1], strict=True), ends[3], strict=True))
    used: Counter[tuple[int, bool, int]] = Counter()
    chosen: dict[tuple[int, int], int] = {}
    for (sender, peer), receiver in sorted(far.items()):
        most = [max(used[sender, True, group], used[receiver, False, group]) for group in range(count)]
        group = chosen[sender, peer] = most.index(min(most))
        used[sender, True, group] += 1
        used[receiver, False, group] += 1
    return chosen


def paired_blocks(ends: Ends) -> dict[tuple[int, bool, int, int], Block]:
    """Return the block of every connection end where each sends on one connection and receives on another.

    On each channel of a rank the longest that it sends on goes with the shortest that it receives on. Keys are rank,
    whether it sends, peer and channel.
    """
    sent = Counter(zip(ends.sender, ends.sender_channel, ends.sender_peer, strict=True))
    received = Counter(zip(ends.receiver, ends.receiver_channel, ends.receiver_peer, strict=True))
    out: dict[tuple[int, int], list[int]] = defaultdict(list)
    into: dict[tuple[int, int], list[int]] = defaultdict(list)
    for rank, channel, peer in sorted(sent, key=lambda end: (-sent[end], end)):
        out[rank, channel].append(peer)
    for rank, channel, peer in sorted(received, key=lambda end: (received[end], end)):
        into[rank, channel].append(peer)
    table: dict[tuple[int, bool, int, int], Block] = {}
    for place in sorted(out.keys() | into.keys()):
        rank, channel = place
        for target, source in itertools.zip_longest(out[place], into[place], fillvalue=-1):
            block = Block(rank, target, source, channel)
            if target >= 0:
                table[rank, True, target, channel] = block
            if source >= 0:
                table[rank, False, source, channel] = block
    return table
