"""From what was measured to the parts that are at fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syccl.errors import InputError
from syccl.topology import Topology, routes_from
from syccl.topology.parallel import Joined
from syccl.traffic.c4d.matrix import Cells, cells_of, delay_matrix
from syccl.traffic.c4d.operations import Ranks, judge
from syccl.traffic.c4d.paths_file import Key
from syccl.traffic.c4d.records import Operations, Timings
from syccl.traffic.c4d.routes import flat
from syccl.traffic.c4d.suspects import Explained, Suspect, Ways, explain, incidence

PERSIST = 3
"""Windows in which a fault must show."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Parameters
    ----------
    classified
        communication hang, non-communication hang, hang, communication slow, or non-communication slow.
    suspects
        What may be at fault; more than one where the data do not tell them apart.
    connections
        Connections that it slows or holds up.
    evidence
        In words.
    swap
        What to run to tell the suspects apart; empty where nothing is needed.
    """

    classified: str
    suspects: tuple[Suspect, ...]
    connections: int
    evidence: str
    swap: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts that may be at fault, for ``--without``."""
        return tuple(dict.fromkeys(part for suspect in self.suspects for part in suspect.parts))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All faults, and the delay matrix where there is one."""

    faults: tuple[Fault, ...]
    cells: Cells | None


def diagnose(
    topology: Topology,
    records: Sequence[Timings | Operations],
    *,
    paths: Mapping[Key, tuple[int, ...]] | None = None,
    persist: int = PERSIST,
    healthy: Timings | None = None,
    ways: Ways | None = None,
) -> Diagnosis:
    """Return what is at fault.

    Parameters
    ----------
    records
        At most one of each: times of connections, and of operations.
    paths
        Links of each connection; None: the default routes of the topology.
    persist
        Windows, and operations, in which slowness must show.
    healthy
        Times of the same connections when all was well; None: connections are compared with each other.
    ways
        For a topology of joined ways, how many links each stands for (see `ways_joined`).

    Raises
    ------
    InputError
        When there is nothing to judge, or a connection has no path.
    """
    timings = [each for each in records if isinstance(each, Timings)]
    operations = [each for each in records if isinstance(each, Operations)]
    if len(timings) > 1 or len(operations) > 1 or not records:
        msg = f"{len(timings)} files of connections and {len(operations)} of operations; give at most one of each"
        raise InputError(msg)
    faults: list[Fault] = []
    ranks = judge(operations[0], persist=persist) if operations else Ranks((), False, (), ())
    faults += _of_ranks(topology, ranks)
    cells = None
    if timings:
        routes = flat(_routes(topology, cells_of(timings[0])[0], paths))
        cells = delay_matrix(topology, timings[0], routes, persist=persist, healthy=healthy)
        made = incidence(topology, cells, routes, ways or {})
        if not ranks.absent:  # What waits for a rank that never came is not at fault itself.
            for one in explain(made, cells.hung):
                faults.append(_fault(topology, "communication hang", one, cells))
        for one in explain(made, cells.slow & ~cells.hung):
            faults.append(_fault(topology, "communication slow", one, cells))
    if ranks.stuck and not any(fault.classified == "communication hang" for fault in faults):
        words = "all ranks launched the last operation, not all completed it; times of connections would say where"
        faults.append(Fault("communication hang", (), 0, words))
    return Diagnosis(tuple(faults), cells)


def ways_joined(stated: Topology, joined: Joined) -> Ways:
    """Return how many links of a cluster each directed link of its joined form stands for, by the ends there."""
    into = {name: group[0] for group in joined.twins for name in group}
    at = {node.name: number for number, node in enumerate(joined.topology.nodes)}
    names = [at[into.get(node.name, node.name)] for node in stated.nodes]
    return Counter((names[link.src], names[link.dst]) for link in stated.links)


def _routes(topology: Topology, cells: Cells, paths: Mapping[Key, tuple[int, ...]] | None) -> list[tuple[int, ...]]:
    columns = (cells.src, cells.dst, cells.channel, cells.queue_pair)
    found = []
    for key in zip(*(column.tolist() for column in columns), strict=True):
        src, dst = key[:2]
        links = None if paths is None else paths.get(key)
        if links is None:
            route = routes_from(topology, src).get(dst)
            links = None if route is None else route.links
        if links is None:
            msg = f"no route from rank {src} to rank {dst} of {topology.name}, which has times in the data"
            raise InputError(msg)
        found.append(links)
    return found


def _of_ranks(topology: Topology, ranks: Ranks) -> list[Fault]:
    def part(rank: int) -> tuple[Suspect, ...]:
        name = topology.nodes[topology.gpus[rank]].name
        return (Suspect("node", f"rank {rank} ({name})", (f"gpu:{name}",)),)

    found = [
        Fault("non-communication hang", part(rank), 0, "did not launch the last operation; others wait for it")
        for rank in ranks.absent
    ]
    words = "has not completed the last operation; whether it launched it is not known from these data"
    found += [Fault("hang", part(rank), 0, words) for rank in ranks.unclear]
    return found + [
        Fault("non-communication slow", part(rank), 0, f"begins {lag_us:.4g} us after the others")
        for rank, lag_us in ranks.late
    ]


def _fault(topology: Topology, classified: str, one: Explained, cells: Cells) -> Fault:
    mine = list(one.cells)
    if classified == "communication hang":
        words = "messages are not acknowledged"
    else:
        words = f"{np.median(cells.delay[mine]):.2f} times the usual delay"
    return Fault(classified, one.suspects, len(mine), words, _swap(topology, one, cells))


def _swap(topology: Topology, one: Explained, cells: Cells) -> str:
    """Return what should change places in a ring, where one connection alone says that something is wrong."""
    if len(one.cells) != 1 or len({suspect.kind for suspect in one.suspects}) < 2:
        return ""
    src, dst = int(cells.src[one.cells[0]]), int(cells.dst[one.cells[0]])
    server = [topology.nodes[node].server or topology.nodes[node].name for node in topology.gpus]
    within = server[src] == server[dst]
    good = ~cells.slow & ~cells.hung & (cells.channel == cells.channel[one.cells[0]])
    others = [
        rank
        for sender, rank in zip(cells.src[good].tolist(), cells.dst[good].tolist(), strict=True)
        if rank not in {src, dst}
        and (server[rank] == server[src] if within else server[rank] not in {server[src], server[dst], server[sender]})
    ]
    if not others:
        return ""
    what = f"ranks {dst} and {others[0]}" if within else f"{server[dst]} and {server[others[0]]}"
    return (
        f"exchange {what} in the order of the ring: where what rank {src} sends is slow still, it is the tx side; "
        f"where what rank {dst} receives is, the rx side; where neither is, the way between"
    )
