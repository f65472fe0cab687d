"""What ``syccl lower`` tells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from syccl.program import Program
from syccl.program.selection import selection
from syccl.program.targets import Target
from syccl.report.figures import US
from syccl.report.selection import kind_words, selection_words, unequal_words, usage_words
from syccl.report.synthesis import microseconds, root_words, size_meaning
from syccl.report.tables import Table
from syccl.schedule import Schedule
from syccl.units import format_size


@dataclass(frozen=True)
class Lowering:
    """A schedule, the program that was made of it, and how long both take; times in seconds."""

    schedule: Schedule
    program: Program
    target: Target
    datatype: str
    size_bytes: int
    schedule_time_s: float
    program_time_s: float
    output: Path

    @property
    def blocks(self) -> int:
        """Most thread blocks of a rank."""
        return max(len(rank.blocks) for rank in self.program.ranks)

    @property
    def steps(self) -> int:
        """Most steps of a thread block."""
        return max((len(block.steps) for rank in self.program.ranks for block in rank.blocks), default=0)


def table(made: Lowering) -> Table:
    """Return the account for people."""
    demand, target, program = made.schedule.demand, made.target, made.program
    ratio = f" ({made.program_time_s / made.schedule_time_s:.3f} x)" if made.schedule_time_s > 0 else ""
    rows = [
        ("schedule", f"{demand.op.name} over {demand.ranks} ranks of {made.schedule.topology.name}"),
        ("size", f"{format_size(made.size_bytes)}: {size_meaning(demand.op)}"),
        ("target", target.name),
        ("chunks", str(program.chunks)),
        ("channels", f"{program.channels} of {target.channels}"),
        ("thread blocks", f"{made.blocks} of {target.blocks} a rank"),
        ("steps", f"{made.steps} of {target.steps} a thread block"),
        ("schedule time", microseconds(made.schedule_time_s * US)),
        ("predicted time", f"{microseconds(made.program_time_s * US)} of the program, {program.protocol}{ratio}"),
        ("wrote", str(made.output)),
    ]
    return Table(rows)


def next_steps(made: Lowering) -> list[str]:
    """Return the lines that make a runtime use the program."""
    program, demand = made.program, made.schedule.demand
    if demand.is_unequal:
        lines = unequal_words(made.output, made.target, datatype=made.datatype, size_bytes=made.size_bytes)
        return [f"to use it with {made.target.name}:", *(f"  {line}" for line in lines)]
    chosen = selection(program, made.datatype, made.target)
    words = (
        *usage_words(made.output, made.target),
        *selection_words(chosen, made.size_bytes),
        *kind_words(in_place=program.in_place, out_of_place=program.out_of_place),
        *root_words(demand.op, demand.root),
    )
    return [f"to use it with {made.target.name}:", *(f"  {line}" for line in words)]


def record(made: Lowering) -> dict[str, object]:
    """Return the account under stable names, for ``--json``."""
    return {
        "op": made.schedule.demand.op.name,
        "topology": made.schedule.topology.name,
        "ranks": made.schedule.demand.ranks,
        "size_bytes": made.size_bytes,
        "target": made.target.name,
        "protocol": made.program.protocol,
        "chunks": made.program.chunks,
        "channels": made.program.channels,
        "thread_blocks": made.blocks,
        "steps": made.steps,
        "schedule_us": made.schedule_time_s * US,
        "program_us": made.program_time_s * US,
        "output": str(made.output),
    }
