"""What the executor of MSCCL++ would refuse, misread or run beyond the end of its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from syccl.findings import Finding
from syccl.program.ir import Buffer
from syccl.program.mscclpp.ir import (
    KINDS,
    MAX_BARRIERS,
    MAX_BLOCKS,
    MAX_CHANNELS,
    MAX_CHANNELS_OF_OPERATION,
    MAX_OFFSET_BYTES,
    MAX_OPERANDS,
    MAX_OPERATIONS,
    MAX_SEMAPHORES,
    MEMORY,
    PORT,
    Op,
    Plan,
    PlanBlock,
    PlanRank,
    Ref,
)
from syccl.program.semantics import is_collective

PUTS: Final = frozenset({"put", "pws", "pwsf"})
REDUCTIONS: Final = frozenset({"re", "res", "rre", "rres"})
SIGNALS: Final = frozenset({"signal", "wait", "flush"})
CHECKED: Final = PUTS | REDUCTIONS | SIGNALS | {"nop", "barrier", "copy"}
"""Operations whose effect `verify_plan` follows."""
_OTHERS: Final = frozenset(
    {"get", "ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt", "glres", "gstore", "rlxsignal"}
    | {"rlxwait", "pipeline", "sem_acquire", "sem_release"}
)


def lint_plan(plan: Plan) -> tuple[Finding, ...]:
    """Return what the executor would not do as the file has it; without errors it loads and runs the plan."""
    return tuple(_found(plan))


def _found(plan: Plan) -> Iterator[Finding]:
    yield from _head(plan)
    for place, rank in enumerate(plan.ranks):
        where = f"rank {place}"
        if rank.rank != place:
            yield _error("rank", where, f"has id {rank.rank}; ranks stand in their order")
            return
        yield from _rank(plan, rank, where)
    yield from _pairs(plan)


def _error(rule: str, where: str, message: str, remedy: str = "") -> Finding:
    return Finding("error", rule, where, message, remedy)


def _head(plan: Plan) -> Iterator[Finding]:
    if plan.protocol not in {"Simple", "LL"}:
        yield _error("protocol", "plan", f"protocol {plan.protocol!r} is neither Simple nor LL")
    if not is_collective(plan.collective):
        yield Finding("warning", "collective", "plan", f"nothing selects a plan for {plan.collective!r} by itself")
    if not plan.ranks:
        yield _error("rank", "plan", "has no ranks")
    if plan.alignment < 16 or plan.alignment % 16:
        yield _error("alignment", "plan", f"buffer_alignment {plan.alignment} is no multiple of the 16 bytes of a load")
    if not 1 <= plan.threads <= 1024:
        yield _error("limit", "plan", f"{plan.threads} threads a block; a block has 1 to 1024")
    if plan.min_bytes > plan.max_bytes:
        yield _error("range", "plan", f"no size is from {plan.min_bytes} to {plan.max_bytes} bytes")
    for name in plan.extra:
        yield Finding("warning", "unread", "plan", f"field {name!r} is not read by the loader")
    most, share = _span(plan)
    if share and plan.max_bytes // share * most > MAX_OFFSET_BYTES:
        message = f"offsets have 32 bits, but a buffer may span more than 4 GiB for calls below {plan.max_bytes} bytes"
        yield Finding("warning", "offset-range", "plan", message, f"calls up to {MAX_OFFSET_BYTES // most * share} fit")


def _span(plan: Plan) -> tuple[int, int]:
    """Return the chunks of the longest buffer, and those of the buffer whose bytes select a plan."""
    most = max((max(map(rank.chunks, Buffer)) for rank in plan.ranks), default=1)
    chunks = [rank.output_chunks if plan.collective == "allgather" else rank.input_chunks for rank in plan.ranks]
    return max(most, 1), max(chunks, default=0)


def _rank(plan: Plan, rank: PlanRank, where: str) -> Iterator[Finding]:
    if not rank.input_chunks or not rank.output_chunks:
        yield _error("chunks", where, "has no input chunks or no output chunks: the loader divides by both")
    if len(rank.blocks) > MAX_BLOCKS:
        yield _error("limit", where, f"{len(rank.blocks)} thread blocks; {MAX_BLOCKS} run at once")
    for kind, peers in rank.channels.items():
        for peer in peers:
            if peer >= plan.size or peer == rank.rank:
                yield _error("peer", where, f"a {kind} channel leads to rank {peer}")
    for number, remote in enumerate(rank.remote_buffers):
        if remote.rank >= plan.size or remote.rank == rank.rank:
            yield _error("peer", where, f"remote buffer {number} is of rank {remote.rank}")
    for place, block in enumerate(rank.blocks):
        here = f"{where}, thread block {place}"
        if block.id != place:
            yield _error("block", here, f"has id {block.id}; the loader takes blocks in the order of the file")
        else:
            yield from _block(plan, rank, block, here)
    yield from _barriers(rank, where)


def _block(plan: Plan, rank: PlanRank, block: PlanBlock, where: str) -> Iterator[Finding]:
    count = sum(1 + len(op.inner) for op in block.ops)
    if count > MAX_OPERATIONS:
        yield _error("limit", where, f"{count} operations; the device has room for {MAX_OPERATIONS}")
    for what, lists in (("channels", block.channels), ("remote buffers", block.buffers)):
        for kind, numbers in lists.items():
            if len(numbers) > MAX_CHANNELS:
                yield _error("limit", where, f"{len(numbers)} {kind} {what}; the device has room for {MAX_CHANNELS}")
    for kind in KINDS:
        yield from _missing(block.channels.get(kind, ()), len(rank.channels.get(kind, ())), where, f"{kind} channel")
        yield from _missing(block.buffers.get(kind, ()), len(rank.remote_buffers), where, "remote buffer")
        for number in block.buffers.get(kind, ()):
            if number < len(rank.remote_buffers) and kind not in rank.remote_buffers[number].kinds:
                yield _error(
                    "buffer", where, f"reaches remote buffer {number} by {kind}, for which it is not registered"
                )
    for number, op in enumerate(block.ops):
        for inner in (op, *op.inner):
            yield from _op(plan, rank, block, (inner, f"{where}, operation {number} ({inner.name})"))


def _missing(numbers: Sequence[int], count: int, where: str, what: str) -> Iterator[Finding]:
    for number in numbers:
        if number >= count:
            yield _error("range", where, f"names {what} {number}; there are {count}")


def _op(plan: Plan, rank: PlanRank, block: PlanBlock, named: tuple[Op, str]) -> Iterator[Finding]:
    op, where = named
    if op.name not in CHECKED | _OTHERS:
        yield _error("operation", where, "the loader knows no such operation")
        return
    channels = block.channels.get(op.kind, ())
    yield from _missing(op.channels, len(channels), where, f"{op.kind or 'nameless'} channel")
    for what, count, limit in (
        ("channels", len(op.channels), MAX_CHANNELS_OF_OPERATION),
        ("sources", len(op.src), MAX_OPERANDS),
        ("targets", len(op.dst), MAX_OPERANDS),
        ("semaphores", len(op.semaphores), MAX_SEMAPHORES),
    ):
        if count > limit:
            yield _error("limit", where, f"{count} {what}; an operation has room for {limit}")
    if op.part >= op.parts:
        yield _error("share", where, f"part {op.part} of {op.parts}")
    for ref in (*op.src, *op.dst):
        yield from _ref(plan, rank, block, (ref, op.kind, where))
    yield from _shape(op, where)


def _ref(plan: Plan, rank: PlanRank, block: PlanBlock, named: tuple[Ref, str, str]) -> Iterator[Finding]:
    ref, kind, where = named
    owner, buffer = rank, ref.buffer
    if buffer is None and ref.remote >= 0:
        numbers = block.buffers.get(kind, ())
        if ref.remote >= len(numbers):
            yield _error("range", where, f"names remote buffer {ref.remote} of {len(numbers)} that it has by {kind!r}")
            return
        if numbers[ref.remote] >= len(rank.remote_buffers):
            return
        remote = rank.remote_buffers[numbers[ref.remote]]
        if remote.rank >= plan.size:
            return
        owner, buffer = plan.ranks[remote.rank], remote.buffer
        yield from _asymmetric(plan, buffer, where)
    if buffer is None:
        return
    if not ref.size:
        yield _error("size", where, "moves no chunk")
    if ref.start + ref.size > owner.chunks(buffer):
        message = f"{buffer.value}[{ref.start}:{ref.start + ref.size}] of rank {owner.rank} ends beyond its"
        yield _error("overrun", where, f"{message} {owner.chunks(buffer)} chunks")


def _asymmetric(plan: Plan, buffer: Buffer, where: str) -> Iterator[Finding]:
    """Tell of remote buffers that start elsewhere than the executor thinks: where they start on the calling rank."""
    parts = {
        "allgather": Buffer.INPUT,
        "gather": Buffer.INPUT,
        "reducescatter": Buffer.OUTPUT,
        "scatter": Buffer.OUTPUT,
    }
    if plan.in_place and parts.get(plan.collective) is buffer:
        message = f"reaches {buffer.value} of another rank, which starts elsewhere on each rank in place"
        yield _error("offset", where, message, "use the whole buffer instead")


def _shape(op: Op, where: str) -> Iterator[Finding]:
    """Tell of operands that the kernels would not use as the file has them."""
    sizes = {ref.size for ref in (*op.src, *op.dst)}
    if op.name in PUTS:
        if len(op.src) != len(op.dst) or not op.dst:
            yield _error("operands", where, f"{len(op.src)} sources for {len(op.dst)} targets")
        elif any(source.size != target.size for source, target in zip(op.src, op.dst, strict=True)):
            yield _error("operands", where, "a source and its target differ in size")
        yield from _put(op, where)
    elif op.name in REDUCTIONS or op.name == "copy":
        if len(sizes) != 1 or not op.src or not op.dst:
            yield _error("operands", where, "sources and targets differ in size, or there are none")
        yield from _local(op, where)
    elif op.name in SIGNALS:
        if not op.channels or op.kind not in KINDS:
            yield _error("operands", where, "has no channel")
        if op.name == "flush" and len(op.dst) < len(op.channels):
            message = "the kernel counts the targets of a flush, not its channels: this one does not wait"
            yield Finding("warning", "flush", where, message, "list a target for each channel")
        if op.name == "flush" and op.kind == MEMORY:
            yield _error("operands", where, "flushes memory channels, which have nothing to flush")
    elif op.name == "barrier" and not (0 <= op.barrier < MAX_BARRIERS and op.blocks):
        yield _error("limit", where, f"barrier {op.barrier} of {op.blocks} blocks; there are {MAX_BARRIERS}")
    elif op.name == "get":
        yield Finding("warning", "get", where, "the kernel takes the offset of its source for that of its target")


def _put(op: Op, where: str) -> Iterator[Finding]:
    if op.kind not in KINDS:
        yield _error("operands", where, "has no channel type")
    if any(ref.buffer is None for ref in op.src) or any(ref.buffer is not None for ref in op.dst):
        yield _error("operands", where, "puts from a remote or to a local buffer")
    if op.kind == PORT and len(op.channels) != len(op.dst):
        yield _error("operands", where, f"{len(op.channels)} channels for {len(op.dst)} targets")
    if op.kind == MEMORY and len({ref.buffer for ref in op.src}) > 1:
        yield _error("operands", where, "sources in several buffers: the kernel takes all from the first one's")
    if op.kind == MEMORY and op.name != "put":
        yield _error("operands", where, "over memory channels the kernel puts but does not signal")
    if op.name == "pwsf":
        yield _error(
            "operands", where, "the kernel passes an address for the source's offset", "use put, signal, flush"
        )


def _local(op: Op, where: str) -> Iterator[Finding]:
    remote_sources = [ref.buffer is None for ref in op.src]
    remote_targets = [ref.buffer is None for ref in op.dst]
    reads, sends = op.name in {"rre", "rres"}, op.name in {"res", "rres"}
    fits = remote_sources == [reads and i > 0 for i in range(len(op.src))]
    if op.name == "copy":
        fits = remote_sources == [False] and remote_targets == [False]
    elif fits:
        fits = remote_targets == [sends and i > 0 for i in range(len(op.dst))] and (sends or len(op.dst) == 1)
    if not fits:
        yield _error("operands", where, "has local and remote operands in places where the kernel takes the others")
    elif (reads or sends) and op.kind != MEMORY:
        yield _error("operands", where, "reads or writes remote memory without memory channels")


def _barriers(rank: PlanRank, where: str) -> Iterator[Finding]:
    blocks: dict[int, Counter[int]] = {}
    sizes: dict[int, set[int]] = {}
    for block in rank.blocks:
        for op in block.ops:
            if op.name == "barrier":
                blocks.setdefault(op.barrier, Counter())[block.id] += 1
                sizes.setdefault(op.barrier, set()).add(op.blocks)
    for barrier, users in sorted(blocks.items()):
        if sizes[barrier] != {len(users)} or len(set(users.values())) > 1:
            listed = ", ".join(f"block {block} {count} times" for block, count in sorted(users.items()))
            stated = ", ".join(map(str, sorted(sizes[barrier])))
            yield _error("barrier", where, f"barrier {barrier} for {stated} blocks is met by {listed}")


def _pairs(plan: Plan) -> Iterator[Finding]:
    """Tell of channels whose other end has no channel: the executor then makes a semaphore that nothing signals."""
    counts: Mapping[tuple[int, int, str], int] = Counter(
        (rank.rank, peer, kind) for rank in plan.ranks for kind, peers in rank.channels.items() for peer in peers
    )
    for (rank, peer, kind), count in sorted(counts.items()):
        if counts.get((peer, rank, kind), 0) < count:
            message = f"{count} {kind} channels to rank {peer}, which has {counts.get((peer, rank, kind), 0)} back"
            yield Finding("warning", "one-way", f"rank {rank}", message)
