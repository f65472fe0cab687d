"""Runs a program on real numbers with a random legal interleaving and compares with the collective's definition.

This is a second opinion beside ``verify``: the thread blocks of all ranks run as coroutines over numpy buffers,
bounded queues and flags, and nothing is shared with the proof.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.findings import Finding, errors
from syccl.program.ir import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock

Array = NDArray[Any]

QUEUE_MESSAGES: Final = {"Simple": 2, "LL": 8, "LL128": 8}
"""Messages in flight on a connection within a node."""
MOST_CHUNKS: Final = 71
"""Chunks of one message at small sizes."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What one execution left behind; arrays per rank, of shape (chunks, elements)."""

    inputs: tuple[Array, ...]
    """What the ranks put in, as it was before."""
    inputs_after: tuple[Array, ...]
    outputs: tuple[Array, ...]
    stuck: tuple[str, ...]
    """Thread blocks that could not go on, with their steps; empty when the program ended."""


@dataclass(slots=True)
class _Channel:
    """A bounded queue of messages, and who sleeps until it changes."""

    depth: int
    messages: deque[Array] = field(default_factory=deque)
    sleepers: list[_Thread] = field(default_factory=list)


@dataclass(slots=True)
class _Flag:
    """The number of the last step that a thread block published."""

    value: int = -1
    sleepers: list[_Thread] = field(default_factory=list)


@dataclass(slots=True)
class _Thread:
    """A thread block at work; the coroutine yields what it waits for, or None after each move."""

    name: str
    coroutine: Iterator[_Channel | _Flag | None] = field(default_factory=lambda: iter(()))
    step: int = 0


@dataclass(frozen=True, slots=True)
class _World:
    """Everything that thread blocks share."""

    buffers: tuple[dict[Buffer, Array], ...]
    channels: dict[tuple[int, int, int], _Channel]
    flags: dict[tuple[int, int], _Flag]
    chunks_per_message: int
    awake: list[_Thread]

    def changed(self, resource: _Channel | _Flag) -> None:
        self.awake.extend(resource.sleepers)
        resource.sleepers.clear()


def replay(
    program: Program,
    *,
    in_place: bool,
    chunk_elements: int = 1,
    dtype: str = "int64",
    seed: int = 0,
    chunks_per_message: int = MOST_CHUNKS,
) -> Replay:
    """Run a program once.

    Parameters
    ----------
    program
        The program, best read back from its file.
    in_place
        Whether output and input share memory as in an in-place call.
    chunk_elements
        Elements of a chunk.
    dtype
        ``int64`` or ``float32``; the numbers are whole and small enough that float sums are exact.
    seed
        Chooses numbers and interleaving.
    chunks_per_message
        Most chunks moved as one message, 1 for the largest calls.

    Raises
    ------
    InputError
        When the dtype is none of these, or steps reach outside of buffers or connections.
    """
    inputs, buffers = _buffers(program, in_place=in_place, shape=(chunk_elements, dtype), seed=seed)
    rng = random.Random(seed)
    world = _World(buffers, {}, {}, chunks_per_message, [])
    threads = [_thread(world, program, rank, block) for rank in program.ranks for block in rank.blocks]
    world.awake.extend(threads)
    sleeping = _interleave(world, rng)
    return Replay(
        inputs=inputs,
        inputs_after=tuple(memory[Buffer.INPUT] for memory in buffers),
        outputs=tuple(memory[Buffer.OUTPUT] for memory in buffers),
        stuck=tuple(f"{thread.name} step {thread.step}" for thread in threads if id(thread) in sleeping),
    )


def replay_findings(
    program: Program,
    *,
    in_place: bool | None = None,
    chunk_elements: int = 1,
    dtype: str = "int64",
    seed: int = 0,
    root: int = 0,
    chunks_per_message: int = MOST_CHUNKS,
) -> tuple[Finding, ...]:
    """Run a program and return where its results differ from the collective's definition.

    Parameters
    ----------
    program, chunk_elements, dtype, seed, chunks_per_message
        As for ``replay``.
    in_place
        The kind of call, None for both; kinds that the program is not for are left out.
    root
        The root of a rooted collective.
    """
    kinds = [in_place is not False and program.in_place, in_place is not True and program.out_of_place]
    found: list[Finding] = []
    for kind in (kind for kind, wanted in zip((True, False), kinds, strict=True) if wanted):
        done = replay(
            program,
            in_place=kind,
            chunk_elements=chunk_elements,
            dtype=dtype,
            seed=seed,
            chunks_per_message=chunks_per_message,
        )
        found += _compare(program, done, root, "in place" if kind else "out of place")
    return tuple(found)


