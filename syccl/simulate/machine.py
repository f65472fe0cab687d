"""The machine that the engine runs: tasks on thread blocks, messages on connections, flows on shared resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from syccl.simulate.cost import THREAD_BLOCK_RATE
from syccl.simulate.fair_share import Uses


class FlowRoute(NamedTuple):
    """What a message passes."""

    uses: Uses
    """(resource, weight): the message takes ``weight`` times its rate of the resource."""
    latency_s: float
    """From the end of its flow to its arrival, seconds."""


@dataclass(frozen=True, eq=False)
class Machine:
    """Tasks of thread blocks, one entry of each list per task.

    A task sends when it has a ``route``, receives when it has a ``receives`` connection, does both when it is fused,
    and else works on local memory. All tasks of a block that send use one connection, and so do those that receive.

    Parameters
    ----------
    capacities
        Of every resource, bytes per second.
    routes
        Of messages.
    depth
        Messages that a connection holds.
    slices
        Parts of a message that are handed on separately.
    block
        Thread block of each task.
    size
        Bytes that each task moves.
    route
        Index into ``routes`` of a task that sends, else -1.
    sends, receives
        Connection that each task sends or receives on, else -1.
    prerequisites
        Tasks that must have finished before each task starts.
    incoming
        For the dry run: task that sends the message that each receiving task takes, else -1. A static run
        matches the k-th send with the k-th receive of a connection instead.
    lock
        For the dry run: lock held from start to finish of each task, else -1. No lock in a static run.
    priority
        For the dry run: larger goes first.
    order
        Tasks of each block in the order in which a static run does them; None for ascending tasks.
    thread_block_rate
        Most bytes per second that a block sends or receives.
    local_rate
        The same for work on local memory; None for the same rate.
    overheads
        Seconds that each task occupies its block before its bytes move; none where empty.
    launch_s
        When the first tasks may start, seconds.
    """

    capacities: Sequence[float]
    routes: Sequence[FlowRoute]
    depth: int
    slices: int
    block: Sequence[int]
    size: Sequence[float]
    route: Sequence[int]
    sends: Sequence[int]
    receives: Sequence[int]
    prerequisites: Sequence[Sequence[int]]
    incoming: Sequence[int] = ()
    lock: Sequence[int] = ()
    priority: Sequence[float] = ()
    order: Sequence[Sequence[int]] | None = None
    thread_block_rate: float = THREAD_BLOCK_RATE
    local_rate: float | None = None
    overheads: Sequence[float] = ()
    launch_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """What happened: times in seconds from the call, NaN for what never happened.

    ``stuck`` lists the tasks that never finished, ascending: empty unless the program deadlocks. A static run of
    several iterations numbers task ``i`` of iteration ``k`` as ``k * tasks + i``.
    """

    start: list[float]
    finish: list[float]
    seconds: float
    stuck: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DryRun(Run):
    """A run that chose its order: tasks of each block, and tasks of each lock, in the order in which they started."""

    order: tuple[tuple[int, ...], ...]
    lock_order: tuple[tuple[int, ...], ...]


def recorded(machine: Machine, run: DryRun) -> Machine:
    """Return the machine that repeats a dry run: its order fixed, its locks turned into prerequisites."""
    prerequisites = [list(tasks) for tasks in machine.prerequisites]
    for tasks in run.lock_order:
        for before, after in pairwise(tasks):
            prerequisites[after].append(before)
    return replace(machine, prerequisites=prerequisites, lock=(), order=run.order)
