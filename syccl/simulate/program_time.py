"""Program time, the prediction: how long a runtime takes for a program on a topology."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.errors import FindingsError, InputError
from syccl.program import Program
from syccl.simulate.cost import Loop, Protocol, chunk_loop, protocol_named
from syccl.simulate.engine import run_static
from syccl.simulate.machine import Run
from syccl.simulate.program_machine import ProgramMachine, program_machine
from syccl.simulate.program_quotient import Blocks, Quotient, blocks_of, program_quotient, trivial_quotient
from syccl.symmetry import Group
from syccl.topology import Topology
from syccl.units import format_size

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class ProgramTime:
    """What one call of a program takes.

    Parameters
    ----------
    seconds
        From the start of the first thread block to the end of the last, out of place.
    link_bytes
        On the wire of every link, shape ``(links,)``.
    utilisation
        Share of the time that every link's bytes keep it busy, shape ``(links,)``.
    bottleneck
        Link id of the busiest link, the lowest of equals; None when nothing is sent.
    iterations
        Times that the runtime repeats the program.
    quotient
        Whether one block for each orbit was simulated.
    """

    seconds: float
    link_bytes: NDArray[np.float64]
    utilisation: NDArray[np.float64]
    bottleneck: int | None
    iterations: int
    quotient: bool


@dataclass(frozen=True, eq=False)
class ProgramTimer:
    """A program on a topology, ready to be simulated at many sizes; see ``simulate_program``."""

    program: Program
    topology: Topology
    table: Blocks
    quotient: Quotient
    in_quotient: bool

    @classmethod
    def of(cls, program: Program, topology: Topology, group: Group | None = None) -> ProgramTimer:
        """Return the timer of a program; InputError as ``simulate_program``."""
        _check(program, topology)
        table = blocks_of(program)
        quotient = program_quotient(table, group) if group is not None and group.generators else None
        return cls(program, topology, table, quotient or trivial_quotient(table, topology), quotient is not None)

    def at(self, size_bytes: int, protocol: Protocol | None = None) -> ProgramTime:
        """Return the predicted time of one out-of-place call of that size; errors as ``simulate_program``."""
        if size_bytes < 1:
            msg = f"program {self.program.name!r} is simulated for {size_bytes} bytes; give a size of at least 1"
            raise InputError(msg)
        protocol = protocol or protocol_named(self.program.protocol)
        loop = chunk_loop(size_bytes / self.program.chunks, protocol)
        made, run = self.run(size_bytes, loop, protocol)
        link_bytes = made.link_bytes * loop.iterations
        busy = link_bytes / self.topology.link_rates
        return ProgramTime(
            seconds=run.seconds,
            link_bytes=link_bytes,
            utilisation=busy / run.seconds if run.seconds > 0 else busy,
            bottleneck=int(busy.argmax()) if busy.any() else None,
            iterations=loop.iterations,
            quotient=self.in_quotient,
        )

    def run(self, size_bytes: int, loop: Loop, protocol: Protocol) -> tuple[ProgramMachine, Run]:
        """Return the machine of one iteration and what happens in all of them; FindingsError when it deadlocks."""
        made = program_machine(self.table, self.topology, self.quotient, loop=loop, protocol=protocol)
        run = run_static(made.machine, iterations=loop.iterations)
        if run.stuck:
            raise FindingsError(_deadlock(made, self.table, stuck=run.stuck, size_bytes=size_bytes))
        return made, run


def simulate_program(
    program: Program,
    topology: Topology,
    *,
    size_bytes: int,
    group: Group | None = None,
    protocol: Protocol | None = None,
) -> ProgramTime:
    """Return the predicted time of one out-of-place call.

    Parameters
    ----------
    size_bytes
        Of the total buffer, as nccl-tests counts it: ``program.chunks`` chunks.
    group
        Symmetries of the topology. Where every generator keeps the program too, one block per orbit is simulated, which
        gives the same time; else all are.
    protocol
        Instead of the one that the program names.

    Raises
    ------
    InputError
        When program and topology differ in ranks, two ranks that exchange messages have no route, two blocks own one
        connection, the protocol is unknown, or there is nothing to move: no chunks or no bytes.
    FindingsError
        When the program deadlocks at this size.
    """
    return ProgramTimer.of(program, topology, group).at(size_bytes, protocol)


def _check(program: Program, topology: Topology) -> None:
    msg = ""
    if program.size != topology.ranks:
        msg = (
            f"is for {program.size} ranks, topology {topology.name!r} has {topology.ranks}; give one with as many GPUs"
        )
    elif program.chunks < 1:
        msg = f"cuts the buffer into {program.chunks} chunks (nchunksperloop); at least 1 is needed"
    if msg:
        raise InputError(f"program {program.name!r} {msg}")


def _deadlock(made: ProgramMachine, table: Blocks, *, stuck: tuple[int, ...], size_bytes: int) -> str:
    """Return what waits for ever: the first stuck step of the first few blocks."""
    first: dict[int, int] = {}
    for task in stuck:
        block, step = made.step_of[task % len(made.step_of)]
        first.setdefault(block, step)
    places = [
        f"rank {table.rank[b]} thread block {table.blocks[b].id} step {step} ({table.blocks[b].steps[step].type.value})"
        for b, step in list(first.items())[:_SHOWN]
    ]
    more = f" and {len(first) - _SHOWN} more thread blocks" if len(first) > _SHOWN else ""
    return f"the program deadlocks at {format_size(size_bytes)}: waiting for ever are {'; '.join(places)}{more}"
