"""What must get where: flows of a collective, one for each class of alike pairs of ranks.

A *family* is a set of flows that share copies: what one source sends to all (one for each class of sources), what is
summed for one sink, or all of an allreduce. Symmetries that fix the ends of a flow make classes of hops; prices may be
taken equal within a class, since averaging over a group keeps every solution of a linear program good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syccl.bounds.window.fabric import Fabric, Longs
from syccl.symmetry.generators import Moves, orbit_labels, stabiliser


@dataclass(frozen=True, eq=False)
class Classes:
    """A partition of points.

    Parameters
    ----------
    label
        Class of each point, shape ``(points,)``.
    first
        Least member of each class, shape ``(classes,)``.
    size
        Members of each class, shape ``(classes,)``.
    """

    label: Longs
    first: Longs
    size: Longs

    @classmethod
    def of(cls, label: Longs) -> Classes:
        """Return the partition of points with equal labels."""
        _, first, label, size = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
        return cls(label.reshape(-1), first, size)


@dataclass(frozen=True, eq=False)
class Flow:
    """Data that goes from some ranks to some ranks, as multiples of the payload.

    Parameters
    ----------
    supply, absorb
        What starts and must end at each rank, shape ``(ranks,)``.
    count
        Flows of this class within the family.
    ranks, hops
        Classes under the symmetries that fix the flow's ends.
    """

    supply: Longs
    absorb: Longs
    count: int
    ranks: Classes
    hops: Classes

    @property
    def sources(self) -> Longs:
        """Ranks where data starts."""
        return np.flatnonzero(self.supply)

    @property
    def sinks(self) -> Longs:
        """Ranks where data ends."""
        return np.flatnonzero(self.absorb)


@dataclass(frozen=True, eq=False)
class Family:
    """Flows that share copies; ``hops`` are the classes for what is sent, once for all flows.

    Parameters
    ----------
    count
        Families of this class.
    shares
        Whether one transfer may serve several flows; else there is one flow, and it is what is sent.
    moves
        Symmetries that keep the family.
    """

    count: int
    hops: Classes
    flows: tuple[Flow, ...]
    shares: bool
    moves: Moves


def families(fabric: Fabric, op: str, root: int) -> tuple[Family, ...]:
    """Return the families of a collective."""
    return tuple(_Maker(fabric).families(op, root))


class _Maker:
    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def families(self, op: str, root: int) -> Iterator[Family]:
        moves = self.fabric.nodes
        ranks = self.ranks(moves)
        firsts = list(zip(ranks.first.tolist(), ranks.size.tolist(), strict=True))
        if op in {"broadcast", "reduce"}:
            yield self.shared(root, 1, out=op == "broadcast")
        elif op in {"scatter", "gather"}:
            yield self.direct(root, 1, out=op == "scatter")
        elif op in {"allgather", "reducescatter"}:
            for rank, count in firsts:
                yield self.shared(rank, count, out=op == "allgather")
        elif op == "alltoall":
            for rank, count in firsts:
                yield self.direct(rank, count, out=True)
        else:
            flows = [flow for rank, count in firsts for flow in self.pairs(rank, count, out=True)[1]]
            yield Family(1, self.hops(moves), tuple(flows), True, moves)

    def ranks(self, moves: Moves) -> Classes:
        return Classes.of(orbit_labels(self.fabric.on_ranks(moves), self.fabric.ranks))

    def hops(self, moves: Moves) -> Classes:
        return Classes.of(orbit_labels(self.fabric.on_hops(moves), self.fabric.hops))

    def fixing(self, moves: Moves, rank: int) -> Moves:
        return stabiliser(moves, int(self.fabric.thin.gpus[rank]))

    def pairs(self, rank: int, count: int, *, out: bool) -> tuple[Moves, list[Flow]]:
        """Return the symmetries that fix a rank, and the flows from (or to) it of all classes of other ranks."""
        fixing = self.fixing(self.fabric.nodes, rank)
        others = self.ranks(fixing)
        flows = []
        for other, size in zip(others.first.tolist(), others.size.tolist(), strict=True):
            if other == rank:
                continue
            both = self.fixing(fixing, other)
            source, sink = (rank, other) if out else (other, rank)
            flows.append(Flow(self.unit(source), self.unit(sink), count * size, self.ranks(both), self.hops(both)))
        return fixing, flows

    def unit(self, rank: int) -> Longs:
        vector = np.zeros(self.fabric.ranks, dtype=np.int64)
        vector[rank] = 1
        return vector

    def shared(self, rank: int, count: int, *, out: bool) -> Family:
        fixing, flows = self.pairs(rank, 1, out=out)
        return Family(count, self.hops(fixing), tuple(flows), True, fixing)

    def direct(self, rank: int, count: int, *, out: bool) -> Family:
        fixing = self.fixing(self.fabric.nodes, rank)
        many = 1 - self.unit(rank)
        one = self.unit(rank) * (self.fabric.ranks - 1)
        hops = self.hops(fixing)
        flow = Flow(one if out else many, many if out else one, 1, self.ranks(fixing), hops)
        return Family(count, hops, (flow,), False, fixing)
