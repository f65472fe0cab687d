"""Connections between servers, and the equally good routes that each may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from syccl.errors import InputError
from syccl.topology import Kind, Topology
from syccl.topology.routes import Route, nth_route, route_layers, route_of
from syccl.traffic.flows import MOST_ROUTES
from syccl.traffic.pairs import Sends


class Connection(NamedTuple):
    """What one queue pair carries from one rank of the fabric to another in an iteration of a job."""

    job: str
    src: int
    dst: int
    channel: int
    queue_pair: int
    size_bytes: float


class Ways(NamedTuple):
    """How a connection may go: routes to choose among, and for each hop the links that it can take at all."""

    routes: tuple[Route, ...]
    layers: tuple[frozenset[int], ...]


def connections_of(
    topology: Topology, job: str, ranks: Sequence[int], sends: Sends, *, queue_pairs: int = 1
) -> list[Connection]:
    """Return a job's connections that leave a server, ordered by sender, receiver and channel.

    Parameters
    ----------
    ranks
        The job's ranks of the fabric, in the job's order.
    sends
        Bytes of an iteration, by positions in ``ranks``.
    queue_pairs
        How many queue pairs share the bytes of one connection evenly.
    """
    server = [topology.nodes[node].server for node in topology.gpus]
    found = []
    for (a, b, channel), size_bytes in sorted(sends.items()):
        src, dst = ranks[a], ranks[b]
        if not server[src] or server[src] != server[dst]:
            each = size_bytes / queue_pairs
            found += [Connection(job, src, dst, channel, pair, each) for pair in range(queue_pairs)]
    return found


def ways_of(topology: Topology, connections: Sequence[Connection]) -> list[Ways]:
    """Return how each connection may go; those of one sender and receiver share the value.

    Of NICs with several ports, a route that leaves by the i-th port of one and enters by the i-th of the other goes
    before all others: what leaves by a left port never enters by a right one.

    Raises
    ------
    InputError
        When no route joins a sender and a receiver.
    """
    known: dict[tuple[int, int], Ways] = {}
    jobs = {(each.src, each.dst): each.job for each in connections}
    for src, dst in sorted(jobs, key=lambda pair: (pair[1], pair[0])):
        layers = route_layers(topology, src, dst)
        if not layers:
            names = [topology.nodes[topology.gpus[rank]].name for rank in (src, dst)]
            pair = f"from rank {src} ({names[0]}) to rank {dst} ({names[1]})"
            msg = f"job {jobs[src, dst]!r}: no route {pair} of {topology.name}"
            raise InputError(msg)
        routes = _some_routes(topology, layers)
        known[src, dst] = Ways(_same_ports(topology, routes), tuple(map(frozenset, layers)))
    return [known[each.src, each.dst] for each in connections]


def _some_routes(topology: Topology, layers: Sequence[Sequence[int]]) -> tuple[Route, ...]:
    """Return all shortest routes, or of very many some that use the links of each hop about evenly.

    Links of GPUs and NICs are the widest there are, as a runtime chooses them; between switches, which hash blindly,
    narrow links count too.
    """
    routes = _all_routes(topology, layers)
    if len(routes) > MOST_ROUTES:
        routes = tuple(dict.fromkeys(nth_route(topology, layers, at) for at in range(MOST_ROUTES)))
    widest = max(_edge_rate(topology, route) for route in routes)
    return tuple(route for route in routes if _edge_rate(topology, route) == widest)


def _edge_rate(topology: Topology, route: Route) -> int:
    return min(topology.links[i].rate for i in route.links if i not in inner_links(topology))


@lru_cache(maxsize=4)
def inner_links(topology: Topology) -> frozenset[int]:
    """Return the links between switches."""
    is_switch = [node.kind is Kind.SWITCH for node in topology.nodes]
    return frozenset(i for i, link in enumerate(topology.links) if is_switch[link.src] and is_switch[link.dst])


def _all_routes(topology: Topology, layers: Sequence[Sequence[int]]) -> tuple[Route, ...]:
    """Return the shortest routes in order of their links, at most one more than ``MOST_ROUTES``."""
    ways: list[tuple[int, ...]] = [()]
    for layer in layers:
        onward: dict[int, list[int]] = {}
        for i in layer:
            onward.setdefault(topology.links[i].src, []).append(i)
        longer = ((*way, i) for way in ways for i in (onward.get(topology.links[way[-1]].dst, ()) if way else layer))
        ways = list(islice(longer, MOST_ROUTES + 1))
    return tuple(route_of(topology, way) for way in ways)


def _same_ports(topology: Topology, routes: tuple[Route, ...]) -> tuple[Route, ...]:
    ports = _ports(topology)

    def first(links: Iterable[int]) -> int:
        return next((ports[i] for i in links if i in ports), 0)

    same = tuple(route for route in routes if first(route.links) == first(reversed(route.links)))
    return same or routes


@lru_cache(maxsize=4)
def _ports(topology: Topology) -> dict[int, int]:
    """Return which port of a NIC each link is that joins the NIC to something outside its server."""
    found: dict[int, int] = {}
    for nic, node in enumerate(topology.nodes):
        if node.kind is Kind.NIC:
            for links in (topology.out_links[nic], topology.in_links[nic]):
                ends = ((i, {topology.links[i].src, topology.links[i].dst} - {nic}) for i in links)
                outside = [i for i, (other,) in ends if topology.nodes[other].server != node.server]
                found.update((i, at) for at, i in enumerate(outside))
    return found
