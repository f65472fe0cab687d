"""Checks of a program that look at one thread block or step at a time: ids, peers, ranges, limits, no-ops, fusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from syccl.findings import Finding
from syccl.program.columns import (
    BUFFERS,
    CODE,
    READS_SOURCE,
    READS_TARGET,
    WRITES_TARGET,
    Columns,
    Flags,
    Ints,
    indices,
)
from syccl.program.ir import Program, RankProgram, StepType, ThreadBlock
from syccl.program.semantics import buffer_chunks, is_collective, is_split, used_chunks
from syccl.program.targets import EXECUTOR, MSCCL, Target

PROTOCOLS: Final = ("Simple", "LL", "LL128")
MAX_COUNT: Final = EXECUTOR.count
MAX_STEPS: Final = (EXECUTOR.steps, MSCCL.steps)
MAX_BLOCKS: Final = EXECUTOR.table_blocks
MAX_DEPENDENCE: Final = EXECUTOR.awaited_blocks - 1
MAX_CHANNELS: Final = EXECUTOR.channels
MAX_PEERS: Final = EXECUTOR.peers
MAX_ELEMENTS: Final = EXECUTOR.nodes

MAX_CHUNKS: Final = 2**23
"""Chunks in the buffers of all ranks together, above which a program is not checked."""

_NOP = CODE[StepType.NOP]
_REDUCE = CODE[StepType.REDUCE]
_RECEIVE_TYPES = np.array([step_type.receives for step_type in CODE])
_SEND_TYPES = np.array([step_type.sends for step_type in CODE])
_PARSER_CHECKS_SOURCE = np.array([step_type.value in {"s", "rrs", "rrcs", "cpy", "re"} for step_type in CODE])
_PARSER_CHECKS_TARGET = np.array([step_type.value in {"r", "rcs", "rrcs", "cpy", "re"} for step_type in CODE])


def header_findings(program: Program) -> Iterator[Finding]:
    """Yield what is wrong with the numbers and words that hold for the whole program."""

    def error(rule: str, message: str) -> Finding:
        return Finding("error", rule, "program", message)

    if not is_collective(program.collective):
        yield error("collective", f"collective {program.collective!r} is unknown")
    if program.protocol not in PROTOCOLS:
        yield error("protocol", f"protocol {program.protocol!r} is unknown; use one of {', '.join(PROTOCOLS)}")
    if not program.ranks or [rank.rank for rank in program.ranks] != list(range(program.size)):
        yield error("ranks", f"ranks are {[rank.rank for rank in program.ranks][:8]}; they must be 0..n-1 in order")
    elif program.chunks < 1:
        yield error("chunks", f"nchunksperloop is {program.chunks}; runtimes divide by it, it must be at least 1")
    elif is_split(program.collective) and program.chunks % program.size:
        yield error(
            "chunks",
            f"nchunksperloop {program.chunks} is inconsistent: {program.collective} over {program.size} ranks needs a "
            f"multiple of {program.size}",
        )
    else:
        stated = sum(2 * program.chunks + rank.scratch_chunks for rank in program.ranks)
        if stated > MAX_CHUNKS:
            yield error("chunks", f"the buffers of all ranks have {stated} chunks; at most {MAX_CHUNKS} are checked")
    if not 1 <= program.channels <= MAX_CHANNELS:
        yield error("limit", f"nchannels is {program.channels}; allowed: 1..{MAX_CHANNELS}")
    if not (program.in_place or program.out_of_place):
        yield error("flags", "neither in-place nor out-of-place: runtimes never select this file")
    if program.max_bytes and program.max_bytes < program.min_bytes:
        yield error("flags", f"maxBytes {program.max_bytes} is below minBytes {program.min_bytes}")


def block_findings(program: Program, target: Target | None = None) -> Iterator[Finding]:
    """Yield what is wrong with ranks and thread blocks: ids, peers, channels, connection ends, limits.

    Without a target, steps that only some runtimes take are a warning.
    """
    some, most = MAX_STEPS if target is None else (target.steps, target.steps)
    for rank in program.ranks:
        yield from _rank_findings(program, rank)
        for block in rank.blocks:
            for message in _block_messages(program, rank, block):
                yield Finding("error", "structure", block_place(rank, block), message)
            if len(block.steps) > some:
                severity = "error" if len(block.steps) > most else "warning"
                message = (
                    f"{len(block.steps)} steps; msccl-executor-nccl and RCCL take {MAX_STEPS[0]}, msccl {MAX_STEPS[1]}"
                )
                yield Finding(severity, "limit", block_place(rank, block), message)
    yield from _connection_findings(program)


def block_place(rank: RankProgram, block: ThreadBlock) -> str:
    """Return the place of a thread block in words."""
    return f"rank {rank.rank} tb {block.id}" + (f" (line {block.line})" if block.line else "")


def _rank_findings(program: Program, rank: RankProgram) -> Iterator[Finding]:
    place = f"rank {rank.rank}"
    repeated = [block for block, count in Counter(block.id for block in rank.blocks).items() if count > 1]
    if repeated:
        yield Finding("error", "structure", place, f"duplicate thread block id {repeated[0]}")
    elif any(not 0 <= block.id < len(rank.blocks) for block in rank.blocks):
        ids = [block.id for block in rank.blocks][:8]
        yield Finding("error", "structure", place, f"thread block ids {ids} are not 0..n-1 without gaps")
    if len(rank.blocks) > MAX_BLOCKS:
        yield Finding("error", "limit", place, f"{len(rank.blocks)} thread blocks; at most {MAX_BLOCKS}")
    elements = 1 + program.size + len(rank.blocks) + sum(len(block.steps) for block in rank.blocks)
    if elements > MAX_ELEMENTS:
        yield Finding("error", "limit", place, f"{elements} XML elements; the runtime's parser keeps {MAX_ELEMENTS}")
    if rank.scratch_chunks < 0:
        yield Finding("error", "structure", place, f"s_chunks is {rank.scratch_chunks}; it must not be negative")
    for what, stated, real in zip("io", (rank.input_chunks, rank.output_chunks), buffer_chunks(program), strict=True):
        if stated not in {0, real}:
            message = f"{what}_chunks is {stated}, but {program.collective} has {real}; msccl refuses the file"
            yield Finding("warning", "chunks", place, message)
    for direction in ("send", "recv"):
        peers = Counter(block.channel for block in rank.blocks if getattr(block, direction) >= 0)
        for channel, count in peers.items():
            if count > MAX_PEERS:
                message = f"{count} thread blocks {direction} on channel {channel}; at most {MAX_PEERS}"
                yield Finding("error", "limit", place, message)


def _block_messages(program: Program, rank: RankProgram, block: ThreadBlock) -> Iterator[str]:
    for direction, peer in (("send", block.send), ("recv", block.recv)):
        if peer == rank.rank:
            yield f"{direction} peer is the rank itself"
        elif not -1 <= peer < program.size:
            yield f"{direction} peer {peer} is out of range; allowed: -1 and 0..{program.size - 1}"
    talks = block.send >= 0 or block.recv >= 0
    if not 0 <= block.channel < MAX_CHANNELS:
        yield f"invalid channel {block.channel}; allowed: 0..{MAX_CHANNELS - 1}"
    elif talks and block.channel >= program.channels:
        yield f"channel {block.channel} is never connected: nchannels is {program.channels}"


def _connection_findings(program: Program) -> Iterator[Finding]:
    senders: dict[tuple[int, int, int], tuple[RankProgram, ThreadBlock]] = {}
    receivers: dict[tuple[int, int, int], tuple[RankProgram, ThreadBlock]] = {}
    for rank in program.ranks:
        for block in rank.blocks:
            ends = (
                ("send", block.send, senders, (rank.rank, block.send, block.channel)),
                ("recv", block.recv, receivers, (block.recv, rank.rank, block.channel)),
            )
            for direction, peer, known, key in ends:
                if peer < 0:
                    continue
                other = known.setdefault(key, (rank, block))[1]
                if other is not block:
                    message = (
                        f"shares ({direction} peer {peer}, channel {block.channel}) with tb {other.id}; "
                        "a connection end belongs to one thread block, or messages interleave arbitrarily"
                    )
                    yield Finding("error", "connection", block_place(rank, block), message)
    for mine, theirs, verb in ((senders, receivers, "receives"), (receivers, senders, "sends")):
        for key, owner in mine.items():
            if key not in theirs:
                message = (
                    f"unmatched connection {key[0]}->{key[1]} channel {key[2]}: no thread block of the peer {verb}"
                )
                yield Finding("error", "unmatched", block_place(*owner), message)


def step_findings(program: Program, table: Columns) -> Iterator[Finding]:
    """Yield what is wrong with single steps: counts, peers, offsets, dependences, no-ops, fused reductions."""
    real = table.type != _NOP
    for step in indices(real & ((table.count < 0) | (table.count > MAX_COUNT))):
        yield Finding("error", "limit", table.where(step), f"cnt {table.count[step]}; allowed: 0..{MAX_COUNT}")
    silent = (_RECEIVE_TYPES | _SEND_TYPES)[table.type] & (table.count == 0)
    for step in indices(silent):
        yield Finding("warning", "count", table.where(step), "cnt 0 on a step that sends or receives moves nothing")
    for types, peer, verb in ((_SEND_TYPES, table.send, "sends"), (_RECEIVE_TYPES, table.recv, "receives")):
        for step in indices(types[table.type] & (peer[table.block] < 0)):
            yield Finding("error", "structure", table.where(step), f"{verb}, but its thread block has no such peer")
    yield from _bounds_findings(program, table)
    yield from _dependence_findings(program, table)
    yield from _nop_findings(table)
    yield from fusion_findings(table)


def _bounds_findings(program: Program, table: Columns) -> Iterator[Finding]:
    actual = np.array([(*used_chunks(program, rank.rank), rank.scratch_chunks) for rank in program.ranks])
    stated = np.array([(rank.input_chunks, rank.output_chunks, rank.scratch_chunks) for rank in program.ranks])
    rank = table.rank[table.block]
    operands = (
        ("src", table.src_buffer, table.src, READS_SOURCE, _PARSER_CHECKS_SOURCE),
        ("dst", table.dst_buffer, table.dst, READS_TARGET | WRITES_TARGET, _PARSER_CHECKS_TARGET),
    )
    for name, buffer, offset, used, checked in operands:
        last = offset + np.maximum(table.count, 1)
        outside = used[table.type] & ((offset < 0) | (last > actual[rank, buffer]))
        refused = checked[table.type] & (offset >= stated[rank, buffer]) & ~outside
        for step in indices(outside):
            yield _outside(table, step, (name, buffer, offset, actual[rank, buffer]))
        for step in indices(refused):
            letter = BUFFERS[buffer[step]].value
            message = f"{name} offset {offset[step]}, but {letter}_chunks is {stated[rank[step], buffer[step]]}"
            yield Finding("error", "bounds", table.where(step), message)


def _outside(table: Columns, step: int, operand: tuple[str, Ints, Ints, Ints]) -> Finding:
    name, buffer, offset, size = operand
    letter = BUFFERS[buffer[step]].value
    count = int(table.count[step])
    chunks = f"{letter}[{offset[step]}]" if count <= 1 else f"{letter}[{offset[step]}..{offset[step] + count - 1}]"
    message = f"{name} {chunks} is out of range; {letter} has {size[step]} chunks here"
    return Finding("error", "bounds", table.where(step), message)


def _dependence_findings(program: Program, table: Columns) -> Iterator[Finding]:
    blocks = np.array([len(rank.blocks) for rank in program.ranks])
    here = blocks[table.rank[table.block]]
    for step in indices(table.depends_block >= here):
        message = f"waits for tb {table.depends_block[step]}, but the rank has tb 0..{here[step] - 1}"
        yield Finding("error", "dependence", table.where(step), message)
    for step in indices((table.depends_block > MAX_DEPENDENCE) & (table.depends_block < here)):
        message = (
            f"waits for tb {table.depends_block[step]}; runtimes keep depid in a signed byte, at most {MAX_DEPENDENCE}"
        )
        yield Finding("error", "limit", table.where(step), message)
    for step in indices((table.depends_block >= 0) & (table.depends_step < 0)):
        yield Finding("error", "dependence", table.where(step), f"waits for step {table.depends_step[step]}")


def trailing_nops(table: Columns) -> Flags:
    """Return which steps are no-ops after the last real step of their thread block; runtimes drop them."""
    nop = table.type == _NOP
    real = np.flatnonzero(~nop)
    steps = np.arange(len(nop))
    after = np.searchsorted(real, steps)
    next_real = np.append(real, len(nop))[after]
    trailing: Flags = nop & (next_real >= table.first[table.block + 1])
    return trailing


def _nop_findings(table: Columns) -> Iterator[Finding]:
    nop = table.type == _NOP
    trailing = trailing_nops(table)
    real = np.flatnonzero(~nop)
    for step in indices(nop & (table.depends_block >= 0) & ~trailing):
        closing = real[np.searchsorted(real, step)]
        if table.depends_block[closing] < 0:
            message = f"a nop's dependence is not closed: {table.name(closing)} after it must have one of its own"
            yield Finding("error", "nop", table.where(step), message)
    for step in indices(trailing & (table.depends_block >= 0)):
        yield Finding("warning", "nop", table.where(step), "a nop at the end of a thread block; runtimes drop it")
    for step in indices(nop & table.publishes):
        yield Finding("warning", "nop", table.where(step), "hasdep on a nop is lost; put it on a real step")
    for step in indices(nop & (table.depends_block < 0) & ~trailing):
        message = "a nop without dependence: runtimes do not count it, later steps get smaller numbers"
        yield Finding("warning", "nop", table.where(step), message)


def fusion_findings(table: Columns, most: int = EXECUTOR.fused) -> Iterator[Finding]:
    """Yield reductions that the parser fuses although they differ, and more than the kernel runs as one."""
    steps = np.flatnonzero(table.type == _REDUCE)
    continues = _continues(table, steps).tolist()
    block, count, publishes = table.block.tolist(), table.count.tolist(), table.publishes.tolist()
    chain: list[int] = []
    owner = running = -1
    for step, may_continue in zip(steps.tolist(), continues, strict=True):
        if block[step] != owner:
            chain, owner, running = [], block[step], 0
        chain = [*chain, step] if chain and may_continue else [step]
        running += 1
        if count[step] != count[chain[0]]:
            message = f"fused with {table.name(chain[0])}, but cnt differs; runtimes use the last cnt for all"
            yield Finding("error", "fusion", table.where(step), message)
        if len(chain) == most + 1:
            message = f"more than {most} reductions are fused from {table.name(chain[0])} on; they overrun the kernel"
            yield Finding("error", "limit", table.where(step), message)
        if publishes[step] or running == most:
            chain = []


def _continues(table: Columns, steps: Ints) -> Flags:
    """Which reductions the parser may fuse with the reduction before: same target and buffers, no dependence."""
    position = np.cumsum(table.type != _NOP)
    same = np.zeros(len(steps), dtype=np.bool_)
    before, after = steps[:-1], steps[1:]
    same[1:] = (position[after] == position[before] + 1) & (table.depends_block[after] < 0)
    for column in (table.block, table.dst_buffer, table.dst, table.src_buffer):
        same[1:] &= column[after] == column[before]
    return same
