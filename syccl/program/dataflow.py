"""What every chunk holds in the end: sums of input chunks as sets of contributing ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from syccl.program.columns import CODE, TYPES
from syccl.program.ir import Program, StepType
from syccl.program.memory import Memory, Operands
from syccl.program.semantics import ROOTED, results, used_chunks

UNSET: Final = 0
"""Never written."""
SPOILED: Final = -1
"""The result of a step that was already reported."""

_SEND, _RECV, _RECV_COPY_SEND = (CODE[kind] for kind in (StepType.SEND, StepType.RECV, StepType.RECV_COPY_SEND))
_COPY, _REDUCE = CODE[StepType.COPY], CODE[StepType.REDUCE]
_RECV_REDUCE_COPY, _RECV_REDUCE_SEND = CODE[StepType.RECV_REDUCE_COPY], CODE[StepType.RECV_REDUCE_SEND]
_IDLE: Final = len(TYPES)


class Values:
    """Codes of sums of one input chunk over some ranks: the set of ranks as bits above the chunk's number."""

    def __init__(self, program: Program) -> None:
        self.everyone = (1 << program.size) - 1
        self.bits = program.chunks.bit_length()
        self.chunk_mask = (1 << self.bits) - 1

    def describe(self, value: int) -> str:
        """Return a value in words."""
        if value == UNSET:
            return "nothing"
        if value == SPOILED:
            return "the result of a wrong step"
        chunk, mask = value & self.chunk_mask, value >> self.bits
        if mask == self.everyone:
            return f"input chunk {chunk} of all ranks"
        ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
        listed = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
        return f"input chunk {chunk} of rank{'s' if len(ranks) > 1 else ''} {listed}"


@dataclass(frozen=True, slots=True)
class Flow:
    """The memory after an execution and the parts that went wrong in it."""

    memory: list[int]
    messages: list[int]
    """What every part sends, UNSET for the others."""
    unset: list[int] = field(default_factory=list)
    """Parts that read what was never written."""
    clashes: list[tuple[int, int, int]] = field(default_factory=list)
    """Parts that add two values which overlap or belong to different chunks, with the values."""


def run(program: Program, where: Memory, operands: Operands, order: list[int]) -> Flow:
    """Execute a program on values instead of numbers.

    Parameters
    ----------
    program, where, operands
        The program and its locations.
    order
        All parts of one chunk each, in a legal order.
    """
    values = Values(program)
    kinds = np.where(operands.active, operands.table.type[operands.parts.step], _IDLE).tolist()
    source, target, takes = operands.source.tolist(), operands.target.tolist(), operands.parts.takes.tolist()
    result = Flow(_initial(program, where, values), messages=[UNSET] * len(kinds))
    memory, messages, unset, added = result.memory, result.messages, result.unset, _adder(result, values.chunk_mask)
    for part in order:
        kind = kinds[part]
        if kind == _RECV:
            memory[target[part]] = messages[takes[part]]
        elif kind == _RECV_COPY_SEND:
            memory[target[part]] = messages[part] = messages[takes[part]]
        elif kind in {_SEND, _COPY}:
            value = memory[source[part]]
            if value == UNSET:
                unset.append(part)
                value = SPOILED
            if kind == _SEND:
                messages[part] = value
            else:
                memory[target[part]] = value
        elif kind == _REDUCE:
            memory[target[part]] = added(part, memory[target[part]], memory[source[part]])
        elif kind != _IDLE:
            value = added(part, messages[takes[part]], memory[source[part]])
            if kind != _RECV_REDUCE_SEND:
                memory[target[part]] = value
            if kind != _RECV_REDUCE_COPY:
                messages[part] = value
    return result


def _adder(result: Flow, low: int) -> Callable[[int, int, int], int]:
    """Return the sum of two values for a part; what cannot be added is recorded."""

    def added(part: int, one: int, other: int) -> int:
        if one > 0 < other and not (one ^ other) & low and one & other <= low:
            return one | other
        if UNSET in (one, other):
            result.unset.append(part)
        elif SPOILED not in (one, other):
            result.clashes.append((part, one, other))
        return SPOILED

    return added


def _initial(program: Program, where: Memory, values: Values) -> list[int]:
    memory = [UNSET] * where.locations
    for rank, base in enumerate(where.base[:, 0].tolist()):
        inputs, _ = used_chunks(program, rank)
        memory[base : base + inputs] = [1 << rank + values.bits | chunk for chunk in range(inputs)]
    return memory


class Wrong(NamedTuple):
    """An output chunk that does not hold what it must; values as codes."""

    rank: int
    output: int
    required: int
    held: int


def wrong_outputs(program: Program, where: Memory, memory: list[int], root: int) -> list[Wrong]:
    """Return the output chunks that hold something else than they must, rank by rank."""
    bits = Values(program).bits
    wrong: list[Wrong] = []
    for rank, base in enumerate(where.base[:, 1].tolist()):
        required = [ranks << bits | chunk for chunk, ranks in results(program, rank, root)]
        held = memory[base : base + len(required)]
        if held != required:
            pairs = enumerate(zip(required, held, strict=True))
            wrong += [Wrong(rank, output, a, b) for output, (a, b) in pairs if a != b]
    return wrong


def likely_root(program: Program, where: Memory, memory: list[int]) -> int:
    """Return the rank that a program serves as the root: the one for which the fewest outputs are wrong."""
    if program.collective not in ROOTED:
        return 0
    return min(range(program.size), key=lambda root: len(wrong_outputs(program, where, memory, root)))
