"""Plans that one can write down: what a synthesized schedule must not lose against.

=============  ==========================================================================================
``direct``     everyone sends its part to everyone at once; for allreduce everyone adds up everything
``net_first``  over the network to one rank of every island, then inside the islands
``local_net``  allreduce: reduce-scatter inside islands, one exchange between them, allgather inside
``ring``       see ``syccl.baselines.ring``
``tree``       see ``syccl.baselines.tree``
=============  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from syccl.baselines.arcs import Arcs
from syccl.baselines.hops import Hops, make_schedule
from syccl.baselines.ring import ring_schedule
from syccl.baselines.rings import Islands
from syccl.baselines.tree import tree_schedule
from syccl.collective import Demand, Op
from syccl.schedule import Schedule
from syccl.symmetry import Group
from syccl.topology import Topology

_Row = tuple[int, int, int, int]
"""chunk, src, dst, stage"""


def closed_form_plans(
    topology: Topology, op: Op, islands: Islands, *, size_bytes: int, group: Group | None = None
) -> dict[str, Schedule]:
    """Return the closed-form plans for allgather, reducescatter or allreduce that the topology allows, by name.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition. ``net_first`` for allreduce and
        ``local_net`` need islands of equal size.
    size_bytes
        Size of the total buffer.
    group
        Symmetries; ring and tree are compressed by those that they have, other plans are explicit.
    """
    if topology.ranks < 2 or op.name not in {"allgather", "reducescatter", "allreduce"}:
        return {}
    arcs = Arcs(topology)
    made = {name: _explicit(arcs, op, name, rows) for name, rows in _rows(op, islands).items()}
    made["ring"] = ring_schedule(topology, op, islands, group=group)
    made["tree"] = tree_schedule(topology, op, islands, size_bytes=size_bytes, group=group)
    return {name: schedule for name, schedule in made.items() if schedule is not None}


def _rows(op: Op, islands: Islands) -> dict[str, list[_Row]]:
    alike = len({len(members) for members in islands}) == 1
    if op.name != "allreduce":
        plans = {"direct": _direct(islands)}
        if len(islands) > 1:
            plans["net_first"] = _net_first(islands)
        return plans
    plans = {"direct": [(0, src, dst, stage) for _, src, dst, stage in _direct(islands)]}
    if alike and len(islands) > 1:
        plans["net_first"] = [(0, src, dst, 0) for _, src, dst in _between(islands)]
        plans["net_first"] += [(0, src, dst, 1) for _, src, dst in _inside(islands)]
    if alike and len(islands[0]) > 1:
        plans["local_net"] = [(to, src, dst, 0) for to, src, dst in _inside(islands)]
        plans["local_net"] += [(place, src, dst, 1) for place, src, dst in _between(islands)]
        plans["local_net"] += [(of, src, dst, 2) for of, src, dst in _inside_from(islands)]
    return plans


def _explicit(arcs: Arcs, op: Op, name: str, rows: list[_Row]) -> Schedule | None:
    """Return the schedule of the rows of an allgather or allreduce, run backwards for reducescatter."""
    table = np.array(rows, dtype=np.int32).reshape(-1, 4)
    chunk, src, dst, stage = table.T
    if op.name == "reducescatter":
        chunk, src, dst, stage = chunk[::-1], dst[::-1], src[::-1], stage.max() - stage[::-1]
    if not arcs.joined[src, dst].all():
        return None
    blocked = "block" in {op.source, op.target}
    chunks = arcs.topology.ranks if blocked else int(chunk.max()) + 1
    copies = stage == 2 if op.name == "allreduce" else np.full(len(table), not op.reduces)
    return make_schedule(
        arcs, Demand(op, arcs.topology.ranks, chunks), Hops(chunk, src, dst, stage, ~copies), None, maker=name
    )


def _inside(islands: Islands) -> Iterator[tuple[int, int, int]]:
    """Yield (place of the receiver, sender, receiver) for all pairs inside islands, by rotation."""
    for turn in range(1, max(map(len, islands))):
        for members in islands:
            if turn < len(members):
                for place, src in enumerate(members):
                    to = (place + turn) % len(members)
                    yield to, src, members[to]


def _inside_from(islands: Islands) -> Iterator[tuple[int, int, int]]:
    """Yield (place of the sender, sender, receiver) for all pairs inside islands, by rotation."""
    place = {rank: i for members in islands for i, rank in enumerate(members)}
    for _, src, dst in _inside(islands):
        yield place[src], src, dst


def _between(islands: Islands) -> Iterator[tuple[int, int, int]]:
    """Yield (place of the sender, sender, its counterpart) for all other islands, by rotation."""
    for turn in range(1, len(islands)):
        yield from _counterparts(islands, turn)


def _counterparts(islands: Islands, turn: int) -> Iterator[tuple[int, int, int]]:
    """Yield (place, sender, its counterpart) for the islands that lie ``turn`` further."""
    for i, members in enumerate(islands):
        there = islands[(i + turn) % len(islands)]
        for place, src in enumerate(members):
            yield place, src, there[place % len(there)]


def _direct(islands: Islands) -> list[_Row]:
    """Everyone sends to everyone, in rounds in which all receivers differ where islands are alike."""
    rows = []
    for turn in range(len(islands)):
        for shift in range(max(map(len, islands))):
            for i, members in enumerate(islands):
                there = islands[(i + turn) % len(islands)]
                if shift < len(there):
                    pairs = [(src, there[(place + shift) % len(there)]) for place, src in enumerate(members)]
                    rows += [(src, src, dst, 0) for src, dst in pairs if src != dst]
    return rows


def _net_first(islands: Islands) -> list[_Row]:
    """To a counterpart in every other island and round one's own; counterparts hand on to their islands."""
    rows = [(src, src, dst, 0) for _, src, dst in _between(islands)]
    rows += [(src, src, dst, 0) for _, src, dst in _inside(islands)]
    members_of = {rank: members for members in islands for rank in members}
    for turn in range(1, len(islands)):
        for shift in range(1, max(map(len, islands))):
            for _, src, gate in _counterparts(islands, turn):
                members = members_of[gate]
                if shift < len(members):
                    rows.append((src, gate, members[(members.index(gate) + shift) % len(members)], 1))
    return rows
