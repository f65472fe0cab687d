"""Links of many connections in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from syccl.topology import Topology
from syccl.traffic.c4d.records import Floats, Ints


@dataclass(frozen=True, eq=False)
class Routes:
    """The links of connections, one connection after the other.

    Parameters
    ----------
    link
        Link ids of all connections.
    cell
        The connection of each entry.
    start
        Where each connection's links begin.
    """

    link: Ints
    cell: Ints
    start: Ints

    @property
    def length(self) -> Ints:
        """Number of links of each connection."""
        return np.diff(np.append(self.start, len(self.link)))

    def rates(self, topology: Topology) -> Floats:
        """Return the bandwidth of the slowest link of each connection, bytes per second."""
        return np.minimum.reduceat(topology.link_rates[self.link], self.start)


def flat(routes: Sequence[Sequence[int]]) -> Routes:
    """Return routes, each of at least one link, as flat arrays."""
    lengths = np.fromiter(map(len, routes), dtype=np.int64, count=len(routes))
    link = np.fromiter(chain.from_iterable(routes), dtype=np.int64, count=int(lengths.sum()))
    start = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    return Routes(link, np.repeat(np.arange(len(routes), dtype=np.int64), lengths), start)
