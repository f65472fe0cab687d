"""Where chunks lie before and after each collective, from what the runtime file says and nothing else."""

from __future__ import annotations

from syccl.program.ir import Program

ROOTED = frozenset({"broadcast", "reduce", "gather", "scatter"})
"""Collectives with a root; a runtime file does not say which rank it is."""

_SPREADS_INPUT = frozenset({"allgather", "gather"})
_SPREADS_OUTPUT = frozenset({"reducescatter", "scatter"})
_KNOWN = (
    frozenset({"allreduce", "alltoall", "custom", "alltoallv", "broadcast", "reduce"})
    | _SPREADS_INPUT
    | _SPREADS_OUTPUT
)


def is_collective(name: str) -> bool:
    """Return whether programs for the collective of that name are understood."""
    return name in _KNOWN


def is_split(collective: str) -> bool:
    """Return whether the total buffer is cut by ranks first, so that the ranks must divide the chunks."""
    return collective in _SPREADS_INPUT | _SPREADS_OUTPUT | {"alltoall"}


def states_result(program: Program) -> bool:
    """Return whether it is known what outputs must hold: not for custom, nor for alltoallv without counts."""
    return program.collective != "custom" and (program.collective != "alltoallv" or bool(program.counts))


def used_chunks(program: Program, rank: int) -> tuple[int, int]:
    """Return the chunks of a rank's input and of its output that its caller provides."""
    if program.collective != "alltoallv" or not program.counts:
        return buffer_chunks(program)
    return sum(program.counts[rank]), sum(row[rank] for row in program.counts)


def buffer_chunks(program: Program) -> tuple[int, int]:
    """Return the number of chunks of a rank's input and of its output; for alltoallv, of the largest of any rank."""
    share = program.chunks // program.size
    inputs = share if program.collective in _SPREADS_INPUT else program.chunks
    outputs = share if program.collective in _SPREADS_OUTPUT else program.chunks
    return inputs, outputs


def shared_offsets(program: Program, rank: int) -> tuple[int, int]:
    """Return where input and output of a rank start in the one buffer of ``program.chunks`` chunks of an in-place call.

    As NCCL has it: the input of allgather is the rank's part of its output, the output of reducescatter the rank's
    part of its input, and all others start together.
    """
    own = rank * (program.chunks // program.size)
    return (
        own if program.collective in _SPREADS_INPUT else 0,
        own if program.collective in _SPREADS_OUTPUT else 0,
    )


def results(program: Program, rank: int, root: int) -> list[tuple[int, int]]:
    """Return what the output of a rank must hold in the end: for every output chunk in order (input chunk, ranks).

    The output chunk must be the sum of that input chunk over the ranks whose bits are set. Empty where it is free.

    Parameters
    ----------
    program
        Gives collective, number of ranks and of chunks.
    rank
        Whose output.
    root
        The root of a rooted collective; ignored otherwise.
    """
    size, chunks = program.size, program.chunks
    share = chunks // size
    everyone = (1 << size) - 1
    own = range(rank * share, (rank + 1) * share)
    match program.collective:
        case "allreduce":
            return [(k, everyone) for k in range(chunks)]
        case "reduce":
            return [(k, everyone) for k in range(chunks)] if rank == root else []
        case "reducescatter":
            return [(k, everyone) for k in own]
        case "broadcast":
            return [(k, 1 << root) for k in range(chunks)]
        case "scatter":
            return [(k, 1 << root) for k in own]
        case "allgather":
            return [(k, 1 << q) for q in range(size) for k in range(share)]
        case "gather":
            return [(k, 1 << q) for q in range(size) for k in range(share)] if rank == root else []
        case "alltoall":
            return [(k, 1 << q) for q in range(size) for k in own]
        case "alltoallv" if program.counts:
            starts = [sum(row[:rank]) for row in program.counts]
            return [(starts[q] + k, 1 << q) for q in range(size) for k in range(program.counts[q][rank])]
    return []
