"""The ring: every rank passes what it got from the rank before to the rank after, on all rings at once."""

from __future__ import annotations

import numpy as np

from syccl.baselines.arcs import Arcs, Ranks
from syccl.baselines.hops import Hops
from syccl.baselines.lanes import Laned, copies_of, lane_symmetry, lane_wiring, laned_schedule, replicated
from syccl.baselines.rings import Islands, find_rings
from syccl.collective import Demand, Op
from syccl.schedule import Schedule
from syccl.symmetry import Group, trivial_group
from syccl.topology import Topology


def ring_schedule(
    topology: Topology, op: Op, islands: Islands, *, group: Group | None = None, instances: int = 1
) -> Schedule | None:
    """Return the ring schedule of allgather, reducescatter or allreduce; None where there is no ring.

    Every ring carries an equal share. Allreduce is a reduce-scatter round the ring, then an allgather.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition.
    group
        Symmetries; the schedule is compressed by those that the rings have.
    instances
        Copies of every ring, each on its own channel.
    """
    rings = find_rings(topology, islands, group)
    if rings is None:
        return None
    copies = copies_of(topology, rings.rate, instances)
    made = ring_lanes(topology, op, islands, group=group, copies=copies)
    return made.schedule if made else None


def ring_lanes(
    topology: Topology, op: Op, islands: Islands, *, group: Group | None = None, copies: int = 1
) -> Laned | None:
    """Return the ring schedule with ``copies`` lanes for each ring, and its wiring; see ``ring_schedule``."""
    rings = find_rings(topology, islands, group) if op.name in {"allgather", "reducescatter", "allreduce"} else None
    if rings is None:
        return None
    usable = group if group is not None and group.is_semiregular else trivial_group(topology)
    symmetry = replicated(lane_symmetry(rings.successors, usable), copies)
    successors = np.tile(rings.successors, (copies, 1))
    demand = Demand(op, topology.ranks, topology.ranks * len(successors))
    hops = _hops(successors, [orbit[0] for orbit in symmetry.group.rank_orbits], op)
    schedule = laned_schedule(Arcs(topology), demand, hops, symmetry, by_rank=True, maker="ring")
    return Laned(schedule, lane_wiring(demand.chunks, len(successors)), rings.rate / copies)


def _hops(successors: Ranks, owners: list[int], op: Op) -> Hops:
    """Return all steps of the chunks that some ranks own, step by step."""
    lanes, n = successors.shape
    rings = np.empty((len(owners), lanes, 2 * n), dtype=np.int64)
    at = np.repeat(np.array(owners)[:, None], lanes, axis=1)
    for step in range(2 * n):
        rings[:, :, step] = at
        at = successors[np.arange(lanes), at]
    # A sum sets out from the rank after its owner and ends at the owner; a copy sets out from the owner.
    first = 0 if op.source == "block" else 1
    steps = (n - 1) * (2 if op.source == op.target else 1)
    moves = rings[:, :, first : first + steps + 1].transpose(2, 0, 1)
    chunk = np.array(owners)[:, None] * lanes + np.arange(lanes)
    shape = moves[1:].shape
    stage = np.broadcast_to(np.arange(steps)[:, None, None], shape)
    reduce = stage < n - 1 if op.reduces else np.zeros(shape, dtype=bool)
    return Hops(*(np.broadcast_to(a, shape).ravel() for a in (chunk, moves[:-1], moves[1:], stage, reduce)))
