"""Flows: what one rank sends another in an iteration, over one of several equally good routes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.topology.routes import Route, nth_route, path_set, route_layers
from syccl.traffic.pairs import Pairs

MOST_ROUTES = 256
"""Most equal routes that a flow or a connection chooses among; where there are more, these are spread over all."""


class Flow(NamedTuple):
    """Bytes from one rank of the fabric to another in each iteration of a job."""

    src: int
    dst: int
    size_bytes: float
    candidates: tuple[Route, ...]


def flows_of(topology: Topology, ranks: Sequence[int], pairs: Pairs) -> tuple[Flow, ...]:
    """Return the flows of a job, ordered by receiver and sender, with their equal-cost routes.

    Parameters
    ----------
    topology
        The fabric as its file states it: with every switch.
    ranks
        The job's ranks of the fabric.
    pairs
        Bytes between positions in ``ranks``.

    Raises
    ------
    InputError
        When no route joins a pair.
    """
    found = []
    for a, b in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
        src, dst = ranks[a], ranks[b]
        routes = _equal_routes(topology, src, dst)
        if not routes:
            names = [topology.nodes[topology.gpus[rank]].name for rank in (src, dst)]
            msg = f"no route from rank {src} ({names[0]}) to rank {dst} ({names[1]}) of {topology.name}"
            raise InputError(msg)
        found.append(Flow(src, dst, pairs[a, b], routes))
    return tuple(found)


def _equal_routes(topology: Topology, src: int, dst: int) -> tuple[Route, ...]:
    """Return the routes that are as short, wide and quick as the best, or some that are spread over all of them."""
    routes = path_set(topology, src, dst, most=MOST_ROUTES + 1)
    if len(routes) <= MOST_ROUTES:
        return routes
    layers, best = route_layers(topology, src, dst), routes[0]
    some = dict.fromkeys(nth_route(topology, layers, at) for at in range(MOST_ROUTES))
    return tuple(route for route in some if route[1:] == best[1:]) or routes[:MOST_ROUTES]


def ecmp_choice(flows: Sequence[Flow], seed: int) -> tuple[int, ...]:
    """Return the candidate that each flow takes when switches hash it, evenly and without regard to load.

    The hash is a CRC-32 of sender, receiver and seed; that of a real switch differs, and is as blind.
    """
    return tuple(zlib.crc32(f"{seed}/{flow.src}/{flow.dst}".encode()) % len(flow.candidates) for flow in flows)


def link_seconds(topology: Topology, flows: Sequence[Flow], choice: Sequence[int]) -> dict[int, float]:
    """Return how long each link needs, alone and at full bandwidth, for a job's bytes of one iteration; by link id."""
    load: dict[int, float] = {}
    for flow, at in zip(flows, choice, strict=True):
        for link in flow.candidates[at].links:
            load[link] = load.get(link, 0.0) + flow.size_bytes / topology.links[link].rate
    return dict(sorted(load.items()))
