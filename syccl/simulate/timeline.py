"""When each step of a program starts and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from syccl.program import Program, Step, ThreadBlock
from syccl.simulate.cost import chunk_loop, protocol_named
from syccl.simulate.program_time import ProgramTimer
from syccl.topology import Topology


class Event(NamedTuple):
    """One step in the first iteration of a program; times in seconds from its start."""

    rank: int
    block: ThreadBlock
    position: int
    """Of the step in its thread block."""
    start_s: float
    finish_s: float

    @property
    def step(self) -> Step:
        """What is done."""
        return self.block.steps[self.position]


def timeline(program: Program, topology: Topology, *, size_bytes: int) -> tuple[Event, ...]:
    """Return the steps of the first iteration of one call in the order of their starts, no-ops left out.

    Parameters
    ----------
    size_bytes
        Of the total buffer, as nccl-tests counts it.

    Raises
    ------
    InputError, FindingsError
        As `simulate_program`.
    """
    timer = ProgramTimer.of(program, topology)
    return tuple(sorted(_events(timer, size_bytes), key=lambda event: (event.start_s, event.rank, event.block.id)))


def _events(timer: ProgramTimer, size_bytes: int) -> Iterator[Event]:
    protocol = protocol_named(timer.program.protocol)
    loop = chunk_loop(size_bytes / timer.program.chunks, protocol)
    made, run = timer.run(size_bytes, loop._replace(iterations=1), protocol)
    times: dict[tuple[int, int], tuple[float, float]] = {}
    for where, start, finish in zip(made.step_of, run.start, run.finish, strict=True):
        before = times.get(where)
        times[where] = (start, finish) if before is None else (min(before[0], start), max(before[1], finish))
    for (block, position), (start, finish) in times.items():
        yield Event(timer.table.rank[block], timer.table.blocks[block], position, start, finish)
