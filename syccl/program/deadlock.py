"""Whether a program ends with bounded FIFOs, and up to which size of the call."""

from __future__ import annotations

from typing import Final

from syccl.findings import Finding
from syccl.program.columns import Columns
from syccl.program.ir import Program
from syccl.program.matching import Matching
from syccl.program.order import FIFO_MESSAGES, MAX_PER_MESSAGE, Parts, chunks_per_message, circle, execute, split
from syccl.units import format_size

LARGEST_SIZE: Final = 2**40
"""Bytes up to which sizes of a call are tried, by powers of two."""


def legal_order(
    program: Program, table: Columns, matching: Matching, *, size_bytes: int | None
) -> tuple[tuple[Parts, list[int]] | None, list[Finding]]:
    """Return all chunks moved in a legal order, None when there is none, and what stands in the way.

    The more messages a step is split into, the less fits in a FIFO: a program that ends with one chunk a message
    ends at every size.

    Parameters
    ----------
    program, table, matching
        The program, everything in it matched.
    size_bytes
        Size of the call; None to look for the largest one at which the program still ends.
    """
    depth = FIFO_MESSAGES[program.protocol]
    finest = split(table, matching, chunks=1, depth=depth)
    order, stuck = execute(finest)
    if not stuck:
        return (finest, order), []
    smallest = max(program.min_bytes, 1) if size_bytes is None else size_bytes
    most = chunks_per_message(program, smallest)
    parts = split(table, matching, chunks=most, depth=depth)
    blocked = execute(parts)[1]
    if blocked:
        return None, [_circle_finding(program, table, parts, blocked)]
    found = [] if size_bytes is not None else _size_warning(program, table, matching)
    unbounded = split(table, matching, chunks=1, depth=None)
    return (unbounded, execute(unbounded)[0]), found


def _circle_finding(program: Program, table: Columns, parts: Parts, stuck: list[int]) -> Finding:
    waits = circle(parts, stuck)
    steps = [(int(parts.step[part]), int(parts.step[awaited]), why) for part, awaited, why in waits]
    told = [f"{_full(table, step)} waits for a {why} from {_full(table, awaited)}" for step, awaited, why in steps[:4]]
    if len(steps) > 4:
        told.append(f"and so on around {len(steps)} thread blocks")
    held = FIFO_MESSAGES[program.protocol]
    depth = (
        f" (a {program.protocol} connection holds {held} messages)" if any("FIFO" in why for *_, why in steps) else ""
    )
    return Finding("error", "deadlock", table.where(steps[0][0]), f"deadlock{depth}: {'; '.join(told)}")


def _full(table: Columns, step: int) -> str:
    return f"rank {table.rank[table.block[step]]} {table.name(step)}"


def _size_warning(program: Program, table: Columns, matching: Matching) -> list[Finding]:
    """Find the largest power of two of bytes at which the program still ends."""
    depth = FIFO_MESSAGES[program.protocol]
    safe, last = 0, MAX_PER_MESSAGE + 1
    size = 1
    while size <= LARGEST_SIZE:
        most = chunks_per_message(program, size)
        if most != last and execute(split(table, matching, chunks=most, depth=depth))[1]:
            break
        safe, last, size = size, most, size * 2
    if 0 < program.max_bytes <= safe:
        return []
    message = (
        f"deadlocks above {format_size(safe)} per call: steps with cnt > 1 are then split into more messages than the "
        f"{depth} that a {program.protocol} connection holds; set maxBytes to {safe} or use separate thread blocks"
    )
    return [Finding("warning", "size", "program", message)]
