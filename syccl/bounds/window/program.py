"""The linear program: the largest payload that can be delivered within a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syccl.bounds.window.builder import Builder
from syccl.bounds.window.completion import Completion, CompletionLayout, add_completion
from syccl.bounds.window.fabric import FAR, Fabric, Longs, Mask
from syccl.bounds.window.flows import Classes, Family, Flow
from syccl.bounds.window.grid import Grid
from syccl.optimize.linear import LinearProgram

PS_PER_US = 1e6
BYTES_PER_US = 1e-9
"""Thousands of bytes a microsecond of one byte a second."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where to find things in the program: rows of copies by family and flow, and rows of wires.

    Parameters
    ----------
    copies
        For every family and flow the row of every (class of hops, interval), -1 where there is none.
    capacity
        Row of every (class of wires, interval).
    wires
        Classes of wires.
    """

    copies: tuple[tuple[Longs, ...], ...]
    capacity: Longs
    wires: Classes
    completion: CompletionLayout | None = None


def window_program(
    fabric: Fabric, families: tuple[Family, ...], grid: Grid, *, wires: Classes, completion: Completion | None = None
) -> tuple[LinearProgram, Layout]:
    """Return the program whose least objective is minus the largest payload (thousands of bytes).

    Parameters
    ----------
    wires
        Classes of wires.
    completion
        For an allreduce, a partition whose rows are added.
    """
    builder = Builder()
    payload = builder.variables(np.ones(1, dtype=np.bool_))
    loads: list[Longs] = []
    copies: list[tuple[Longs, ...]] = []
    for family in families:
        places = [_flow(builder, fabric, flow, (grid, payload)) for flow in family.flows]
        if not family.shares:
            loads.append(places[0])
            copies.append(())
            continue
        all_times = grid.arrival(fabric.alpha[family.hops.first]) < grid.intervals
        sent, rows = _shared(builder, family, places, all_times if completion else all_times & False)
        loads.append(sent)
        copies.append(rows)
    capacity = _capacity(builder, (fabric, wires, grid), families, loads)
    more = None
    if completion:
        more = add_completion(builder, (fabric, grid, payload), families[0], (completion, loads[0]))
    objective = np.zeros(builder.columns)
    objective[payload] = -1
    return builder.program(objective), Layout(tuple(copies), capacity, wires, more)


def usable(fabric: Fabric, flow: Flow, grid: Grid) -> Mask:
    """Return when hops can carry a flow, by class of hops and interval."""
    tail, head, alpha = fabric.tail[flow.hops.first], fabric.head[flow.hops.first], fabric.alpha[flow.hops.first]
    before = fabric.distance[flow.sources].min(axis=0)[tail]
    after = fabric.distance[:, flow.sinks].min(axis=1)[head]
    reachable = (before < FAR) & (after < FAR)
    back = np.zeros(len(tail), dtype=np.bool_)
    if len(flow.sources) == 1:
        back |= head == flow.sources[0]
    if len(flow.sinks) == 1:
        back |= tail == flow.sinks[0]
    early = grid.end[None, :] > before[:, None]
    late = grid.begin[None, :] < (grid.horizon - np.minimum(alpha + after, grid.horizon))[:, None]
    return np.asarray((reachable & ~back)[:, None] & early & late)


def _flow(builder: Builder, fabric: Fabric, flow: Flow, time: tuple[Grid, Longs]) -> Longs:
    """Add a flow and its conservation; return its variables by (class of hops, interval)."""
    grid, payload = time
    k, ranks, hops = grid.intervals, flow.ranks, flow.hops
    amount = builder.variables(usable(fabric, flow, grid))
    stored = builder.variables(np.ones((len(ranks.first), k), dtype=np.bool_))
    balance = builder.constraints(stored.shape, 0.0, 0.0)
    builder.add(balance, stored, 1.0)
    builder.add(balance[:, 1:], stored[:, :-1], -1.0)
    builder.add(balance[:, 0], payload, -flow.supply[ranks.first].astype(float))
    tail, head = ranks.label[fabric.tail[hops.first]], ranks.label[fabric.head[hops.first]]
    builder.add(balance[tail], amount, (hops.size / ranks.size[tail])[:, None])
    arrival = grid.arrival(fabric.alpha[hops.first])
    arriving = np.where(arrival < k, balance[head[:, None], np.minimum(arrival, k - 1)], -1)
    builder.add(arriving, amount, -(hops.size / ranks.size[head])[:, None])
    wanting = np.flatnonzero(flow.absorb[ranks.first])
    served = builder.constraints((len(wanting),), 0.0, np.inf)
    builder.add(served, stored[wanting, -1], 1.0)
    builder.add(served, payload, -flow.absorb[ranks.first][wanting].astype(float))
    return amount


def _shared(builder: Builder, family: Family, amounts: list[Longs], needed: Mask) -> tuple[Longs, tuple[Longs, ...]]:
    """Add what a family sends, as much as any of its flows needs; return it, and the rows that say so."""
    inside = [family.hops.label[flow.hops.first] for flow in family.flows]
    for group, amount in zip(inside, amounts, strict=True):
        np.logical_or.at(needed, group, amount >= 0)
    sent = builder.variables(needed)
    rows = []
    for group, amount in zip(inside, amounts, strict=True):
        table = np.full(amount.shape, -1, dtype=np.int64)
        table[amount >= 0] = builder.constraints((int((amount >= 0).sum()),), 0.0, np.inf)
        builder.add(table, sent[group], 1.0)
        builder.add(table, amount, -1.0)
        rows.append(table)
    return sent, tuple(rows)


def _capacity(
    builder: Builder, place: tuple[Fabric, Classes, Grid], families: tuple[Family, ...], loads: list[Longs]
) -> Longs:
    """Add what wires carry at most in every interval; return the rows by (class of wires, interval).

    A byte crosses the slowest wires of its hop last, at the time that the hop's variable counts. It crossed faster ones
    at that time or before: these get a variable of their own, never behind in sum.
    """
    fabric, wires, grid = place
    shape = (len(wires.first), grid.intervals)
    lasting = (grid.end - grid.begin) / PS_PER_US
    most = (fabric.rate[wires.first] * BYTES_PER_US)[:, None] * lasting
    rows = builder.constraints(shape, -np.inf, most)
    passed = _ahead(builder, _first_use(place, families, loads), rows)
    label = np.append(wires.label, -1)
    for family, load in zip(families, loads, strict=True):
        first, share = family.hops.first, family.count * family.hops.size
        for step in range(fabric.wires.shape[1]):
            on, slow = label[fabric.wires[first, step]], fabric.slowest[first, step]
            weight = (share / wires.size[on])[:, None]
            builder.add(np.where(((on >= 0) & slow)[:, None], rows[on], -1), load, weight)
            builder.add(np.where(((on >= 0) & ~slow)[:, None], passed[on], -1), load, -weight)
    return rows


def _first_use(place: tuple[Fabric, Classes, Grid], families: tuple[Family, ...], loads: list[Longs]) -> Longs:
    """Return the first interval in which a hop starts that is slower than the wire; the number of intervals if none."""
    fabric, wires, grid = place
    first_use = np.full(len(wires.first) + 1, grid.intervals, dtype=np.int64)
    label = np.append(wires.label, len(wires.first))
    for family, load in zip(families, loads, strict=True):
        begins = np.where((load >= 0).any(axis=1), (load >= 0).argmax(axis=1), grid.intervals)
        on = np.where(fabric.slowest[family.hops.first], len(wires.first), label[fabric.wires[family.hops.first]])
        np.minimum.at(first_use, on, begins[:, None])
    return first_use[:-1]


def _ahead(builder: Builder, first_use: Longs, rows: Longs) -> Longs:
    """Add what crosses fast wires, and by how much it is ahead; return the rows that say so, -1 where there is none."""
    mask = np.arange(rows.shape[1])[None, :] >= first_use[:, None]
    crossing, lead = builder.variables(mask), builder.variables(mask)
    passed = np.full(rows.shape, -1, dtype=np.int64)
    passed[mask] = builder.constraints((int(mask.sum()),), 0.0, 0.0)
    builder.add(rows, crossing, 1.0)
    builder.add(passed, crossing, 1.0)
    builder.add(passed, lead, -1.0)
    builder.add(passed[:, 1:], lead[:, :-1], 1.0)
    return passed
