"""Predictions beside the measured rows of a group."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from syccl.errors import FindingsError
from syccl.simulate.program_time import ProgramTimer
from syccl.topology import Kind, Link, Node, Topology
from tests.quality.calibration.nccl import nccl_seconds
from tests.quality.calibration.points import CLUSTERS, MSCCL, PROTOCOLS, Point, points
from tests.quality.calibration.programs import RANKS, program_named

ELEMENT_BYTES = 4
"""Of nccl-tests' float: a program is selected where its chunks are whole elements."""
XGMI_RATE = 48_000_000_000
"""Of one pair of MI300X, bytes per second: what the source of the measured rows states."""


class Prediction(NamedTuple):
    """A measured row and its prediction."""

    point: Point
    predicted_us: float

    @property
    def error(self) -> float:
        """Relative, positive where the prediction is too long."""
        return self.predicted_us / self.point.measured_us - 1


def mesh_topology() -> Topology:
    """Return eight MI300X of one server, each joined to every other."""
    nodes = tuple(Node(f"gpu{i}", Kind.GPU, "server0") for i in range(RANKS))
    links = tuple(Link(a, b, XGMI_RATE, 0) for a in range(RANKS) for b in range(RANKS) if a != b)
    return Topology("mi300x-mesh", nodes, links, "mi300x")


@lru_cache(maxsize=64)
def _timer(name: str) -> ProgramTimer:
    return ProgramTimer.of(program_named(name, PROTOCOLS[name.split("_")[2]]), mesh_topology())


def predicted(name: str, *, most_bytes: int | None = None, fitted: bool | None = None) -> list[Prediction]:
    """Return the predictions for a cluster, or for a program that was measured on MI300X.

    Parameters
    ----------
    most_bytes, fitted
        Only rows up to that size, or only those that a profile was fitted to, or only the others.
    """
    cluster = CLUSTERS.get(name)
    rows = points().get(cluster.name if cluster else MSCCL + name, ())
    chosen = [
        row
        for row in rows
        if (most_bytes is None or row.size_bytes <= most_bytes) and (fitted is None or row.fitted == fitted)
    ]
    if cluster:
        return [Prediction(row, nccl_seconds(cluster, row.op, row.size_bytes) * 1e6) for row in chosen]
    found = ((row, _program_us(name, row)) for row in chosen)
    return [Prediction(row, us) for row, us in found if us is not None]


def _program_us(name: str, row: Point) -> float | None:
    """Return the time of a program in microseconds; None for sizes at which a runtime does not run it."""
    timer = _timer(name)
    if row.size_bytes % (timer.program.chunks * ELEMENT_BYTES):
        return None
    try:
        return timer.at(row.size_bytes).seconds * 1e6
    except FindingsError:
        return None


def loss(predictions: list[Prediction]) -> float:
    """Return the mean absolute logarithm of predicted over measured."""
    return sum(abs(math.log(one.predicted_us / one.point.measured_us)) for one in predictions) / len(predictions)
