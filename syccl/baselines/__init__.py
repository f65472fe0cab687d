"""What people use today: rings and trees as NCCL builds them, and the closed-form plans of textbooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from syccl.baselines.lanes import MOST_INSTANCES, Laned, copies_of
from syccl.baselines.ring import ring_lanes
from syccl.baselines.rings import Islands
from syccl.baselines.tree import tree_lanes
from syccl.clock import Clock
from syccl.collective import Op
from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import plan_tasks
from syccl.program.targets import EXECUTOR
from syccl.simulate.cost import Protocol, chunk_loop
from syccl.simulate.dry_run import dry_run
from syccl.simulate.engine import run_static
from syccl.simulate.machine import recorded
from syccl.simulate.profile import costs_of
from syccl.symmetry import Group
from syccl.topology import Topology

_MUCH_WORK = 6_000
"""Simulated transfers, loop iterations counted, above which only one number of instances is tried."""


def baseline_times(
    topology: Topology,
    op: Op,
    islands: Islands,
    *,
    size_bytes: int,
    protocol: Protocol,
    group: Group | None = None,
    clock: Clock | None = None,
) -> dict[str, float]:
    """Return the program times of the baselines that there is time for, in microseconds: ``ring_us``, ``tree_us``.

    Each is lowered with fused thread blocks and simulated like our own programs, but never cut down to a runtime's
    limits on steps. The best of 1, 2 and 4 instances counts; where a simulation is long (large clusters without
    symmetry, many loop iterations) only the least number that fills the links with thread blocks is tried.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition.
    group
        Symmetries of the topology; only speed depends on them.
    clock
        Leaves out what there is no time for; None for no such limit.
    """
    clock = Clock() if clock is None else clock
    makers: dict[str, Callable[[], Laned | None]] = {
        "ring_us": lambda: ring_lanes(topology, op, islands, group=group),
        "tree_us": lambda: tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group),
    }
    times: dict[str, float | None] = {}
    for name, make in makers.items():
        lanes = None if clock.is_over() else make()
        times[name] = None if lanes is None else lanes_seconds(lanes, protocol, size_bytes)
    return {name: seconds * 1e6 for name, seconds in times.items() if seconds is not None}


def baseline_lanes(
    topology: Topology, op: Op, islands: Islands, *, size_bytes: int, group: Group | None = None
) -> Iterator[tuple[str, Laned]]:
    """Yield rings and trees with 1, 2 and 4 copies of each lane, by name, that real programs can be made of."""
    for copies in (1, 2, 4):
        ring = ring_lanes(topology, op, islands, group=group, copies=copies)
        tree = tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group, copies=copies)
        for name, made in (("ring", ring), ("tree", tree)):
            if made is not None and made.lanes <= EXECUTOR.channels:
                yield f"{name}, {copies} instances" if copies > 1 else name, made


def lanes_seconds(made: Laned, protocol: Protocol, size_bytes: int) -> float | None:
    """Return the program time in seconds with the best number of instances; None where the program deadlocks."""
    best = best_instances(made, protocol, size_bytes)
    return None if best is None else best[0]


def best_instances(made: Laned, protocol: Protocol, size_bytes: int) -> tuple[float, int] | None:
    """Return the least program time in seconds and its number of channels; None where the program deadlocks."""
    tasks = plan_tasks(made.schedule, made.wiring)
    found: list[tuple[float, int]] = []
    for copies in _copies(made, protocol, size_bytes):
        machine = machine_of(made.schedule, tasks, protocol, size_bytes=size_bytes, copies=copies)
        run = dry_run(machine)
        if not run.stuck:
            loop = chunk_loop(size_bytes / (made.schedule.demand.chunks * copies), protocol)
            done = run_static(recorded(machine, run), iterations=loop.iterations)
            found += [] if done.stuck else [(done.seconds, copies * made.lanes)]
    return min(found, default=None)


def _copies(made: Laned, protocol: Protocol, size_bytes: int) -> list[int]:
    """Return the numbers of copies of all lanes that are worth a try."""
    choices = [copies_of(made.schedule.topology, made.rate, 1 << i) for i in range(MOST_INSTANCES.bit_length())]
    fitting = [copies for copies in choices if copies * made.lanes <= EXECUTOR.channels] or choices[:1]
    loop = chunk_loop(size_bytes / (made.schedule.demand.chunks * fitting[-1]), protocol)
    if len(made.schedule.transfers) * loop.iterations <= _MUCH_WORK:
        return fitting
    block_rate = costs_of(made.schedule.topology, protocol).thread_block_rate
    filling = [copies for copies in fitting if copies * block_rate >= made.rate]
    return filling[:1] or fitting[-1:]
