"""One legal execution of a program, or the circle of waits that forbids every execution.

What a step waits for follows from the file: the step before it in its thread block, a published step, a message,
a free slot of a bounded FIFO. So a program either always ends or never does, and one topological order decides.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from syccl.program.columns import CODE, Columns, Ints
from syccl.program.ir import Program, StepType
from syccl.program.matching import Matching

FIFO_MESSAGES: Final = {"Simple": 2, "LL": 8, "LL128": 8}
"""Messages that a connection within a node holds before a send blocks (8 slots; a Simple message takes 4)."""
MESSAGE_BYTES: Final = {"Simple": 2 * 2**20, "LL": 32 * 2**10, "LL128": 576_000}
"""Bytes of one message with default buffer sizes."""
MAX_PER_MESSAGE: Final = 71

_NOP = CODE[StepType.NOP]


@dataclass(frozen=True, eq=False)
class Parts:
    """Steps cut into what moves at once: one message or, where ``chunks`` is 1, one chunk.

    ``depends``, ``takes`` and ``slot`` name the part that must be done first, -1 for none: the released
    dependence, the sender of the message taken, the receiver that frees the FIFO slot.
    """

    step: Ints
    chunk: Ints
    """First chunk of the part, counted from the start of its step."""
    block: Ints
    first: Ints
    """First part of each thread block, and the number of parts; shape (blocks + 1,)."""
    depends: Ints
    takes: Ints
    slot: Ints


def chunks_per_message(program: Program, size_bytes: int) -> int:
    """Return how many chunks one message carries when a call moves ``size_bytes`` in all."""
    return min(max(MESSAGE_BYTES[program.protocol] * program.chunks // max(size_bytes, 1), 1), MAX_PER_MESSAGE)


def split(table: Columns, matching: Matching, *, chunks: int, depth: int | None) -> Parts:
    """Return the parts of all steps.

    Parameters
    ----------
    table, matching
        The program.
    chunks
        Most chunks in one message.
    depth
        Messages that a connection holds; None for unbounded FIFOs.
    """
    counts = np.where(table.type == _NOP, 1, table.count)
    parts = np.maximum(-(-counts // chunks), 1)
    start = np.concatenate([[0], np.cumsum(parts)])
    step = np.repeat(np.arange(len(parts)), parts)
    total = len(step)
    depends, takes, slot = np.full((3, total), -1)
    waits = np.flatnonzero(matching.released_by >= 0)
    depends[start[waits]] = start[matching.released_by[waits] + 1] - 1
    sent, taken, connection = _message_parts(matching, start, parts)
    takes[taken] = sent
    if depth is not None:
        full = np.flatnonzero(connection[depth:] == connection[:-depth])
        slot[sent[full + depth]] = taken[full]
    return Parts(
        step=step,
        chunk=(np.arange(total) - start[step]) * chunks,
        block=table.block[step],
        first=start[table.first],
        depends=depends,
        takes=takes,
        slot=slot,
    )


def _message_parts(matching: Matching, start: Ints, parts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return sending part, receiving part and connection of every message, in order within connections."""
    pieces = parts[matching.senders]
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    sent = np.repeat(start[matching.senders], pieces) + within
    taken = np.repeat(start[matching.receivers], pieces) + within
    return sent, taken, np.repeat(matching.connection, pieces)


def execute(parts: Parts) -> tuple[list[int], list[int]]:
    """Return the parts in one legal order, and the next part of every thread block that cannot go on.

    The order is complete and the second list empty exactly when the program ends.
    """
    depends, takes, slot = parts.depends.tolist(), parts.takes.tolist(), parts.slot.tolist()
    ends = parts.first.tolist()
    at = ends[:-1]
    done = [False] * len(depends) + [True]
    waiting: dict[int, list[int]] = {}
    order: list[int] = []
    ready = deque(range(len(at)))
    while ready:
        owner = ready.popleft()
        part, end = at[owner], ends[owner + 1]
        while part < end:
            if not done[depends[part]]:
                waiting.setdefault(depends[part], []).append(owner)
                break
            if not done[takes[part]]:
                waiting.setdefault(takes[part], []).append(owner)
                break
            if not done[slot[part]]:
                waiting.setdefault(slot[part], []).append(owner)
                break
            done[part] = True
            order.append(part)
            if part in waiting:
                ready.extend(waiting.pop(part))
            part += 1
        at[owner] = part
    return order, [at[owner] for owner in range(len(at)) if at[owner] < ends[owner + 1]]


def circle(parts: Parts, stuck: list[int]) -> list[tuple[int, int, str]]:
    """Return a circle of waits among thread blocks that cannot go on: (part, part it waits for, why).

    Parameters
    ----------
    parts
        The parts that were executed.
    stuck
        The next part of every blocked thread block, not empty.
    """
    next_of = {int(parts.block[part]): part for part in stuck}
    part, seen, walk = stuck[0], dict[int, int](), list[tuple[int, int, str]]()
    while part not in seen:
        seen[part] = len(walk)
        awaited, why = _awaited(parts, part, next_of)
        walk.append((part, awaited, why))
        part = next_of[int(parts.block[awaited])]
    return walk[seen[part] :]


def _awaited(parts: Parts, part: int, next_of: dict[int, int]) -> tuple[int, str]:
    reasons = ((parts.depends, "dependence"), (parts.takes, "message"), (parts.slot, "free FIFO slot"))
    for column, why in reasons:
        awaited = int(column[part])
        if awaited >= 0 and awaited >= next_of.get(int(parts.block[awaited]), awaited + 1):
            return awaited, why
    return part, "nothing"
