"""The schedule: transfers in columns, kept compressed by symmetry. The waist of the architecture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.collective import Demand
from syccl.symmetry.group import Group
from syccl.topology import Topology

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Transfers:
    """Transfers of chunks between ranks, one row each; all columns have the same length.

    Semantics. What a row carries is what its sender holds of the chunk after every row into the sender with the same
    chunk and a lower ``stage``; rows of one stage do not see each other. Rows with ``reduce`` add that partial sum
    to the receiver's; the others put the finished chunk in its place. Each link serves its rows by ascending
    ``order``, one at a time, each as soon as what it carries is there; a row's ``order`` is above that of every row it
    waits for. Rows of equal ``order`` are copies of one transfer under a symmetry: they start together and share the
    links that they have in common evenly.
    """

    chunk: Ints
    src: Ints
    dst: Ints
    route: Ints
    """Index into ``Schedule.routes``."""
    reduce: NDArray[np.bool_]
    stage: Ints
    order: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.chunk)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """How a schedule repeats: every row of it stands for its images under all elements of ``group``.

    ``chunks[e, c]`` is where element ``e`` sends chunk ``c``; shape ``(order, chunk_ids)``.
    """

    group: Group
    chunks: Ints


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who sends what to whom, over which route, in which order.

    Parameters
    ----------
    routes
        Link ids of every route in use, in path order.
    symmetry
        None for an explicit schedule; else ``transfers`` holds one representative of each orbit.
    maker
        What produced it: short text such as ``"syccl"`` or ``"ring"``.
    """

    topology: Topology
    demand: Demand
    routes: tuple[tuple[int, ...], ...]
    transfers: Transfers
    symmetry: Symmetry | None = None
    maker: str = "syccl"

    @property
    def order_of_symmetry(self) -> int:
        """Number of images that each row stands for."""
        return self.symmetry.group.order if self.symmetry else 1

    @cached_property
    def route_latencies_s(self) -> NDArray[np.float64]:
        """Sum of latencies of every route, in seconds, shape ``(routes,)``."""
        latency = self.topology.link_latencies_s
        return np.array([latency[list(route)].sum() for route in self.routes], dtype=np.float64)


def expand(schedule: Schedule) -> Schedule:
    """Return the explicit form: every image of every row; copies keep the ``order`` of their representative."""
    symmetry = schedule.symmetry
    if symmetry is None:
        return schedule
    rows, group = schedule.transfers, symmetry.group
    n, order = len(rows), group.order
    routes: dict[tuple[int, ...], int] = {}
    table = np.empty((len(schedule.routes), order), dtype=np.int32)
    for i, route in enumerate(schedule.routes):
        images = group.links[:, list(route)]
        for element in range(order):
            path = tuple(images[element].tolist())
            table[i, element] = routes.setdefault(path, len(routes))
    elements = np.tile(np.arange(order), n)
    repeat = np.repeat(np.arange(n), order)
    explicit = Transfers(
        chunk=symmetry.chunks[elements, rows.chunk[repeat]],
        src=group.ranks[elements, rows.src[repeat]],
        dst=group.ranks[elements, rows.dst[repeat]],
        route=table[rows.route[repeat], elements],
        reduce=rows.reduce[repeat],
        stage=rows.stage[repeat],
        order=rows.order[repeat],
    )
    return replace(schedule, routes=tuple(routes), transfers=explicit, symmetry=None)