def replay_matches(
    program: Program,
    *,
    in_place: bool | None = None,
    chunk_elements: int = 1,
    dtype: str = "int64",
    seed: int = 0,
    root: int = 0,
    chunks_per_message: int = MOST_CHUNKS,
) -> bool:
    """Return whether ``replay_findings`` finds no error."""
    found = replay_findings(
        program,
        in_place=in_place,
        chunk_elements=chunk_elements,
        dtype=dtype,
        seed=seed,
        root=root,
        chunks_per_message=chunks_per_message,
    )
    return not errors(found)


def _numbers(rng: np.random.Generator, ranks: int, shape: tuple[int, int], dtype: str) -> list[Array]:
    if dtype == "int64":
        return [rng.integers(1, 2**40, size=shape) for _ in range(ranks)]
    if dtype == "float32":
        most = max(2**23 // ranks, 2)
        return [rng.integers(1, most, size=shape).astype(np.float32) for _ in range(ranks)]
    msg = f"dtype {dtype!r} cannot be replayed; choose int64 or float32"
    raise InputError(msg)


def _unset(rng: np.random.Generator, chunks: int, elements: int, dtype: str) -> Array:
    """Return memory as a caller may pass it: nothing that could be taken for a result."""
    if dtype == "float32":
        return np.full((chunks, elements), np.nan, dtype=np.float32)
    return rng.integers(-(2**60), -(2**59), size=(chunks, elements))


def _buffers(
    program: Program, *, in_place: bool, shape: tuple[int, str], seed: int
) -> tuple[tuple[Array, ...], tuple[dict[Buffer, Array], ...]]:
    """Return the inputs and the buffers of every rank, aliased as NCCL's calls do."""
    elements, dtype = shape
    ranks, total = len(program.ranks), program.chunks
    share = total // ranks
    gathers, scatters = (
        program.collective in {"allgather", "gather"},
        program.collective in {"reducescatter", "scatter"},
    )
    given = share if gathers else total
    taken = share if scatters else total
    rng = np.random.default_rng(seed)
    inputs = _numbers(rng, ranks, (given, elements), dtype)
    buffers = []
    for rank in range(ranks):
        source, target = inputs[rank].copy(), _unset(rng, taken, elements, dtype)
        if in_place:
            whole = _unset(rng, total, elements, dtype)
            part = whole[rank * share : (rank + 1) * share]
            source, target = part if gathers else whole, part if scatters else whole
            source[:] = inputs[rank]
        scratch = _unset(rng, program.ranks[rank].scratch_chunks, elements, dtype)
        buffers.append({Buffer.INPUT: source, Buffer.OUTPUT: target, Buffer.SCRATCH: scratch})
    return tuple(inputs), tuple(buffers)


def _interleave(world: _World, rng: random.Random) -> set[int]:
    """Move randomly chosen thread blocks, a few moves each, until none can; return who is not done."""
    alive: set[int] = {id(thread) for thread in world.awake}
    awake = world.awake
    while awake:
        place = int(rng.random() * len(awake))
        thread = awake[place]
        for _ in range(1 + int(rng.random() * 4)):
            waits = next(thread.coroutine, thread)
            if waits is None:
                continue
            awake[place] = awake[-1]
            awake.pop()
            if isinstance(waits, _Thread):
                alive.discard(id(thread))
            else:
                waits.sleepers.append(thread)
            break
    return alive


def _thread(world: _World, program: Program, rank: RankProgram, block: ThreadBlock) -> _Thread:
    thread = _Thread(f"rank {rank.rank} tb {block.id}")
    depth = QUEUE_MESSAGES[program.protocol]
    ends = (rank.rank, block.send, block.channel), (block.recv, rank.rank, block.channel)
    outgoing, incoming = (world.channels.setdefault(end, _Channel(depth)) for end in ends)
    thread.coroutine = _work(world, thread, _Job(rank.rank, block, incoming, outgoing))
    return thread


@dataclass(frozen=True, slots=True)
class _Job:
    """A thread block with its two ends."""

    rank: int
    block: ThreadBlock
    incoming: _Channel
    outgoing: _Channel


def _work(world: _World, thread: _Thread, job: _Job) -> Iterator[_Channel | _Flag | None]:
    """Run the steps of a thread block as the runtime does: no-ops hand their wait on, the real steps are counted."""
    own = world.flags.setdefault((job.rank, job.block.id), _Flag())
    waits: list[tuple[int, int]] = []
    number = 0
    for thread.step, step in enumerate(job.block.steps):
        if step.depends is not None:
            waits.append(step.depends)
        if step.type is StepType.NOP:
            continue
        for block, wanted in waits:
            flag = world.flags.setdefault((job.rank, block), _Flag())
            while flag.value < wanted:
                yield flag
        number += max(len(waits) - 1, 0)
        waits = []
        yield from _moves(world, job, step)
        if step.has_dependents:
            own.value = number
            world.changed(own)
        number += 1
        yield None


def _moves(world: _World, job: _Job, step: Step) -> Iterator[_Channel | None]:
    """Move the chunks of a step, one message at a time."""
    memory = world.buffers[job.rank]
    receives, sends = step.type.receives, step.type.sends
    for first in range(0, step.cnt, world.chunks_per_message):
        chunks = first, min(first + world.chunks_per_message, step.cnt)
        while (receives and not job.incoming.messages) or (sends and len(job.outgoing.messages) >= job.outgoing.depth):
            yield job.outgoing if not receives or job.incoming.messages else job.incoming
        message = _transfer(memory, step, chunks, job.incoming.messages[0] if receives else None)
        if sends:
            job.outgoing.messages.append(message)
            world.changed(job.outgoing)
        if receives:
            job.incoming.messages.popleft()
            world.changed(job.incoming)
        if chunks[1] < step.cnt:
            yield None


def _transfer(memory: dict[Buffer, Array], step: Step, chunks: tuple[int, int], message: Array | None) -> Array:
    """Carry out one message's worth of a step and return what is sent on."""
    kind = step.type
    if kind is StepType.RECV or kind is StepType.RECV_COPY_SEND:
        result = _checked(message, chunks)
    elif kind is StepType.SEND or kind is StepType.COPY:
        result = _part(memory, step.src, chunks).copy()
    elif kind is StepType.REDUCE:
        result = _part(memory, step.dst, chunks) + _part(memory, step.src, chunks)
    else:
        result = _part(memory, step.src, chunks) + _checked(message, chunks)
    if kind is not StepType.SEND and kind is not StepType.RECV_REDUCE_SEND:
        _part(memory, step.dst, chunks)[:] = result
    return result


def _checked(message: Array | None, chunks: tuple[int, int]) -> Array:
    if message is None or len(message) != chunks[1] - chunks[0]:
        msg = f"a message of {0 if message is None else len(message)} chunks meets a receive of {chunks[1] - chunks[0]}"
        raise InputError(msg)
    return message


def _part(memory: dict[Buffer, Array], slot: Slot, chunks: tuple[int, int]) -> Array:
    buffer = memory[slot.buffer]
    first, last = slot.offset + chunks[0], slot.offset + chunks[1]
    if not 0 <= first <= last <= len(buffer):
        msg = f"{slot.buffer.value}[{first}..{last - 1}] is outside of the buffer of {len(buffer)} chunks"
        raise InputError(msg)
    return buffer[first:last]


def _expected(program: Program, inputs: tuple[Array, ...], root: int) -> list[Array | None]:
    """Return what each output must be by the collective's definition; None where it is free."""
    ranks = len(inputs)
    given = np.stack(inputs)
    rows = range(ranks)
    match program.collective:
        case "allreduce":
            return [given.sum(axis=0, dtype=given.dtype)] * ranks
        case "reduce":
            return [given.sum(axis=0, dtype=given.dtype) if rank == root else None for rank in rows]
        case "reducescatter":
            return list(np.split(given.sum(axis=0, dtype=given.dtype), ranks))
        case "broadcast":
            return [given[root]] * ranks
        case "scatter":
            return list(np.split(given[root], ranks))
        case "allgather":
            return [np.concatenate(inputs)] * ranks
        case "gather":
            return [np.concatenate(inputs) if rank == root else None for rank in rows]
        case "alltoall":
            blocks = [np.split(source, ranks) for source in inputs]
            return [np.concatenate([blocks[source][rank] for source in rows]) for rank in rows]
        case "alltoallv" if program.counts:
            ends = np.cumsum(program.counts, axis=1)
            parts = [np.split(source, ends[rank]) for rank, source in enumerate(inputs)]
            return [np.concatenate([parts[source][rank] for source in rows]) for rank in rows]
    return [None] * ranks


def _compare(program: Program, done: Replay, root: int, kind: str) -> Iterator[Finding]:
    if done.stuck:
        listed = ", ".join(done.stuck[:4]) + (", ..." if len(done.stuck) > 4 else "")
        yield Finding("error", "deadlock", "replay", f"{kind}: {len(done.stuck)} thread blocks hang: {listed}")
        return
    for rank, (wanted, got) in enumerate(zip(_expected(program, done.inputs, root), done.outputs, strict=True)):
        if wanted is not None and not np.array_equal(wanted, got[: len(wanted)]):
            wrong = np.flatnonzero((wanted != got[: len(wanted)]).any(axis=1)).tolist()
            message = f"{kind}: {len(wrong)} of {len(wanted)} output chunks differ, first {wrong[0]}"
            yield Finding("error", "wrong", f"rank {rank}", message)
    if kind == "out of place":
        for rank, (before, after) in enumerate(zip(done.inputs, done.inputs_after, strict=True)):
            if not np.array_equal(before, after):
                yield Finding("warning", "input", f"rank {rank}", f"{kind}: the input was changed")
