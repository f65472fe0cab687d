"""From program to schedule: what a runtime file sends to whom, without thread blocks, channels and buffers.

A value is a sum of one input chunk over some ranks. What a message carries is known from following values through the
file, and says which earlier arrivals it holds; that, and nothing else, decides the stages of the schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syccl.collective import ALLTOALLV, Demand, op_named
from syccl.errors import InputError
from syccl.program.columns import columns
from syccl.program.dataflow import Values, likely_root, run
from syccl.program.deadlock import legal_order
from syccl.program.ir import Program
from syccl.program.matching import match
from syccl.program.memory import memory, operands
from syccl.schedule import Schedule, Transfers
from syccl.simulate.timeline import timeline
from syccl.topology import Route, Topology, default_route


@dataclass(frozen=True, slots=True)
class _Message:
    """One chunk on its way: the ranks whose contributions it holds as bits, and when its sender turns to it."""

    chunk: int
    src: int
    dst: int
    ranks: int
    start: tuple[float, int]
    """Seconds, and the place in a legal order."""


def lift(program: Program, topology: Topology, *, size_bytes: int) -> Schedule:
    """Return the schedule that a program carries out, over default routes, in the order in which it sends.

    Parameters
    ----------
    program
        A right one, as `verify_program` says.
    topology
        What it runs on; as many ranks as the program has.
    size_bytes
        Of the call whose order it is.

    Raises
    ------
    InputError
        When the file does not state the result, the ranks differ, two ranks that exchange messages have no route, or a
        rank keeps several sums of one chunk and sends them in an order that no schedule can state.
    """
    if program.collective in {ALLTOALLV.name, "custom"}:
        msg = f"a program for {program.collective} cannot be lifted: its file does not say what outputs must hold"
        raise InputError(msg)
    starts = {
        (event.rank, event.block.id, event.position): event.start_s
        for event in timeline(program, topology, size_bytes=size_bytes)
    }
    messages, root = _messages(program, starts)
    messages.sort(key=lambda message: message.start)
    demand = Demand(op_named(program.collective), program.size, program.chunks, root)
    stages = _stages(messages)
    pairs = list(dict.fromkeys((message.src, message.dst) for message in messages))
    routes = [_route(topology, src, dst) for src, dst in pairs]
    number = {pair: i for i, pair in enumerate(pairs)}
    everyone = (1 << program.size) - 1

    def column(values: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        return np.array(values, dtype=np.int32)

    transfers = Transfers(
        chunk=column([message.chunk for message in messages]),
        src=column([message.src for message in messages]),
        dst=column([message.dst for message in messages]),
        route=column([number[message.src, message.dst] for message in messages]),
        reduce=np.array([demand.op.reduces and message.ranks != everyone for message in messages], dtype=np.bool_),
        stage=column(stages),
        order=column(range(len(messages))),
    )
    return Schedule(topology, demand, tuple(route.links for route in routes), transfers, maker=program.name or "lifted")


def _messages(program: Program, starts: Mapping[tuple[int, int, int], float]) -> tuple[list[_Message], int]:
    """Return all messages, one chunk each, and the root (0 where there is none).

    Parameters
    ----------
    starts
        When a step, named by rank, thread block and position, starts; seconds.
    """
    table = columns(program)
    matching, _ = match(program, table)
    found, _ = legal_order(program, table, matching, size_bytes=None)
    if found is None:
        msg = f"program {program.name!r} never ends; see `syccl verify`"
        raise InputError(msg)
    parts, order = found
    where = memory(program, in_place=not program.out_of_place)
    flow = run(program, where, operands(table, parts, where), order)
    values = Values(program)
    receiver = {int(sender): part for part, sender in enumerate(parts.takes.tolist()) if sender >= 0}
    messages = []
    for place, part in enumerate(order):
        value = flow.messages[part]
        if part in receiver and value > 0:
            src, dst = (int(table.rank[parts.block[end]]) for end in (part, receiver[part]))
            ranks, chunk = value >> values.bits, value & values.chunk_mask
            step = int(parts.step[part])
            start = starts[src, int(table.id[table.block[step]]), int(table.index[step])]
            messages.append(_Message(_chunk_id(program, ranks, chunk), src, dst, ranks, (start, place)))
    return messages, likely_root(program, where, flow.memory)


def _chunk_id(program: Program, ranks: int, chunk: int) -> int:
    """Return the chunk of the demand that an input chunk of some ranks is, or is part of the sum of."""
    holder = ranks.bit_length() - 1
    if program.collective in {"allgather", "gather"}:
        return holder * (program.chunks // program.size) + chunk
    return holder * program.chunks + chunk if program.collective == "alltoall" else chunk


def _stages(messages: Sequence[_Message]) -> list[int]:
    """Return a stage for every message: above those of the arrivals that it holds, not above those of the others."""
    import networkx as nx

    arrivals: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, message in enumerate(messages):
        arrivals[message.dst, message.chunk].append(i)
    waits = nx.DiGraph()
    waits.add_nodes_from(range(len(messages)))
    for i, message in enumerate(messages):
        for arrival in arrivals[message.src, message.chunk]:
            holds = not messages[arrival].ranks & ~message.ranks
            waits.add_edge(*((arrival, i) if holds else (i, arrival)), gap=int(holds))
    together = nx.condensation(waits)
    level = [0] * len(together)
    of = together.graph["mapping"]
    for group in nx.topological_sort(together):
        for i in together.nodes[group]["members"]:
            for then, edge in waits[i].items():
                if of[then] != group:
                    level[of[then]] = max(level[of[then]], level[group] + edge["gap"])
                elif edge["gap"]:
                    msg = (
                        f"rank {messages[then].src} sends sums of chunk {messages[then].chunk} in an order that no "
                        "schedule can state, in which a rank holds one sum of a chunk at a time"
                    )
                    raise InputError(msg)
    return [level[of[i]] for i in range(len(messages))]


def _route(topology: Topology, src: int, dst: int) -> Route:
    route = default_route(topology, src, dst)
    if route is None:
        msg = f"rank {src} sends to rank {dst}, but {topology.name!r} has no route that passes no other GPU"
        raise InputError(msg)
    return route
