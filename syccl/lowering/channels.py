"""How many channels each connection gets where connections have unequal work.

Flows over one link share it evenly, whatever each still has to carry, so a connection with more work than others over
the same link ends last, and alone does not fill the link. With more channels it has more flows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from syccl.lowering.machine import flow_routes
from syccl.lowering.wiring import Ends
from syccl.schedule import Schedule
from syccl.simulate.profile import Costs

Connection = tuple[int, int]
"""(rank, peer), seen from the sender."""


_UNEVEN = 1.25
"""Ratio of transfers from which on connections are unlike."""


@dataclass(frozen=True, eq=False)
class Work:
    """What the connections of a schedule carry.

    Parameters
    ----------
    rows
        Transfers of each connection.
    chunks
        Chunks of each connection.
    receivers
        Rank and peer of each connection seen from its receiver, as representatives.
    """

    rows: Counter[Connection]
    chunks: Counter[Connection]
    receivers: Mapping[Connection, Connection]

    @property
    def is_uneven(self) -> bool:
        """Whether some connections carry notably more than others."""
        return max(self.rows.values(), default=0) > _UNEVEN * min(self.rows.values(), default=0)


def work_of(schedule: Schedule, ends: Ends) -> Work:
    """Return what the connections of a schedule carry."""
    chunks: Counter[Connection] = Counter()
    for sender, peer, chunk in zip(ends.sender, ends.sender_peer, ends.sender_chunk, strict=True):
        chunks[sender, peer] += int(schedule.demand.counts[chunk])
    near = list(zip(ends.sender, ends.sender_peer, strict=True))
    far = zip(ends.receiver, ends.receiver_peer, strict=True)
    return Work(Counter(near), chunks, dict(zip(near, far, strict=True)))


def shared_seconds(schedule: Schedule, ends: Ends, work: Work, costs: Costs) -> dict[Connection, float]:
    """Return how long each connection takes at one byte a chunk where its links are shared evenly, seconds."""
    capacities, routes = flow_routes(schedule, costs)
    taken: dict[Connection, set[int]] = defaultdict(set)
    for row, route in enumerate(schedule.transfers.route.tolist()):
        taken[ends.sender[row], ends.sender_peer[row]].add(route)
    flows = [0.0] * len(capacities)
    for numbers in taken.values():
        for resource, weight in _uses(routes[number].uses for number in numbers).items():
            flows[resource] += weight
    return {
        connection: work.chunks[connection]
        * max(
            1.0 / costs.thread_block_rate,
            *(flows[resource] / capacities[resource] for number in numbers for resource, _ in routes[number].uses),
        )
        for connection, numbers in taken.items()
    }


def _uses(routes: Iterable[Iterable[tuple[int, float]]]) -> dict[int, float]:
    """Return the most that any of some routes takes of each resource."""
    most: dict[int, float] = {}
    for uses in routes:
        for resource, weight in uses:
            most[resource] = max(weight, most.get(resource, 0.0))
    return most


def divided(
    work: Work, load: Mapping[Connection, float], limits: Iterable[float], *, most_rows: int, room: int
) -> tuple[tuple[int, int, int], ...]:
    """Return the channels of each connection for the first limit that leaves every rank few enough blocks.

    Parameters
    ----------
    load
        Of each connection: what is to be divided.
    limits
        Most of it for each channel; the last one is taken where none leaves few enough.
    most_rows
        Most transfers for each channel.
    room
        Blocks that a rank may have.
    """
    counts: dict[Connection, int] = {}
    for limit in limits:
        counts = {
            connection: max(math.ceil(load[connection] / limit - 1e-9), -(-rows // most_rows), 1)
            for connection, rows in sorted(work.rows.items())
        }
        blocks: Counter[int] = Counter()
        for (sender, peer), count in counts.items():
            blocks[sender] += count
            blocks[work.receivers[sender, peer][0]] += count
        if max(blocks.values(), default=0) <= room:
            break
    return tuple((*connection, count) for connection, count in counts.items())
