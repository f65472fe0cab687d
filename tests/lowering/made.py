"""Schedules lowered without ceremony."""

from __future__ import annotations

from collections import Counter

from syccl.lowering.lower import lower, program_of
from syccl.lowering.lowered import Lowered
from syccl.lowering.tasks import Wiring
from syccl.program import Program
from syccl.program.replay import replay_findings
from syccl.program.targets import EXECUTOR, Target
from syccl.program.verify import verify_program
from syccl.schedule import Schedule
from syccl.simulate.cost import protocol_named

SIZE = 1 << 14


def lowered(
    schedule: Schedule,
    wiring: Wiring | None = None,
    *,
    protocol: str = "Simple",
    target: Target = EXECUTOR,
    size_bytes: int = SIZE,
) -> Lowered:
    """The schedule lowered; it must not get stuck."""
    made = lower(schedule, wiring or Wiring(1), protocol_named(protocol), target, size_bytes=size_bytes)
    assert isinstance(made, Lowered), made
    return made


def program(schedule: Schedule, wiring: Wiring | None = None, *, protocol: str = "Simple") -> Program:
    """The program of a schedule."""
    return program_of(lowered(schedule, wiring, protocol=protocol), protocol_named(protocol), name="test")


def complaints(made: Program, *, size_bytes: int = SIZE) -> list[str]:
    """Rules that a program breaks, by proof and by execution, for each kind of call that it serves."""
    proved = verify_program(made, size_bytes=size_bytes)
    found = [finding.rule for finding in proved if finding.severity != "note" and finding.rule != "root"]
    for in_place in (True, False) if made.in_place else (False,):
        for seed in range(2):
            found += [finding.rule for finding in replay_findings(made, in_place=in_place, seed=seed)]
    return found


def counts(made: Program) -> dict[str, int]:
    """What a program needs of each thing that a target limits."""
    awaited = {
        (rank.rank, step.depends[0]) for rank in made.ranks for block in rank.blocks for step in block.steps
        if step.depends
    }  # fmt: skip
    return {
        "steps": max(len(block.steps) for rank in made.ranks for block in rank.blocks),
        "blocks": max(len(rank.blocks) for rank in made.ranks),
        "channels": made.channels,
        "peers": max(
            Counter(
                (rank.rank, block.channel, end)
                for rank in made.ranks
                for block in rank.blocks
                for end, peer in (("send", block.send), ("receive", block.recv))
                if peer >= 0
            ).values(),
            default=0,
        ),
        "awaited_blocks": max(Counter(rank for rank, _ in awaited).values(), default=0),
        "nodes": 1 + made.size + max(len(r.blocks) + sum(len(b.steps) for b in r.blocks) for r in made.ranks),
        "chunks": made.chunks,
    }
