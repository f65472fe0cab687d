"""A small synthesis made by hand: two GPUs on one cable exchange halves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syccl.bounds import Bound, Cut
from syccl.collective import Demand, op_named
from syccl.program import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock
from syccl.program.targets import EXECUTOR, Target
from syccl.schedule import Schedule, Transfers
from syccl.symmetry import Group, trivial_group
from syccl.topology import Topology
from tests.strategies import ring


@dataclass(frozen=True)
class Options:
    size_bytes: int
    datatype: str = "float32"
    protocol: str = "Simple"
    jobs: int = 1
    time_limit_s: float | None = None
    want_program: bool | None = None
    target: Target = EXECUTOR


@dataclass(frozen=True)
class Synthesis:
    topology: Topology
    demand: Demand
    schedule: Schedule
    program: Program | None
    group: Group
    bound: Any
    tree_bound_s: float | None
    route_bound_s: float | None
    schedule_time_s: float
    program_time_s: float | None
    bottleneck: int | None
    baselines: dict[str, float]
    explain: dict[str, Any] = field(default_factory=dict)
    synthesis_s: float = 0.25
    hit_time_limit: bool = False


def allgather_program(chunks: int = 2) -> Program:
    """Rank r copies its input to its place and swaps it with the other's."""
    ranks = []
    for rank in range(2):
        own, other = Slot(Buffer.OUTPUT, rank), Slot(Buffer.OUTPUT, 1 - rank)
        mine = Slot(Buffer.INPUT, 0)
        steps = (Step(StepType.SEND, mine, own, 1), Step(StepType.RECV, other, other, 1))
        blocks = (
            ThreadBlock(0, 1 - rank, 1 - rank, 0, steps),
            ThreadBlock(1, -1, -1, 0, (Step(StepType.COPY, mine, own, 1),)),
        )
        ranks.append(RankProgram(rank, chunks // 2, chunks, 0, blocks))
    return Program("allgather", "allgather", "Simple", 1, chunks, tuple(ranks))


def allgather_schedule(topology: Topology) -> Schedule:
    """Each of two ranks sends its chunk to the other."""
    ids = np.arange(2, dtype=np.int32)
    zeros = np.zeros(2, dtype=np.int32)
    rows = Transfers(
        chunk=ids, src=ids, dst=1 - ids, route=ids, reduce=np.zeros(2, dtype=np.bool_), stage=zeros, order=zeros
    )
    return Schedule(topology, Demand(op_named("allgather"), 2, 2), ((0,), (1,)), rows)


def synthesis(**changes: Any) -> Synthesis:
    """An allgather of 1 MiB over 25 GB/s: 20.97 us on the wire and 0.7 us of latency."""
    topology = ring(2)
    wire_s = 2**19 / 25e9
    values: dict[str, Any] = {
        "topology": topology,
        "demand": Demand(op_named("allgather"), 2, 2),
        "schedule": allgather_schedule(topology),
        "program": allgather_program(),
        "group": trivial_group(topology),
        "bound": Bound(wire_s, 0.7e-6, wire_s + 0.7e-6, Cut((0,), (0,), 25_000_000_000), "shards cross the cable"),
        "tree_bound_s": None,
        "route_bound_s": None,
        "schedule_time_s": wire_s + 0.7e-6,
        "program_time_s": 1.1 * (wire_s + 0.7e-6),
        "bottleneck": 0,
        "baselines": {"ring_us": 30.0, "tree_us": 60.0},
    }
    return Synthesis(**{**values, **changes})
