"""Halving-doubling over servers, and EFLOPS's mapping of ranks by which its flows never meet on a BiGraph.

In step ``s`` of halving, logical server ``r`` exchanges with ``r XOR 2^s`` the half of what both still sum; doubling
mirrors it. Servers of several GPUs first reduce-scatter inside, exchange among GPUs of the same place, then allgather
inside. HDRM (halving-doubling with rank mapping; EFLOPS, HPCA 2020) places logical servers such that partners are on
opposite sides of a BiGraph, and no link between switches has more than one flow of servers in a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from syccl.baselines.arcs import Arcs
from syccl.baselines.hops import Hops, make_schedule
from syccl.baselines.rings import Islands
from syccl.collective import OPS, Demand
from syccl.schedule import Schedule
from syccl.topology import Kind, Topology

_Row = tuple[int, int, int, int, bool]
"""chunk, src, dst, stage, whether it is summed"""


def halving_schedule(
    topology: Topology, islands: Islands, *, order: Sequence[int] | None = None, maker: str = "halving"
) -> Schedule | None:
    """Return an allreduce by halving and doubling, or None where islands are unlike or no power of two.

    Parameters
    ----------
    islands
        Ranks of each server.
    order
        Position in ``islands`` of each logical server; None: as they come.
    """
    count, size = len(islands), len(islands[0])
    if count < 2 or count & (count - 1) or any(len(members) != size for members in islands):
        return None
    placed = [islands[at] for at in (order or range(count))]
    rows = [(chunk, src, dst, 0, True) for chunk, src, dst in _inside(placed)]
    steps = count.bit_length() - 1
    for step in range(steps):
        rows += [(*row, 1 + step, True) for row in _exchange(placed, step, halving=True)]
    for back in range(steps):
        rows += [(*row, 1 + steps + back, False) for row in _exchange(placed, steps - 1 - back, halving=False)]
    rows += [(chunk, dst, src, 1 + 2 * steps, False) for chunk, src, dst in _inside(placed)]
    chunk, src, dst, stage, summed = (np.array(column) for column in zip(*rows, strict=True))
    arcs = Arcs(topology)
    if not arcs.joined[src, dst].all():
        return None
    demand = Demand(OPS["allreduce"], topology.ranks, count * size)
    return make_schedule(arcs, demand, Hops(chunk, src, dst, stage, summed.astype(np.bool_)), None, maker=maker)


def _inside(islands: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk, sender, receiver) of a reduce-scatter inside islands, by rotation; place ``p`` sums part ``p``."""
    count, size = len(islands), len(islands[0])
    for turn in range(1, size):
        for members in islands:
            for place, src in enumerate(members):
                to = (place + turn) % size
                for part in range(count):
                    yield to * count + part, src, members[to]


def _exchange(islands: Sequence[Sequence[int]], step: int, *, halving: bool) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk, sender, receiver) of one step between logical islands, among GPUs of the same place.

    Halving sends the parts that the partner goes on to sum, doubling those that the sender has summed: their lowest
    bits are the partner's, or the sender's own.
    """
    count, known = len(islands), 2 << step
    for turn in range(count // known):  # All GPUs of a server send their first part, then the next: they share links.
        for one, members in enumerate(islands):
            other = one ^ (1 << step)
            part = (other if halving else one) % known + turn * known
            for place, src in enumerate(members):
                yield place * count + part, src, islands[other][place]


def hdrm_places(side: int, each: int) -> list[tuple[bool, int, int]]:
    """Return where HDRM puts each logical server: whether on the lower side, the switch, and the place on it.

    Parameters
    ----------
    side
        Switches on each side.
    each
        Servers on each switch, at most as many; both are powers of two.
    """
    found = []
    for server in range(2 * side * each):
        place, rest = divmod(server, 2 * side)
        at = rest // 2
        lower = server.bit_count() % 2 == 1
        found.append((lower, at if lower else (at + place) % side, place))
    return found


def hdrm_order(topology: Topology, islands: Islands) -> list[int] | None:
    """Return the position in ``islands`` of each logical server, or None where this is no BiGraph that HDRM fits.

    The fabric must have two sets of switches, each joined to all of the other set, and as many servers on every switch;
    powers of two, and no more servers on a switch than switches on a side.
    """
    on: dict[int, list[int]] = {}
    for at, members in enumerate(islands):
        switches = {switch for rank in members for switch in _switches_of(topology, topology.gpus[rank])}
        if len(switches) != 1:
            return None
        on.setdefault(switches.pop(), []).append(at)
    near = {switch: {to for to in _next(topology, switch) if to in on} for switch in on}
    lower = sorted(near[min(on)])
    upper = sorted(on.keys() - set(lower))
    crossed = all(near[switch] == set(lower) for switch in upper) and all(near[s] == set(upper) for s in lower)
    side, each = len(upper), len(on[min(on)])
    alike = len(lower) == side and all(len(servers) == each for servers in on.values())
    if not (crossed and alike) or each > side or side & (side - 1) or each & (each - 1):
        return None
    return [on[(lower if low else upper)[switch]][place] for low, switch, place in hdrm_places(side, each)]


def _next(topology: Topology, node: int) -> list[int]:
    return [topology.links[i].dst for i in topology.out_links[node]]


def _switches_of(topology: Topology, gpu: int) -> set[int]:
    """Return the switches outside of the server that a GPU reaches, over its NICs where it has any."""
    server = topology.nodes[gpu].server
    ends = {gpu} | {end for end in _next(topology, gpu) if topology.nodes[end].kind is Kind.NIC}
    found = {to for end in ends for to in _next(topology, end) if topology.nodes[to].kind is Kind.SWITCH}
    return {switch for switch in found if not server or topology.nodes[switch].server != server}


def most_flows(schedule: Schedule, islands: Islands) -> list[int]:
    """Return for each stage how many flows of servers the link between switches with most of them carries.

    What the GPUs of one server send those of another counts as one flow.
    """
    topology, rows = schedule.topology, schedule.transfers
    island = {rank: at for at, members in enumerate(islands) for rank in members}
    found: list[int] = []
    for stage in range(int(rows.stage.max()) + 1):
        at = rows.stage == stage
        hops = set(zip(rows.src[at].tolist(), rows.dst[at].tolist(), rows.route[at].tolist(), strict=True))
        flows = {(link, island[src], island[dst]) for src, dst, route in hops for link in schedule.routes[route]}
        between = Counter(link for link, _, _ in flows if _joins_switches(topology, link))
        found.append(max(between.values(), default=0))
    return found


def _joins_switches(topology: Topology, link: int) -> bool:
    ends = (topology.nodes[end] for end in topology.links[link][:2])
    return all(end.kind is Kind.SWITCH and not end.server for end in ends)
