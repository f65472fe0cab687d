"""The time-window bound: the largest time within which a payload cannot be delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from syccl.bounds.window.fabric import FAR, Fabric, Longs, fabric_of
from syccl.bounds.window.flows import Classes, Family, Flow, families
from syccl.bounds.window.grid import POINTS, Grid, grid_of
from syccl.bounds.window.program import Layout, window_program
from syccl.optimize.linear import LinearProgram, LinearSolution, solve_linear
from syccl.optimize.status import Status
from syccl.symmetry.generators import Moves, orbit_labels
from syccl.topology import Topology

KILO = 1e3
"""Bytes in the program's unit of payload."""

MOST_COLUMNS = 20_000
"""Larger programs are cut to fewer flows."""

_TOLERANCE = 5e-4
_STEPS = 10
_GROWTH = 1.25
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Solved:
    """The program of one horizon and its solution."""

    grid: Grid
    program: LinearProgram
    layout: Layout
    solution: LinearSolution

    @property
    def payload(self) -> float:
        """Bytes that no schedule can exceed within the horizon."""
        return -self.solution.objective * KILO * (1 + _ROUNDING)


@dataclass(frozen=True, eq=False)
class Windows:
    """All time-window programs of a collective on one topology, solved when asked for and kept.

    The largest payload within a time does not depend on the message size, so one cache serves all sizes.
    """

    fabric: Fabric
    families: tuple[Family, ...]
    wires: Classes
    sources: Longs
    """Ranks that hold data at the start."""
    moves: Moves
    """Symmetries of the job, as permutations of nodes."""
    solved: dict[int, Solved | None] = field(default_factory=dict)

    def at(self, horizon: int) -> Solved | None:
        """Return the program of a horizon (picoseconds), solved; None where the solver failed."""
        if horizon not in self.solved:
            grid = grid_of(self.fabric.alpha.tolist(), horizon)
            program, layout = window_program(self.fabric, self.families, self.wires, grid)
            solution = solve_linear(program)
            good = solution.status is Status.OPTIMAL
            self.solved[horizon] = Solved(grid, program, layout, solution) if good else None
        return self.solved[horizon]

    def latest_short(self, payload: float, start: int) -> Solved | None:
        """Return the latest program found, from a start on, within whose horizon a payload (bytes) cannot be delivered.

        None where it can be by the start already.
        """
        return latest_short(self.at, payload, start)


@lru_cache(maxsize=32)
def windows(topology: Topology, op: str, root: int) -> Windows | None:
    """Return the time-window programs of a collective; None where they would be too large or data cannot get there."""
    fabric = fabric_of(topology)
    if fabric is None or fabric.ranks < 2:
        return None
    found = _chosen(fabric, families(fabric, op, root))
    flows = [flow for family in found for flow in family.flows]
    if not flows or any((fabric.distance[flow.sources][:, flow.sinks] >= FAR).any() for flow in flows):
        return None
    rooted = op in {"broadcast", "reduce", "scatter", "gather"}
    moves = found[0].moves if rooted else fabric.nodes
    wires = Classes.of(orbit_labels(fabric.on_wires(moves), len(fabric.rate)))
    sources = np.array([root]) if op in {"broadcast", "scatter"} else np.arange(fabric.ranks)
    return Windows(fabric, found, wires, sources, moves)


def _chosen(fabric: Fabric, found: tuple[Family, ...]) -> tuple[Family, ...]:
    """Return families with as many flows as a small program holds, the farthest of each first; fewer bound less."""
    ranked = [
        sorted(family.flows, key=lambda flow: -int(fabric.distance[flow.sources][:, flow.sinks].max()))
        for family in found
    ]
    left = MOST_COLUMNS - POINTS * sum(len(family.hops.first) for family in found)
    kept: list[list[Flow]] = [[] for _ in found]
    for turn in range(max(map(len, ranked), default=0)):
        for flows, chosen in zip(ranked, kept, strict=True):
            if turn < len(flows):
                left -= POINTS * (len(flows[turn].hops.first) + len(flows[turn].ranks.first))
                if left >= 0:
                    chosen.append(flows[turn])
    return tuple(replace(family, flows=tuple(flows)) for family, flows in zip(found, kept, strict=True) if flows)


def latest_short(at: Callable[[int], Solved | None], payload: float, start: int) -> Solved | None:
    """Return the program of the latest horizon found, from a start on, whose payload falls short of the given one.

    False position; every third step halves the bracket.
    """
    best = at(start)
    if best is None or best.payload >= payload:
        return None
    low, low_gap = start, payload - best.payload
    high, high_gap = 0, 0.0
    for step in range(_STEPS):
        if high and high <= low * (1 + _TOLERANCE):
            break
        if not high:
            guess = int(low * (_GROWTH**step if step else 1 + min(_GROWTH - 1, low_gap / payload + _TOLERANCE))) + 1
        elif step % 3 == 2:
            guess = (low + high) // 2
        else:
            guess = low + int((high - low) * low_gap / (low_gap + high_gap))
            guess = min(max(guess, low + (high - low) // 50), high - (high - low) // 50)
        found = at(guess)
        if found is None:
            break
        if found.payload < payload:
            best, low, low_gap = found, guess, payload - found.payload
        else:
            high, high_gap = guess, found.payload - payload
    return best
