"""A topology at length: groups at every level, bandwidths between GPUs, nearest NICs, the narrowest half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from syccl.bounds.network import Network
from syccl.report.tables import Table, counted
from syccl.report.topology import links_table, topology_record, topology_table
from syccl.symmetry import Group
from syccl.symmetry.dimensions import levels
from syccl.topology import Kind, Topology
from syccl.topology.check import disconnected_parts
from syccl.topology.routes import routes_from
from syccl.units import format_latency, format_rate

_SHOWN_RANKS = 16
"""Ranks of the largest matrix of single pairs; above, pairs are counted by their route's bandwidth."""
_MOST_RANKS = 1024
"""On larger clusters routes and halves are not looked at."""
_SERVERS_SHOWN = 8


def portrait_record(topology: Topology, group: Group, islands: Sequence[Sequence[int]]) -> dict[str, object]:
    """Return everything about a topology under stable names, for ``--json``."""
    record = topology_record(topology, group, islands)
    record["servers"] = _servers(topology)
    record["levels"] = [
        {"rate_GBps": rate / 1e9, "groups": [list(part) for part in parts]} for rate, parts in levels(topology)
    ]
    if topology.ranks > _MOST_RANKS:
        return record
    record["pair_GBps"] = [
        [routes[other].rate / 1e9 if other in routes else None for other in range(topology.ranks)]
        for routes in (routes_from(topology, rank) for rank in range(topology.ranks))
    ]
    record["nearest_nics"] = {topology.nodes[gpu].name: nics for gpu, nics in _nearest(topology).items()}
    half = narrowest_half(topology)
    if half is not None:
        record["bisection"] = {"ranks": list(half[1]), "out_GBps": half[0] / 1e9}
    return record


def portrait_tables(topology: Topology, group: Group, islands: Sequence[Sequence[int]]) -> list[tuple[str, Table]]:
    """Return titled tables for people; the first has no title."""
    first = topology_table(topology, group, islands)
    rows = [*first.rows, ("servers", _server_words(topology))]
    half = narrowest_half(topology) if topology.ranks <= _MOST_RANKS else None
    if half is not None:
        rows.append(("bisection", f"{format_rate(half[0])} out of ranks {_spans(half[1])}, the narrowest half tried"))
    tables = [("", Table(rows)), ("links", links_table(topology)), ("groups", _levels_table(topology))]
    if topology.ranks <= _MOST_RANKS:
        tables.append(("bandwidth of routes, GB/s", _pairs_table(topology, islands)))
        if any(node.kind is Kind.NIC for node in topology.nodes):
            tables.append(("nearest NICs", _nics_table(topology)))
    return tables


def _servers(topology: Topology) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for rank, node in enumerate(topology.gpus):
        found.setdefault(topology.nodes[node].server, []).append(rank)
    return found


def _server_words(topology: Topology) -> str:
    servers = {name: ranks for name, ranks in _servers(topology).items() if name}
    if not servers:
        return "none is named"
    shown = [f"{name}: {_spans(ranks)}" for name, ranks in list(servers.items())[:_SERVERS_SHOWN]]
    more = [f"and {len(servers) - _SERVERS_SHOWN} more"] if len(servers) > _SERVERS_SHOWN else []
    return "; ".join([*shown, *more])


def _spans(ranks: Sequence[int]) -> str:
    """Return ranks with runs as ``0-7``."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _levels_table(topology: Topology) -> Table:
    rows = []
    for rate, parts in levels(topology):
        sizes = Counter(map(len, parts))
        words = ", ".join(f"{count} x {counted(size, 'GPU')}" for size, count in sorted(sizes.items(), reverse=True))
        rows.append((format_rate(rate), words))
    return Table(rows, ("links of at least", "join"), frozenset({0}))


def _pairs_table(topology: Topology, islands: Sequence[Sequence[int]]) -> Table:
    n = topology.ranks
    routes = [routes_from(topology, rank) for rank in range(n)]
    if n <= _SHOWN_RANKS:
        rows = [
            [str(a), *("-" if b not in routes[a] else f"{routes[a][b].rate / 1e9:.5g}" for b in range(n))]
            for a in range(n)
        ]
        return Table(rows, ["rank", *map(str, range(n))], frozenset(range(n + 1)))
    home = {rank: i for i, members in enumerate(islands) for rank in members}
    kinds: Counter[tuple[bool, int, int]] = Counter()
    for a in range(n):
        for b, route in routes[a].items():
            kinds[home[a] != home[b], -route.rate, route.latency_ps] += 1
        kinds[True, 0, 0] += n - 1 - len(routes[a])
    rows = [
        [
            "between islands" if far else "inside islands",
            format_rate(-rate) if rate else "only over other GPUs",
            format_latency(latency) if rate else "-",
            str(count),
        ]
        for (far, rate, latency), count in sorted(kinds.items())
        if count
    ]
    return Table(rows, ("pairs", "bandwidth", "latency", "count"), frozenset({1, 2, 3}))


def _nearest(topology: Topology) -> dict[int, list[str]]:
    """Return the NICs that each GPU reaches over the fewest links, widest first."""
    found = {}
    for gpu in topology.gpus:
        level, seen = {gpu: 10**30}, {gpu}
        nics: dict[int, int] = {}
        while level and not nics:
            following: dict[int, int] = {}
            for node, rate in level.items():
                for i in topology.out_links[node]:
                    link = topology.links[i]
                    if link.dst not in seen and not topology.is_gpu(link.dst):
                        following[link.dst] = max(following.get(link.dst, 0), min(rate, link.rate))
            seen.update(following)
            nics = {node: rate for node, rate in following.items() if topology.nodes[node].kind is Kind.NIC}
            level = following
        widest = max(nics.values(), default=0)
        found[gpu] = [topology.nodes[node].name for node, rate in sorted(nics.items()) if rate == widest]
    return found


def _nics_table(topology: Topology) -> Table:
    groups: dict[tuple[str, ...], list[int]] = {}
    for gpu, nics in _nearest(topology).items():
        groups.setdefault(tuple(nics), []).append(topology.rank_of[gpu])
    rows = [(_spans(ranks), ", ".join(nics) or "none") for nics, ranks in groups.items()]
    shown = rows[:_SHOWN_RANKS]
    if len(rows) > len(shown):
        shown.append((f"and {len(rows) - len(shown)} more", ""))
    return Table(shown, ("ranks", "NICs"))


def narrowest_half(topology: Topology) -> tuple[int, tuple[int, ...]] | None:
    """Return the bandwidth out of the narrowest half among natural ones, bytes per second, and its ranks.

    Tried are halves of consecutive and of alternating ranks, and unions of servers. A narrower one may exist.
    """
    n = topology.ranks
    if n < 2 or disconnected_parts(topology):
        return None
    network = Network.of(topology)
    every = tuple(range(n))
    halves = {tuple(every[: n // 2]), tuple(every[::2])}
    servers = list(_servers(topology).values())
    if len(servers) > 2 and len(servers) % 2 == 0:
        halves.update(tuple(sorted(r for s in some for r in s)) for some in _some_halves(servers))
    values = [
        (network.cut(half, tuple(rank for rank in every if rank not in set(half))).rate, half)
        for half in sorted(halves)
    ]
    return min(values)


def _some_halves(servers: Sequence[list[int]]) -> list[tuple[list[int], ...]]:
    if len(servers) <= 6:
        return list(combinations(servers, len(servers) // 2))
    return [tuple(servers[: len(servers) // 2]), tuple(servers[::2])]
