"""Alltoall as a concurrent flow: every byte needs a path of its own, so prices on links bound the time.

For any prices ``y >= 0``: ``T sum_e b_e y_e >= m sum_{s,d} dist_y(s, d)``, ``m`` bytes a pair. The linear program of
the flows (one commodity a source, one source an orbit) gives prices; the bound is then worked out from them alone, so
that it holds whatever the solver's accuracy.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syccl.bounds.network import Network
from syccl.optimize.linear import LinearProgram, solve_linear
from syccl.optimize.status import Status
from syccl.symmetry.group import Group

Floats = NDArray[np.float64]

_LARGEST = 20_000
"""Flow variables above which the linear program is not set up."""
_SLACK = 1e-9


def concurrent_rate(network: Network, group: Group) -> float | None:
    """Return bytes per second: a pair's data, times all pairs, over the least time; None where it is too large.

    Parameters
    ----------
    group
        Symmetries of the network.
    """
    sources = [orbit[0] for orbit in group.rank_orbits]
    weights = np.array([len(orbit) for orbit in group.rank_orbits], dtype=np.float64)
    links = len(network.rates)
    if len(sources) * links > _LARGEST:
        return None
    _, orbit = np.unique(group.links.min(axis=0), return_inverse=True)
    wanted = np.ones((len(sources), network.ranks))
    wanted[np.arange(len(sources)), sources] = 0.0
    prices = _prices(network, weights, wanted, orbit, sources=sources)
    if prices is None:
        return None
    paid = sum(
        float(w) * _distances(network, prices, s)[network.gpus].sum() for s, w in zip(sources, weights, strict=True)
    )
    return float(network.rates @ prices) / (paid * (1.0 - _SLACK)) if paid > 0 else None


def matrix_seconds(network: Network, table: NDArray[np.int64]) -> float | None:
    """Return a time that no schedule of alltoallv can beat, seconds; None where the program is too large.

    As ``flow_prices``.
    """
    found = flow_prices(network, table)
    return None if found is None else found[0]


def flow_prices(network: Network, table: NDArray[np.int64]) -> tuple[float, Floats] | None:
    """Return the time, in seconds, that prices of links show to be too short for a matrix, and these prices.

    Parameters
    ----------
    table
        Bytes from each rank (row) to each rank, the diagonal left out; shape ``(ranks, ranks)``.
    """
    sources = np.flatnonzero(table.sum(axis=1))
    if not len(sources) or len(sources) * len(network.rates) > _LARGEST:
        return None
    unit = float(table.max())
    links = len(network.rates)
    prices = _prices(network, np.ones(len(sources)), table[sources] / unit, np.arange(links), sources=sources)
    if prices is None:
        return None
    paid = sum(float(_distances(network, prices, s)[network.gpus] @ table[s]) for s in sources.tolist())
    return paid * (1.0 - _SLACK) / float(network.rates @ prices), prices


def _prices(
    network: Network,
    weights: Floats,
    wanted: Floats,
    orbit: NDArray[np.int64],
    *,
    sources: Sequence[int] | NDArray[np.int64],
) -> Floats | None:
    """Return link prices from the duals of the flow program, equal on every orbit.

    Parameters
    ----------
    weights
        How many ranks each source stands for.
    wanted
        Units that each source has for each rank, none for itself; shape ``(sources, ranks)``.
    """
    links, nodes, count = len(network.rates), network.nodes, len(sources)
    orbits = int(orbit.max()) + 1
    size = np.bincount(orbit)
    capacity = network.rates[np.unique(orbit, return_index=True)[1]] / float(network.rates.max())
    column = np.arange(count * links)
    link, source = column % links, column // links
    flow_rows = [
        source * nodes + network.heads[link],
        source * nodes + network.tails[link],
        count * nodes + orbit[link],
        count * nodes + np.arange(orbits),
    ]
    values = [np.ones(len(column)), -np.ones(len(column)), weights[source] / size[orbit[link]], -capacity]
    demand = np.zeros((count, nodes))
    demand[:, network.gpus] = wanted
    demand[np.arange(count), network.gpus[np.asarray(sources)]] = -wanted.sum(axis=1)
    total = count * links + 1
    program = LinearProgram(
        objective=np.append(np.zeros(count * links), 1.0),
        lower=np.zeros(total),
        upper=np.full(total, np.inf),
        row_lower=np.concatenate((demand.ravel(), np.full(orbits, -np.inf))),
        row_upper=np.concatenate((demand.ravel(), np.zeros(orbits))),
        entry_row=np.concatenate(flow_rows).astype(np.int32),
        entry_column=np.concatenate((column, column, column, np.full(orbits, count * links))).astype(np.int32),
        entry_value=np.concatenate(values),
    )
    solution = solve_linear(program)
    if solution.status is not Status.OPTIMAL:
        return None
    duals = np.maximum(0.0, -solution.duals[count * nodes :])
    return np.asarray((duals / size)[orbit])


def _distances(network: Network, prices: Floats, rank: int) -> Floats:
    """Return the cheapest price from a rank to every node, shape ``(nodes,)``; GPUs forward."""
    out: list[list[tuple[int, float]]] = [[] for _ in range(network.nodes)]
    for tail, head, price in zip(network.tails.tolist(), network.heads.tolist(), prices.tolist(), strict=True):
        out[tail].append((head, price))
    found = np.full(network.nodes, np.inf)
    start = int(network.gpus[rank])
    found[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        paid, node = heapq.heappop(heap)
        if paid > found[node]:
            continue
        for head, price in out[node]:
            if paid + price < found[head]:
                found[head] = paid + price
                heapq.heappush(heap, (paid + price, head))
    return found
