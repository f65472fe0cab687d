"""What a runtime has no room or no code for: its tables, counters and kernels against a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from syccl.findings import Finding
from syccl.program.columns import TYPES, Columns, indices
from syccl.program.ir import Program, RankProgram, ThreadBlock
from syccl.program.semantics import buffer_chunks
from syccl.program.structure import block_place, fusion_findings
from syccl.program.targets import Target

_FEWER = "use fewer channels or fewer peers"
_SHORTER = "use more channels or fewer chunks"


def limit_findings(program: Program, table: Columns, target: Target) -> Iterator[Finding]:
    """Yield which limits of a runtime a program breaks, and what its kernels do not run."""
    if not 1 <= program.channels <= target.channels:
        message = f"nchannels is {program.channels}; allowed are 1..{target.channels}"
        yield Finding("error", "channels", "program", message, _FEWER)
    for rank in program.ranks:
        yield from _rank_findings(program, rank, target)
        for block in rank.blocks:
            yield from _block_findings(rank, block, target)
    yield from _step_findings(table, target)
    yield from (finding for finding in fusion_findings(table, target.fused) if finding.rule == "limit")


def _rank_findings(program: Program, rank: RankProgram, target: Target) -> Iterator[Finding]:
    where = f"rank {rank.rank}" + (f" (line {rank.line})" if rank.line else "")
    blocks = len(rank.blocks)
    if blocks > target.table_blocks:
        message = f"{blocks} thread blocks; its tables hold {target.table_blocks}"
        yield Finding("error", "blocks", where, message, _FEWER)
    elif blocks > target.blocks:
        message = f"{blocks} thread blocks wait for each other, so all must run at once: one multiprocessor each"
        yield Finding("warning", "multiprocessors", where, message, f"run it on GPUs with {blocks} multiprocessors")
    elements = 1 + program.size + blocks + sum(len(block.steps) for block in rank.blocks)
    if elements > target.nodes:
        message = f"{elements} XML elements for this rank; its parser keeps {target.nodes}"
        yield Finding("error", "elements", where, message, _SHORTER)
    for direction in ("send", "recv"):
        peers = Counter(block.channel for block in rank.blocks if getattr(block, direction) >= 0)
        for channel, count in sorted(peers.items()):
            if count > target.peers:
                message = f"{count} thread blocks {direction} on channel {channel}; its tables hold {target.peers}"
                yield Finding("error", "peers", where, message, "spread them over channels")
    if not target.reads_out_of_place:
        yield from _stated_sizes(program, rank, where)


def _stated_sizes(program: Program, rank: RankProgram, where: str) -> Iterator[Finding]:
    """Yield buffer sizes at which msccl refuses a file as inconsistent; 0 is taken for unused."""
    stated = (("i_chunks", rank.input_chunks), ("o_chunks", rank.output_chunks))
    for (name, value), real in zip(stated, buffer_chunks(program), strict=True):
        if value not in {0, real}:
            message = f"{name} is {value}, but {program.collective} of {program.chunks} chunks has {real}"
            yield Finding("error", "chunks", where, message, f"write {name}={real}")


def _block_findings(rank: RankProgram, block: ThreadBlock, target: Target) -> Iterator[Finding]:
    if len(block.steps) > target.steps:
        message = f"{len(block.steps)} steps; it runs {target.steps}"
        yield Finding("error", "steps", block_place(rank, block), message, _SHORTER)
    if block.channel >= target.channels:
        message = f"channel {block.channel}; it has 0..{target.channels - 1} and writes beyond its table"
        yield Finding("error", "channels", block_place(rank, block), message, _FEWER)


def _step_findings(table: Columns, target: Target) -> Iterator[Finding]:
    for step in indices(table.count > target.count):
        message = f"cnt {table.count[step]}; it takes {target.count}"
        yield Finding("error", "count", table.where(step), message, "write several steps")
    for step in indices(table.depends_block >= target.awaited_blocks):
        most = target.awaited_blocks - 1
        message = f"depid {table.depends_block[step]}; it can wait for tb 0..{most} and takes others for no dependence"
        yield Finding("error", "depid", table.where(step), message, "let awaited thread blocks have the lowest ids")
    for name, offset in (("srcoff", table.src), ("dstoff", table.dst)):
        for step in indices(offset >= target.chunks):
            message = f"{name} {offset[step]}; it keeps 16 bits, at most {target.chunks - 1}"
            yield Finding("error", "offset", table.where(step), message, "use fewer chunks")
    runs = np.array([step_type in target.step_types for step_type in TYPES])
    for code in np.unique(table.type[~runs[table.type]]).tolist():
        steps = indices(table.type == code)
        message = f"type {TYPES[code].value}, in {len(steps)} steps; its kernels run only {_types(target)}"
        yield Finding("error", "type", table.where(steps[0]), message, f"lower it again: --target {target.name}")


def _types(target: Target) -> str:
    return ", ".join(step_type.value for step_type in TYPES if step_type in target.step_types)
