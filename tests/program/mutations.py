"""Random small faults in right programs, one of twelve kinds at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from syccl.findings import errors
from syccl.program.ir import Buffer, Program, Slot, Step, StepType
from syccl.program.replay import replay_matches
from syccl.program.semantics import buffer_chunks
from syccl.program.verify import verify_program
from tests.program.programs import mutated, with_block

READS_SOURCE = {StepType(name) for name in ("s", "rrc", "rrs", "rrcs", "cpy", "re")}
WRITES_TARGET = {StepType(name) for name in ("r", "rcs", "rrc", "rrcs", "cpy", "re")}
SEEDS = 12

Place = tuple[int, int, int]
"""Rank, thread block, step."""
Change = Callable[[Program, Place, random.Random], Program | None]


def places(program: Program) -> list[Place]:
    return [
        (rank.rank, b, s)
        for rank in program.ranks
        for b, block in enumerate(rank.blocks)
        for s in range(len(block.steps))
    ]


def step_at(program: Program, place: Place) -> Step:
    rank, block, step = place
    return program.ranks[rank].blocks[block].steps[step]


def with_step(program: Program, place: Place, new: Step) -> Program:
    rank, block, step = place
    return mutated(program, rank, block, lambda steps: [*steps[:step], new, *steps[step + 1 :]])


def _sizes(program: Program, rank: int) -> dict[Buffer, int]:
    inputs, outputs = buffer_chunks(program)
    scratch = program.ranks[rank].scratch_chunks
    return {Buffer.INPUT: inputs, Buffer.OUTPUT: outputs, Buffer.SCRATCH: scratch}


def _operand(step: Step, dice: random.Random) -> str | None:
    """An operand that the step uses."""
    used = [*(["src"] if step.type in READS_SOURCE else []), *(["dst"] if step.type in WRITES_TARGET else [])]
    return dice.choice(used) if used else None


def _peer(program: Program, place: Place, dice: random.Random) -> Program | None:
    rank, b, _ = place
    block = program.ranks[rank].blocks[b]
    ends = [end for end in ("send", "recv") if getattr(block, end) >= 0]
    others = [peer for peer in range(program.size) if peer not in {rank, block.send, block.recv}]
    if not ends or not others:
        return None
    return with_block(program, rank, b, replace(block, **{dice.choice(ends): dice.choice(others)}))


def _channel(program: Program, place: Place, dice: random.Random) -> Program | None:
    rank, b, _ = place
    block = program.ranks[rank].blocks[b]
    if block.send < 0 and block.recv < 0:
        return None
    channels = [channel for channel in range(program.channels + 1) if channel != block.channel]
    return with_block(program, rank, b, replace(block, channel=dice.choice(channels)))


def _offset(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    name = _operand(step, dice)
    if name is None:
        return None
    slot: Slot = getattr(step, name)
    offsets = [offset for offset in range(-1, _sizes(program, place[0])[slot.buffer] + 1) if offset != slot.offset]
    return with_step(program, place, step._replace(**{name: slot._replace(offset=dice.choice(offsets))}))


def _buffer(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    name = _operand(step, dice)
    if name is None:
        return None
    slot: Slot = getattr(step, name)
    buffers = [buffer for buffer in Buffer if buffer is not slot.buffer]
    return with_step(program, place, step._replace(**{name: slot._replace(buffer=dice.choice(buffers))}))


def _type(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    return with_step(program, place, step._replace(type=dice.choice([t for t in StepType if t is not step.type])))


def _cnt(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    if step.type is StepType.NOP:
        return None
    return with_step(program, place, step._replace(cnt=dice.choice([n for n in range(4) if n != step.cnt])))


def _depid(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    blocks = [block.id for block in program.ranks[place[0]].blocks]
    others = [block for block in (*blocks, len(blocks)) if step.depends and block != step.depends[0]]
    if not step.depends or not others:
        return None
    return with_step(program, place, step._replace(depends=(dice.choice(others), step.depends[1])))


def _deps(program: Program, place: Place, dice: random.Random) -> Program | None:
    step = step_at(program, place)
    if not step.depends:
        return None
    ids = {block.id: block for block in program.ranks[place[0]].blocks}
    others = [n for n in range(len(ids[step.depends[0]].steps) + 1) if n != step.depends[1]]
    return with_step(program, place, step._replace(depends=(step.depends[0], dice.choice(others))))


def _hasdep(program: Program, place: Place, _dice: random.Random) -> Program | None:
    step = step_at(program, place)
    return with_step(program, place, step._replace(has_dependents=False)) if step.has_dependents else None


def _drop(program: Program, place: Place, _dice: random.Random) -> Program | None:
    rank, block, step = place
    return mutated(program, rank, block, lambda steps: [*steps[:step], *steps[step + 1 :]])


def _swap(program: Program, place: Place, dice: random.Random) -> Program | None:
    rank, block, step = place
    steps = program.ranks[rank].blocks[block].steps
    others = [i for i in range(len(steps)) if steps[i]._replace(line=0) != steps[step]._replace(line=0)]
    if not others:
        return None
    other = dice.choice(others)

    def exchanged(steps: list[Step]) -> list[Step]:
        steps[step], steps[other] = steps[other], steps[step]
        return steps

    return mutated(program, rank, block, exchanged)


def _duplicate(program: Program, place: Place, _dice: random.Random) -> Program | None:
    rank, block, step = place
    return mutated(program, rank, block, lambda steps: [*steps[: step + 1], *steps[step:]])


KINDS: dict[str, Change] = {
    "peer": _peer,
    "channel": _channel,
    "offset": _offset,
    "buffer": _buffer,
    "type": _type,
    "cnt": _cnt,
    "depid": _depid,
    "deps": _deps,
    "hasdep": _hasdep,
    "drop": _drop,
    "swap": _swap,
    "duplicate": _duplicate,
}


def faults(program: Program, kind: str, dice: random.Random) -> Iterator[Program]:
    """Programs with one fault of a kind, at random places, without end; none where there is no place for it."""
    everywhere = places(program)
    if all(KINDS[kind](program, place, random.Random(0)) is None for place in everywhere):
        return
    while True:
        made = KINDS[kind](program, dice.choice(everywhere), dice)
        if made is not None:
            yield made


def is_found(program: Program) -> bool:
    """Whether verification refuses a program."""
    return bool(errors(verify_program(program)))


def is_harmless(program: Program, root: int = 0) -> bool:
    """Whether a program still gives the right numbers in every execution that is tried."""
    return all(
        replay_matches(program, seed=seed, root=root, chunks_per_message=chunks)
        for seed in range(SEEDS)
        for chunks in (1, 71)
    )
