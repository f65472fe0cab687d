"""From the duals of the linear program to whole-number prices that the checker accepts.

Any prices that are not negative prove something, so rounding is harmless: prices of links are rounded up, payments of
flows down, and where flows would still pay more for a hop than its links cost, all of them pay less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from syccl.bounds.window.builder import Floats
from syccl.bounds.window.drive import Solved, Windows
from syccl.bounds.window.fabric import Longs
from syccl.bounds.window.flows import Classes, Family
from syccl.collective import Op
from syccl.proof import Certificate, Priced, Share, verify_certificate
from syccl.proof import Completion as ProofCompletion
from syccl.proof import Family as ProofFamily
from syccl.proof import Flow as ProofFlow
from syccl.proof.ways import Ways, ways_of
from syccl.symmetry.generators import Moves
from syccl.topology import Topology

LARGEST = 1 << 30
"""The largest price."""

_SAFE = 1 - 1e-9
_LEAST = 1e-30


def proven(topology: Topology, op: Op, job: tuple[int, int], found: tuple[Windows, Solved]) -> Certificate | None:
    """Return a proof, checked in exact numbers, that a job takes longer than a solved horizon; None where it fails.

    Parameters
    ----------
    job
        Size in bytes and root.
    found
        The programs of the collective, and one whose payload falls short.
    """
    made = _Maker(topology, *found).certificate(op, *job)
    return None if verify_certificate(made) else made


class _Raw(NamedTuple):
    """Prices in floating point, the largest ``LARGEST``: of one wire or hop of a class, by interval."""

    wires: Floats
    flows: tuple[tuple[Floats, ...], ...]
    shared: Floats | None = None
    before: tuple[tuple[Floats, ...], ...] = ()
    after: tuple[tuple[Floats, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class _Maker:
    topology: Topology
    windows: Windows
    solved: Solved

    def certificate(self, op: Op, size: int, root: int) -> Certificate:
        links = [
            Priced(self._links(wire_class), price) for wire_class, price in enumerate(self.wire_prices) if price.any()
        ]
        families, completion = [], None
        for number, family in enumerate(self.windows.families):
            if family.shares:
                made, budget = self._family(number, family)
                families.append(made)
                completion = self._completion(family, budget) if self.windows.completion else None
        symmetry = _rows(self.windows.moves)
        grid = self.solved.grid.points
        return Certificate(self.topology, op, size, root, grid, symmetry, tuple(links), tuple(families), completion)

    def _links(self, wire_class: int) -> Longs:
        members = self.windows.fabric.members
        inside = np.flatnonzero(self.windows.wires.label == wire_class).tolist()
        return np.array(sorted(link for wire in inside for link in members[wire]), dtype=np.int64)

    @cached_property
    def raw(self) -> _Raw:
        """Prices from the duals of the program's rows, each shared out among all the rows that it stands for."""
        duals, layout = self.solved.solution.duals, self.solved.layout

        def paid(table: Longs, copies: Longs) -> Floats:
            return np.where(table >= 0, np.maximum(duals[table], 0), 0) / copies[:, None]

        wires = np.maximum(-duals[layout.capacity], 0) / self.windows.wires.size[:, None]
        flows = tuple(
            tuple(
                paid(table, family.count * flow.count * flow.hops.size)
                for flow, table in zip(family.flows, tables, strict=False)
            )
            for family, tables in zip(self.windows.families, layout.copies, strict=True)
        )
        found = _Raw(wires, flows)
        if layout.completion and self.windows.completion:
            ends = self.windows.completion.ends
            before, after = (
                tuple(
                    tuple(paid(table, end.count * end.hops.size) for end, table in zip(ends, tables, strict=True))
                    for tables in side
                )
                for side in (layout.completion.before, layout.completion.after)
            )
            shared = paid(layout.completion.shared, self.windows.families[0].hops.size)
            found = _Raw(wires, flows, shared, before, after)
        return _scaled(found)

    @cached_property
    def wire_prices(self) -> Longs:
        """Whole prices of a wire, shape ``(classes of wires, intervals)``."""
        return np.ceil(self.raw.wires * _SAFE).astype(np.int64)

    @cached_property
    def hop_prices(self) -> Longs:
        """What the wires of each hop cost a byte, shape ``(hops, intervals)``; of fast wires the least price so far."""
        fabric, grid = self.windows.fabric, self.solved.grid
        begin = fabric.distance[self.windows.sources].min(axis=0)[fabric.tail]
        is_open = grid.end[None, :] > begin[:, None]
        label = np.append(self.windows.wires.label, len(self.wire_prices))
        prices = np.concatenate([self.wire_prices, np.zeros((1, grid.intervals), dtype=np.int64)])
        total = np.zeros(is_open.shape, dtype=np.int64)
        for step in range(fabric.wires.shape[1]):
            price = prices[label[fabric.wires[:, step]]]
            least = np.minimum.accumulate(np.where(is_open, price, LARGEST * 2), axis=1)
            total += np.where(fabric.slowest[:, step, None] | ~is_open, price, least)
        return total

    def _family(self, number: int, family: Family) -> tuple[ProofFamily, Longs]:
        """Return what flows pay, and what is left for a completion to spend on each hop by class."""
        paid = [np.floor(table).astype(np.int64) for table in self.raw.flows[number]]
        shared = np.zeros((len(family.hops.first), self.solved.grid.intervals), dtype=np.int64)
        if self.raw.shared is not None:
            shared = np.floor(self.raw.shared).astype(np.int64)
        owed = shared * family.hops.size[:, None]
        inside = [family.hops.label[flow.hops.first] for flow in family.flows]
        for flow, group, table in zip(family.flows, inside, paid, strict=True):
            np.add.at(owed, group, flow.count * flow.hops.size[:, None] * table)
        part = _affordable(owed, self.hop_prices[family.hops.first] * family.hops.size[:, None])
        flows = []
        for flow, group, table in zip(family.flows, inside, paid, strict=True):
            prices = self._priced(flow.hops, np.floor(table * part[group]).astype(np.int64))
            flows.append(ProofFlow(int(flow.sources[0]), int(flow.sinks[0]), prices))
        return ProofFamily(_rows(family.moves), tuple(flows)), np.floor(shared * part).astype(np.int64)

    def _completion(self, family: Family, budget: Longs) -> ProofCompletion | None:
        layout, completion = self.solved.layout.completion, self.windows.completion
        if layout is None or completion is None:
            return None
        before, after = (self._shares(family, budget, side) for side in (self.raw.before, self.raw.after))
        return ProofCompletion(completion.part, layout.times, self._priced(family.hops, budget), before, after)

    def _shares(self, family: Family, budget: Longs, side: tuple[tuple[Floats, ...], ...]) -> tuple[Share, ...]:
        """Return what ranks pay in all classes of time on one side of the moment."""
        ends = self.windows.completion.ends if self.windows.completion else ()
        inside = [family.hops.label[end.hops.first] for end in ends]
        shares = []
        for number, tables in enumerate(side):
            paid = [np.floor(table).astype(np.int64) for table in tables]
            owed = np.zeros(budget.shape, dtype=np.int64)
            for end, group, table in zip(ends, inside, paid, strict=True):
                np.add.at(owed, group, end.count * end.hops.size[:, None] * table)
            part = _affordable(owed, budget * family.hops.size[:, None])
            for end, group, table in zip(ends, inside, paid, strict=True):
                prices = self._priced(end.hops, np.floor(table * part[group]).astype(np.int64))
                shares.append(Share(number, end.rank, prices))
        return tuple(shares)

    def _priced(self, hops: Classes, prices: Longs) -> tuple[Priced, ...]:
        """Return prices of hops by class as prices of ways."""
        ways = hops.label[self.hop_of_way]
        order = np.argsort(ways, kind="stable")
        ends = np.searchsorted(ways[order], np.arange(len(prices) + 1))
        return tuple(Priced(order[ends[i] : ends[i + 1]], price) for i, price in enumerate(prices) if price.any())

    @cached_property
    def hop_of_way(self) -> Longs:
        """The hop that each way of the topology belongs to, shape ``(ways,)``."""
        fabric = self.windows.fabric
        wire = np.full(len(self.topology.links) + 1, len(fabric.rate), dtype=np.int64)
        for i, members in enumerate(fabric.members):
            wire[list(members)] = i
        known = {tuple(row): i for i, row in enumerate(fabric.wires.tolist())}
        ways: Ways = ways_of(self.topology)
        return np.array([known[self._straight(row)] for row in wire[ways.links].tolist()], dtype=np.int64)

    def _straight(self, wires: list[int]) -> tuple[int, ...]:
        """Return wires without what lies between two visits of one node, padded as hops are."""
        fabric = self.windows.fabric
        kept: list[int] = []
        for wire in wires:
            if wire == len(fabric.rate):
                break
            start = fabric.thin.ends[wire][0]
            begins = [fabric.thin.ends[earlier][0] for earlier in kept]
            del kept[begins.index(start) if start in begins else len(kept) :]
            kept.append(wire)
        return (*kept, *(len(fabric.rate) for _ in range(fabric.wires.shape[1] - len(kept))))


def _rows(moves: Moves) -> tuple[Longs, ...]:
    return tuple(move.astype(np.int64) for move in moves)


def _scaled(raw: _Raw) -> _Raw:
    """Return prices of which the largest is ``LARGEST``; all 0 where there are none."""
    tables = [raw.wires, *(paid for row in (*raw.flows, *raw.before, *raw.after) for paid in row)]
    tables += [] if raw.shared is None else [raw.shared]
    largest = max(table.max(initial=0) for table in tables)
    scale = LARGEST / largest if largest > _LEAST else 0.0
    flows, before, after = (
        tuple(tuple(paid * scale for paid in row) for row in side) for side in (raw.flows, raw.before, raw.after)
    )
    return _Raw(raw.wires * scale, flows, None if raw.shared is None else raw.shared * scale, before, after)


def _affordable(owed: Longs, cost: Longs) -> Floats:
    """Return the part of what is owed that can be paid."""
    return np.asarray(np.where(owed > cost, cost * _SAFE / np.maximum(owed, 1), 1.0))
