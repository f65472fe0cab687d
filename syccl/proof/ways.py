"""All ways from GPU to GPU through NICs and switches, and how symmetries move them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.topology import Topology

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST = 100_000
"""More ways than this are not checked."""

NEVER = 1 << 60
"""Alpha, in picoseconds, where there is no way."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Every path from GPU to GPU that passes no GPU and no node twice.

    Ways are numbered by the rank that they start from, then by their links' ids.

    Parameters
    ----------
    ranks
        Number of GPUs.
    tail, head, alpha
        Ranks and sum of latencies (picoseconds) of each way, shape ``(ways,)``.
    links
        Links of each way, shape ``(ways, longest)``; the number of links of the topology where there is none.
    slowest
        Whether a link is as slow as any of its way, shape ``(ways, longest)``.
    """

    ranks: int
    tail: Longs
    head: Longs
    alpha: Longs
    links: Longs
    slowest: Mask

    @cached_property
    def distance(self) -> Longs:
        """Least alpha from rank to rank by way of any GPUs, picoseconds, shape ``(ranks, ranks)``."""
        table = np.full((self.ranks, self.ranks), NEVER, dtype=np.int64)
        table[np.arange(self.ranks), np.arange(self.ranks)] = 0
        np.minimum.at(table, (self.tail, self.head), self.alpha)
        for middle in range(self.ranks):
            table = np.minimum(table, np.minimum(table[:, [middle]] + table[[middle], :], NEVER))
        return table

    def moved(self, link_images: Longs) -> Longs | None:
        """Return where a permutation of links sends each way; None if one is sent to no way."""
        images = np.append(link_images, len(link_images))[self.links]
        here, there = np.lexsort(self.links.T[::-1]), np.lexsort(images.T[::-1])
        if not np.array_equal(self.links[here], images[there]):
            return None
        image = np.empty(len(here), dtype=np.int64)
        image[there] = here
        return image


@lru_cache(maxsize=8)
def ways_of(topology: Topology) -> Ways:
    """Return all ways of a topology.

    Raises
    ------
    InputError
        When there are more than ``MOST``.
    """
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for rank, gpu in enumerate(topology.gpus):
        mine: list[tuple[int, ...]] = []
        _walk(topology, [gpu], [], mine)
        if len(found) + len(mine) > MOST:
            msg = f"{topology.name!r} has more than {MOST} ways from GPU to GPU; such proofs are not checked"
            raise InputError(msg)
        found += [(rank, topology.rank_of[topology.links[way[-1]].dst], way) for way in sorted(mine)]
    longest, none = max((len(way) for _, _, way in found), default=1), len(topology.links)
    links = np.array([way + (none,) * (longest - len(way)) for _, _, way in found], dtype=np.int64).reshape(-1, longest)
    rates = np.array([*(link.rate for link in topology.links), NEVER], dtype=np.int64)[links]
    latencies = np.array([*(link.latency_ps for link in topology.links), 0], dtype=np.int64)[links]
    tail, head = (np.array([way[i] for way in found], dtype=np.int64) for i in (0, 1))
    slowest = (rates == rates.min(axis=1, keepdims=True)) & (links < none)
    return Ways(topology.ranks, tail, head, latencies.sum(axis=1), links, slowest)


def _walk(topology: Topology, passed: list[int], way: list[int], found: list[tuple[int, ...]]) -> None:
    """Collect all ways that go on from a path."""
    for i in topology.out_links[passed[-1]]:
        node = topology.links[i].dst
        if node in passed or len(found) > MOST:
            continue
        if topology.is_gpu(node):
            found.append((*way, i))
        else:
            _walk(topology, [*passed, node], [*way, i], found)
