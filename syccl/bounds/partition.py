"""AllReduce across partitions: each part must hand something out and take something in.

Without reduction in switches, every byte takes at least ``2 (p - 1)`` transfers between the ``p`` parts of a partition
of the GPUs: until the first part knows the whole sum each other part has sent (``p - 1``), afterwards each other part
still receives (``p - 1``). A transfer into a part crosses that part's least cut, so
``time >= 2 (p - 1) size / sum of the parts' cuts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.bounds.network import Crossing, Network
from syccl.optimize.flow import LARGEST_TOTAL, FlowNetwork
from syccl.symmetry.group import Group

Parts = tuple[tuple[int, ...], ...]
"""Ranks of every part; each rank in exactly one."""


class PartitionCut(NamedTuple):
    """The cuts into all parts of a partition."""

    parts: Parts
    rate: int
    """Bandwidth of all the cuts together, bytes per second."""
    into_first: Crossing
    """The cut into the first part."""

    @property
    def ratio(self) -> Fraction:
        """Transfers between parts per byte, one way, over bandwidth: seconds per byte."""
        return Fraction(len(self.parts) - 1, self.rate)


def singletons(ranks: int) -> Parts:
    """Return the partition into single ranks."""
    return tuple((rank,) for rank in range(ranks))


def _images(parts: Parts, group: Group) -> NDArray[np.int64]:
    """Return the part that each element sends each rank into, and check nothing."""
    part_of = np.empty(sum(map(len, parts)), dtype=np.int64)
    for i, part in enumerate(parts):
        part_of[list(part)] = i
    return part_of[group.ranks]


def permutes(parts: Parts, group: Group) -> bool:
    """Return whether every element of a group sends every part onto a part."""
    images = _images(parts, group)
    part_of = images[0]
    firsts = [part[0] for part in parts]
    return np.array_equal(images, images[:, firsts][:, part_of])


def representatives(parts: Parts, group: Group) -> tuple[tuple[int, int], ...]:
    """Return (position, multiplicity) of one part of each orbit; every part by itself where parts are not permuted."""
    if not permutes(parts, group):
        return tuple((i, 1) for i in range(len(parts)))
    least, counts = np.unique(_images(parts, group)[:, [part[0] for part in parts]].min(axis=0), return_counts=True)
    return tuple(zip(least.tolist(), counts.tolist(), strict=True))


def into_parts(network: Network, parts: Parts, group: Group) -> PartitionCut:
    """Return the least cuts into all parts of a partition, one max-flow for each orbit of parts."""
    rate, first = 0, None
    for i, count in representatives(parts, group):
        cut = network.cut(outside(parts[i], network.ranks), parts[i])
        rate += count * cut.rate
        first = first or cut
    if first is None:
        first = network.leaving(np.zeros(network.nodes, dtype=np.bool_))
    return PartitionCut(parts, rate, first)


def outside(ranks: Sequence[int], total: int) -> tuple[int, ...]:
    """Return all other ranks."""
    inside = set(ranks)
    return tuple(rank for rank in range(total) if rank not in inside)


def levels_above(alphas: NDArray[np.int64], parts: Parts) -> tuple[Parts, ...]:
    """Return coarser partitions: what is joined where alphas up to each of the thresholds that matter are used.

    Parameters
    ----------
    alphas
        Least alpha between ranks, picoseconds, shape ``(ranks, ranks)``.
    parts
        The finest partition; the result joins its parts and leaves at least two.
    """
    between = _alphas_between(alphas, parts)
    found: list[Parts] = []
    labels = np.arange(len(parts))
    for threshold in np.unique(between[~np.eye(len(parts), dtype=np.bool_)]).tolist():
        joined = _components(between <= threshold)
        if joined.max(initial=0) == 0:
            break
        if not np.array_equal(joined, labels):
            labels = joined
            members = [[r for i in np.flatnonzero(labels == k) for r in parts[i]] for k in range(labels.max() + 1)]
            found.append(tuple(tuple(sorted(m)) for m in members))
    return tuple(found)


def _alphas_between(alphas: NDArray[np.int64], parts: Parts) -> NDArray[np.int64]:
    """Return the least alpha between parts in either direction, shape ``(parts, parts)``."""
    order = [rank for part in parts for rank in part]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    least = np.minimum.reduceat(alphas[np.ix_(order, order)], starts, axis=0)
    least = np.minimum.reduceat(least, starts, axis=1)
    return np.minimum(least, least.T)


def _components(joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the component of each point, numbered by least member."""
    label = np.arange(len(joined))
    while True:
        least = np.where(joined, label, len(joined)).min(axis=1)
        least = np.minimum(label, least)
        if np.array_equal(least, label):
            return np.unique(label, return_inverse=True)[1].astype(np.int64)
        label = least


def densest_partition(network: Network, start: PartitionCut) -> PartitionCut:
    """Return the partition of the largest (parts - 1) / (bandwidth into parts), from a first guess on.

    Newton steps on the ratio; each finds the best partition for a given ratio by Dilworth truncation of the cut
    function, one min-cut a rank (Narayanan, "The principal lattice of partitions of a submodular function", 1991).
    """
    best = start
    while True:
        parts = _truncation(network, best.ratio * network.unit)
        if parts is None or len(parts) < 2:
            return best
        cuts = [network.cut(outside(part, network.ranks), part) for part in parts]
        better = PartitionCut(parts, sum(cut.rate for cut in cuts), cuts[0])
        if better.ratio <= best.ratio:
            return best
        best = better


def _truncation(network: Network, ratio: Fraction) -> Parts | None:
    """Return the partition that minimises the sum of (ratio * cut into part - 1); None where numbers grow too large."""
    p, q = ratio.numerator, ratio.denominator
    capacities = network.rates // network.unit
    n, source, sink = network.ranks, network.nodes, network.nodes + 1
    forced = p * int(capacities.sum()) + n * q + 1
    if 2 * n * forced > LARGEST_TOTAL:
        return None
    tails = np.concatenate([network.tails, np.full(n, source), network.gpus])
    heads = np.concatenate([network.heads, network.gpus, np.full(n, sink)])
    flows = FlowNetwork(network.nodes + 2, tails, heads, np.concatenate([capacities * p, np.zeros(2 * n, np.int64)]))
    ports = np.arange(len(network.tails), len(tails))
    worth = np.zeros(n, dtype=np.int64)
    blocks: list[set[int]] = []
    for rank in range(n):
        gain, loss = np.maximum(worth, 0), np.maximum(-worth, 0)
        loss[rank + 1 :] = forced
        gain[rank], loss[rank] = forced, 0
        flows.set_capacities(ports, np.concatenate([loss, gain]))
        flow = flows.max_flow(source, sink)
        worth[rank] = flow.value - q - int(np.maximum(worth[:rank], 0).sum())
        tight = set(np.flatnonzero(~flow.source_side[network.gpus]).tolist())
        merged = {rank}.union(*(block for block in blocks if block & tight))
        blocks = [block for block in blocks if not block & tight] + [merged]
    return tuple(sorted(tuple(sorted(block)) for block in blocks))
