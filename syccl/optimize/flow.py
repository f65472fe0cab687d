"""Exact integer max-flow and the min-cut that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from syccl.errors import InternalError
from syccl.optimize.status import Status

LARGEST_TOTAL = 1 << 62
"""Keep the capacity out of a source, and into a sink, at or below this: flows are 64-bit integers."""


class MaxFlow(NamedTuple):
    """A largest flow and the least source side among the cuts of that capacity."""

    value: int
    source_side: NDArray[np.bool_]
    """Whether each node lies on the source's side, shape ``(nodes,)``."""


class FlowNetwork:
    """A directed graph with integer capacities, to be solved for many sources, sinks and capacities.

    Parameters
    ----------
    nodes
        Number of nodes, ids ``0..nodes - 1``.
    tails, heads
        Ends of every arc, shape ``(arcs,)``; parallel arcs are allowed.
    capacities
        Non-negative integers, shape ``(arcs,)``.
    """

    def __init__(self, nodes: int, tails: ArrayLike, heads: ArrayLike, capacities: ArrayLike) -> None:
        from ortools.graph.python import max_flow

        self.nodes = nodes
        self._solver = max_flow.SimpleMaxFlow()
        self._optimal = max_flow.SimpleMaxFlow.OPTIMAL
        self._solver.add_arcs_with_capacity(
            np.asarray(tails, dtype=np.int32),
            np.asarray(heads, dtype=np.int32),
            np.asarray(capacities, dtype=np.int64),
        )
        # An arc without capacity at the highest id makes the solver know every node.
        if nodes > 1:
            self._solver.add_arc_with_capacity(nodes - 1, 0, 0)

    def set_capacities(self, arcs: ArrayLike, capacities: ArrayLike) -> None:
        """Replace the capacities of some arcs, given by position."""
        self._solver.set_arcs_capacity(np.asarray(arcs, dtype=np.int32), np.asarray(capacities, dtype=np.int64))

    def max_flow(self, source: int, sink: int) -> MaxFlow:
        """Return a largest flow between two different nodes, with its cut.

        Raises
        ------
        InternalError
            When capacities overflow or source and sink are no two different nodes of the graph.
        """
        known = source != sink and min(source, sink) >= 0 and max(source, sink) < self.nodes
        status = self._solver.solve(source, sink) if known else None
        if status != self._optimal:
            why = "capacities overflow" if known else "these are no two nodes"
            msg = f"max-flow from {source} to {sink} of {self.nodes} nodes: {Status.ERROR.value}, {why}"
            raise InternalError(msg)
        side = np.zeros(self.nodes, dtype=np.bool_)
        side[self._solver.get_source_side_min_cut()] = True
        return MaxFlow(int(self._solver.optimal_flow()), side)


def max_flow(nodes: int, arcs: Sequence[tuple[int, int, int]], source: int, sink: int) -> MaxFlow:
    """Return a largest flow of one network, given as (tail, head, capacity) arcs.

    Raises
    ------
    InternalError
        As :meth:`FlowNetwork.max_flow`.
    """
    table = np.array(arcs, dtype=np.int64).reshape(-1, 3)
    return FlowNetwork(nodes, table[:, 0], table[:, 1], table[:, 2]).max_flow(source, sink)
