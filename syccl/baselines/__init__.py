"""What people use today: rings and trees as NCCL builds them, and the closed-form plans of textbooks."""

from __future__ import annotations

from collections.abc import Iterator

from syccl.baselines.lanes import Laned
from syccl.baselines.ring import MOST_INSTANCES, ring_lanes
from syccl.baselines.rings import Islands, find_rings
from syccl.baselines.tree import tree_lanes
from syccl.collective import Op
from syccl.lowering.lower import lower
from syccl.lowering.targets import EXECUTOR
from syccl.simulate.cost import THREAD_BLOCK_RATE, Protocol
from syccl.symmetry import Group
from syccl.topology import Topology

_MANY_ROWS = 5000
"""Transfers (representatives of them) above which only one number of instances is tried."""


def baseline_times(
    topology: Topology,
    op: Op,
    islands: Islands,
    *,
    size_bytes: int,
    protocol: Protocol,
    group: Group | None = None,
) -> dict[str, float]:
    """Return the program times of the baselines that exist, in microseconds: ``ring_us``, ``tree_us``.

    Each is lowered with fused thread blocks and simulated like our own programs, but never cut down to a runtime's
    limits. Rings are the best of 1, 2 and 4 instances; of large clusters without symmetry only the least number that
    fills the links with thread blocks is tried.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition.
    group
        Symmetries of the topology; only speed depends on them.
    """
    tree = tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group)
    made = {"ring_us": list(_ring_choices(topology, op, islands, group)), "tree_us": [tree] if tree else []}
    times: dict[str, float] = {}
    for name, choices in made.items():
        lowered = [lower(c.schedule, c.wiring, protocol, EXECUTOR, size_bytes=size_bytes) for c in choices]
        seconds = [program.seconds for program in lowered if program is not None]
        if seconds:
            times[name] = min(seconds) * 1e6
    return times


def _ring_choices(topology: Topology, op: Op, islands: Islands, group: Group | None) -> Iterator[Laned]:
    rings = find_rings(topology, islands, group)
    instances = 1
    while rings is not None and instances <= MOST_INSTANCES:
        made = ring_lanes(topology, op, islands, group=group, instances=instances)
        if made is None:
            return
        many = len(made.schedule.transfers) > _MANY_ROWS
        fills = made.lanes * THREAD_BLOCK_RATE >= rings.rate * len(rings.successors)
        if fills or not many:
            yield made
        if fills and many:
            return
        instances *= 2
