"""From the duals of the linear program to whole-number prices that the checker accepts.

Any prices that are not negative prove something, so rounding is harmless: prices of links are rounded up, payments of
flows down, and where flows would still pay more for a hop than its links cost, all of them pay less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syccl.bounds.window.drive import Solved, Windows
from syccl.bounds.window.fabric import Longs
from syccl.bounds.window.flows import Family
from syccl.bounds.window.program import Floats
from syccl.collective import Op
from syccl.proof import Certificate, Priced, verify_certificate
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


@dataclass(frozen=True, eq=False)
class _Maker:
    topology: Topology
    windows: Windows
    solved: Solved

    def certificate(self, op: Op, size: int, root: int) -> Certificate:
        links = [
            Priced(self._links(wire_class), price) for wire_class, price in enumerate(self.wire_prices) if price.any()
        ]
        families = [
            self._family(number, family) for number, family in enumerate(self.windows.families) if family.shares
        ]
        symmetry = _rows(self.windows.moves)
        grid = self.solved.grid.points
        return Certificate(self.topology, op, size, root, grid, symmetry, tuple(links), tuple(families))

    def _links(self, wire_class: int) -> Longs:
        members = self.windows.fabric.members
        inside = np.flatnonzero(self.windows.wires.label == wire_class).tolist()
        return np.array(sorted(link for wire in inside for link in members[wire]), dtype=np.int64)

    @cached_property
    def _duals(self) -> tuple[Floats, tuple[tuple[Floats, ...], ...]]:
        """Prices of a wire by class, and payments of every flow for a hop by class; the largest is ``LARGEST``."""
        duals, layout = self.solved.solution.duals, self.solved.layout
        wires = np.maximum(-duals[layout.capacity], 0) / self.windows.wires.size[:, None]
        flows = []
        for family, tables in zip(self.windows.families, layout.copies, strict=True):
            row = []
            for flow, table in zip(family.flows, tables, strict=False):
                paid = np.where(table >= 0, np.maximum(duals[table], 0), 0)
                row.append(paid / (family.count * flow.count * flow.hops.size[:, None]))
            flows.append(tuple(row))
        largest = max([wires.max(initial=0), *(paid.max(initial=0) for row in flows for paid in row)])
        scale = LARGEST / largest if largest > _LEAST else 0.0
        return wires * scale, tuple(tuple(paid * scale for paid in row) for row in flows)

    @cached_property
    def wire_prices(self) -> Longs:
        """Whole prices of a wire, shape ``(classes of wires, intervals)``."""
        return np.ceil(self._duals[0] * _SAFE).astype(np.int64)

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

    def _family(self, number: int, family: Family) -> ProofFamily:
        paid = [np.floor(table).astype(np.int64) for table in self._duals[1][number]]
        owed = np.zeros((len(family.hops.first), self.solved.grid.intervals), dtype=np.int64)
        inside = [family.hops.label[flow.hops.first] for flow in family.flows]
        for flow, group, table in zip(family.flows, inside, paid, strict=True):
            np.add.at(owed, group, flow.count * flow.hops.size[:, None] * table)
        cost = self.hop_prices[family.hops.first] * family.hops.size[:, None]
        part = np.where(owed > cost, cost * _SAFE / np.maximum(owed, 1), 1.0)
        flows = []
        for flow, group, table in zip(family.flows, inside, paid, strict=True):
            afforded = np.floor(table * part[group]).astype(np.int64)
            ways = flow.hops.label[self.hop_of_way]
            order = np.argsort(ways, kind="stable")
            ends = np.searchsorted(ways[order], np.arange(len(afforded) + 1))
            rows = [Priced(order[ends[i] : ends[i + 1]], price) for i, price in enumerate(afforded) if price.any()]
            flows.append(ProofFlow(int(flow.sources[0]), int(flow.sinks[0]), tuple(rows)))
        return ProofFamily(_rows(family.moves), tuple(flows))

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
