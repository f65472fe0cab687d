"""Which GPUs of a cluster gather fastest: k of n by the bandwidth bound of an allgather among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from syccl.bounds.bandwidth import allgather_bound
from syccl.bounds.network import Network
from syccl.symmetry.automorphisms import find_group
from syccl.topology import Topology
from syccl.topology.check import disconnected_parts
from syccl.topology.damage import subset

_ALL_COMPARED = 300
"""Choices up to symmetry that are compared one by one."""


@dataclass(frozen=True)
class Chosen:
    """Ranks, ascending, and whether no other choice is better."""

    ranks: tuple[int, ...]
    is_proven: bool


def best_subset(topology: Topology, count: int) -> Chosen:
    """Return ``count`` ranks among which an allgather has the least bandwidth bound.

    All choices are compared, one of each class under the symmetries found, where that is little work; else ranks are
    exchanged one at a time, from a start of near ranks, until no exchange helps.
    """
    if count == topology.ranks:
        return Chosen(tuple(range(count)), True)
    if math.comb(topology.ranks, count) <= _ALL_COMPARED * find_group(topology).order:
        return Chosen(min(_classes(topology, count), key=lambda ranks: (_cost(topology, ranks), ranks)), True)
    return Chosen(_improved(topology, count), False)


def _classes(topology: Topology, count: int) -> Iterator[tuple[int, ...]]:
    """Yield the least of every class of choices under the symmetries."""
    images = find_group(topology).ranks.tolist()
    for ranks in combinations(range(topology.ranks), count):
        if all(tuple(sorted(image[rank] for rank in ranks)) >= ranks for image in images):
            yield ranks


def _cost(topology: Topology, ranks: Sequence[int]) -> Fraction | float:
    part = subset(topology, ranks)
    if len(ranks) < 2:
        return 0.0
    if disconnected_parts(part):
        return math.inf
    # A shard each, so seconds per byte of a shard: the share of the size in a subset's bound times its ranks.
    return allgather_bound(Network.of(part), tuple(range(len(ranks)))).seconds_per_byte * len(ranks)


def _improved(topology: Topology, count: int) -> tuple[int, ...]:
    best = tuple(range(count))
    cost = _cost(topology, best)
    improving = True
    while improving:
        improving = False
        for out in best:
            for rank in range(topology.ranks):
                other = tuple(sorted({*best, rank} - {out}))
                if len(other) == count and rank not in best and _cost(topology, other) < cost:
                    best, cost, improving = other, _cost(topology, other), True
                    break
            if improving:
                break
    return best
