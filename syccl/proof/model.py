"""What a proof of a lower bound states: prices of links and of ways over time, all whole numbers.

docs/bounds.md has the theorem. Prices may be given for a few representatives where symmetries carry them to all others;
the checker verifies each symmetry, link by link.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syccl.collective import Op
from syccl.topology import Topology

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Priced:
    """One price a time interval for some links or ways.

    Parameters
    ----------
    ids
        Links or ways, shape ``(members,)``.
    price
        Shape ``(intervals,)``, 0 or more.
    """

    ids: Longs
    price: Longs


@dataclass(frozen=True, eq=False)
class Flow:
    """What the data of one source pays on its way to one sink, for every way; ways that are not listed cost nothing."""

    source: int
    sink: int
    prices: tuple[Priced, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """Flows that one transfer may serve together.

    Parameters
    ----------
    symmetry
        Permutations of nodes that keep prices of links and what the flows have in common.
    flows
        At most one for each orbit under these permutations.
    """

    symmetry: tuple[Longs, ...]
    flows: tuple[Flow, ...]


@dataclass(frozen=True, eq=False)
class Share:
    """What one rank's data pays in one class of time, for every way; ways that are not listed cost nothing."""

    number: int
    """The class of time, from 0."""
    rank: int
    prices: tuple[Priced, ...]


@dataclass(frozen=True, eq=False)
class Completion:
    """For an allreduce, what is paid until a first part of the ranks knows the sum, and afterwards.

    Parameters
    ----------
    part
        Number of each rank's part, shape ``(ranks,)``; symmetries send parts onto parts.
    times
        Where classes of the moment begin and the last ends: from 0 to the claimed time, picoseconds.
    shared
        What can be spent on each way beside what flows pay.
    before, after
        What ranks pay before and after, at most one for each orbit of ranks and class; who is not listed pays nothing.
    """

    part: Longs
    times: Longs
    shared: tuple[Priced, ...]
    before: tuple[Share, ...]
    after: tuple[Share, ...]


@dataclass(frozen=True, eq=False)
class Certificate:
    """The claim that every schedule of a collective takes longer than some time, with its proof.

    Parameters
    ----------
    topology, op, size_bytes, root
        The job; the size as nccl-tests counts it (see ``Demand``).
    grid
        Points of time from 0 to the claimed time, ascending, picoseconds.
    symmetry
        Permutations of nodes that keep all prices, and the root of rooted ops.
    links
        Prices of links; links that are not listed cost nothing.
    families
        Empty for ops whose transfers serve one flow each.
    completion
        For an allreduce only.
    matrix
        For an alltoallv only: bytes from each rank (row) to each; ``size_bytes`` is the largest buffer that it makes.
    """

    topology: Topology
    op: Op
    size_bytes: int
    root: int
    grid: Longs
    symmetry: tuple[Longs, ...]
    links: tuple[Priced, ...]
    families: tuple[Family, ...] = field(default=())
    completion: Completion | None = None
    matrix: tuple[tuple[int, ...], ...] = ()

    @property
    def time_ps(self) -> int:
        """The claimed time."""
        return int(self.grid[-1])
