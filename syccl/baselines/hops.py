"""Hops: transfers in columns, in the order in which links serve them, and the schedules made of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.baselines.arcs import Arcs
from syccl.collective import Demand
from syccl.schedule import Schedule, Symmetry, Transfers


class Hops(NamedTuple):
    """Transfers in the order in which links serve them; all columns have the same length."""

    chunk: NDArray[np.integer]
    src: NDArray[np.integer]
    dst: NDArray[np.integer]
    stage: NDArray[np.integer]
    reduce: NDArray[np.bool_]


def make_schedule(arcs: Arcs, demand: Demand, hops: Hops, symmetry: Symmetry | None, *, maker: str) -> Schedule:
    """Return the schedule of hops over default routes.

    Parameters
    ----------
    hops
        Explicit, or of the chunks that stand for all others under the symmetry.
    maker
        What the schedule is called.
    """
    routes: dict[tuple[int, int], int] = {}
    pairs = zip(hops.src.tolist(), hops.dst.tolist(), strict=True)
    route = np.array([routes.setdefault(pair, len(routes)) for pair in pairs], dtype=np.int32)
    transfers = Transfers(
        chunk=hops.chunk.astype(np.int32),
        src=hops.src.astype(np.int32),
        dst=hops.dst.astype(np.int32),
        route=route,
        reduce=hops.reduce,
        stage=hops.stage.astype(np.int32),
        order=np.arange(len(route), dtype=np.int32),
    )
    return Schedule(arcs.topology, demand, tuple(arcs.route(*pair) for pair in routes), transfers, symmetry, maker)
