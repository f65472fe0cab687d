"""Lanes: rings or trees that share the data equally, each on its own channel, compressed by their symmetries."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.baselines.arcs import Arcs, Ranks
from syccl.baselines.hops import Hops, make_schedule
from syccl.collective import Demand
from syccl.lowering.tasks import Wiring
from syccl.schedule import Schedule, Symmetry
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.profile import costs_of
from syccl.symmetry import Group, trivial_group
from syccl.topology import Topology

MOST_INSTANCES = 4
"""Of 1, 2 and 4 copies of all lanes, what is best at a size is taken."""


@dataclass(frozen=True, eq=False)
class Laned:
    """A schedule whose lanes keep to their own channel, and the wiring that says so.

    ``rate`` is what each lane can carry when all are in use, bytes per second.
    """

    schedule: Schedule
    wiring: Wiring
    rate: float

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return self.wiring.channels


def copies_of(topology: Topology, rate: float, instances: int) -> int:
    """Return the copies of every lane for some instances: one needs so many that the most instances fill the links."""
    block_rate = costs_of(topology, PROTOCOLS["Simple"]).thread_block_rate
    return instances << max(0, math.ceil(math.log2(rate / (MOST_INSTANCES * block_rate))))


@dataclass(frozen=True, eq=False)
class LaneSymmetry:
    """The symmetries that carry lanes to lanes; ``lanes[e, l]`` is where element ``e`` sends lane ``l``."""

    group: Group
    lanes: NDArray[np.int32]


def lane_symmetry(lanes: Ranks, group: Group) -> LaneSymmetry:
    """Return the elements of a group that map a set of lanes onto itself; of equal lanes the k-th goes to the k-th.

    Parameters
    ----------
    group
        Of order 1, or such that only the identity fixes a rank.
    """
    number = {key: i for i, key in enumerate(_keys(lanes))}
    images: dict[bytes, list[int]] = {}
    for element, ranks in zip(group.elements, group.ranks, strict=True):
        moved = np.empty_like(lanes)
        moved[:, ranks] = ranks[lanes]
        image = [number.get(key, -1) for key in _keys(moved)]
        if -1 not in image:
            images[element.tobytes()] = image
    kept = trivial_group(group.topology)
    known = {element.tobytes() for element in kept.elements}
    for element in group.elements:
        if element.tobytes() in images.keys() - known:
            kept = Group.generated(group.topology, (*kept.generators, element))
            known = {row.tobytes() for row in kept.elements}
    return LaneSymmetry(kept, np.array([images[element.tobytes()] for element in kept.elements], dtype=np.int32))


def laned_schedule(
    arcs: Arcs, demand: Demand, hops: Hops, symmetry: LaneSymmetry, *, by_rank: bool, maker: str
) -> Schedule:
    """Return the schedule of hops on lanes; chunk ``i * lanes + l`` is the ``i``-th part of what lane ``l`` carries.

    Parameters
    ----------
    hops
        Of the chunks that stand for all others under the symmetry.
    by_rank
        Whether the ``i``-th part belongs to rank ``i`` and moves with it; else it stays the ``i``-th.
    """
    lanes = symmetry.lanes.shape[1]
    parts = demand.chunks // lanes
    part = symmetry.group.ranks if by_rank else np.broadcast_to(np.arange(parts), (symmetry.group.order, parts))
    images = part[:, :, None].astype(np.int32) * lanes + symmetry.lanes[:, None, :]
    action = Symmetry(symmetry.group, images.reshape(symmetry.group.order, -1)) if symmetry.group.order > 1 else None
    return make_schedule(arcs, demand, hops, action, maker=maker)


def lane_wiring(chunks: int, lanes: int) -> Wiring:
    """Return the wiring that gives every lane its own channel, and a thread block for local copies."""
    return Wiring(lanes, fuse=True, copy_blocks=lanes, lanes=tuple(chunk % lanes for chunk in range(chunks)))


def _keys(lanes: Ranks) -> list[tuple[bytes, int]]:
    """Return each lane as a key, with how many equal ones came before it."""
    seen: Counter[bytes] = Counter()
    keys = []
    for lane in lanes:
        key = lane.tobytes()
        keys.append((key, seen[key]))
        seen[key] += 1
    return keys


def replicated(symmetry: LaneSymmetry, copies: int) -> LaneSymmetry:
    """Return the symmetry of several copies of all lanes, one set after the other."""
    lanes = symmetry.lanes.shape[1]
    offsets = np.arange(copies, dtype=np.int32)[None, :, None] * lanes
    return LaneSymmetry(symmetry.group, (symmetry.lanes[:, None, :] + offsets).reshape(len(symmetry.lanes), -1))
