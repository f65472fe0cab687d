"""The time-window bound: the largest time within which a payload cannot be delivered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from syccl.bounds.window.completion import Completion, completion_of
from syccl.bounds.window.fabric import FAR, Fabric, Longs, fabric_of
from syccl.bounds.window.flows import Classes, Family, Flow, families
from syccl.bounds.window.grid import POINTS, Grid, grid_of
from syccl.bounds.window.program import Layout, window_program
from syccl.clock import Clock
from syccl.optimize.linear import LinearProgram, LinearSolution, solve_linear
from syccl.optimize.status import Status
from syccl.symmetry.generators import Moves, orbit_labels
from syccl.topology import Topology

KILO = 1e3
"""Bytes in the program's unit of payload."""

QUICK = 15_000
"""Variables of a program that is solved in a fraction of a second."""

THOROUGH = 75_000
"""Variables of a program that is solved in seconds."""

COARSE = 12
"""Inner points of the grid of programs that are too large with ``POINTS``."""

_FINE = 0.8
"""With ``POINTS`` a program may have this part of the most variables."""

_PROGRAMS = 4
"""So many programs of the largest size may be solved in one search, or more smaller ones."""

_SHARP = 2
"""The same with the rows of a partition: such programs take longer."""

_TOLERANCE = 5e-4
_STEPS = 10
_GROWTH = 0.25
_LEAP = 64
_MARGIN = 0.01
_EDGE = 0.02
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Solved:
    """The program of one horizon and its solution."""

    grid: Grid
    program: LinearProgram
    layout: Layout
    solution: LinearSolution

    @property
    def variables(self) -> int:
        """Size of the program."""
        return len(self.program.objective)

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
    most: int = QUICK
    """Most variables of a program."""
    completion: Completion | None = None
    """For an allreduce, a partition that sharpens the programs."""
    solved: dict[int, Solved | None] = field(default_factory=dict)

    def at(self, horizon: int, *, enough: float = math.inf) -> Solved | None:
        """Return the program of a horizon (picoseconds), solved; None where the solver failed.

        A payload above ``enough`` (bytes) need not be the largest.
        """
        if horizon not in self.solved:
            sizes = ((POINTS, int(_FINE * self.most)), (COARSE, self.most))
            found = ((self._program(horizon, points), most) for points, most in sizes)
            small = next((program for program, most in found if len(program[1].objective) <= most), None)
            solved = _solved(*small, enough=enough) if small else None
            if solved and solved.solution.status is not Status.OPTIMAL:
                return solved
            self.solved[horizon] = solved
        return self.solved[horizon]

    def _program(self, horizon: int, points: int) -> tuple[Grid, LinearProgram, Layout]:
        grid = grid_of(self.fabric.alpha.tolist(), horizon, points=points)
        made = window_program(self.fabric, self.families, grid, wires=self.wires, completion=self.completion)
        return (grid, *made)

    def latest_short(
        self, payload: float, start: int, clock: Clock | None = None, *, seeks_later: bool = True
    ) -> Solved | None:
        """Return the latest program found, from a start on, within whose horizon a payload (bytes) cannot be delivered.

        None where it can be by the start already, or the clock leaves no time to see. Later horizons than the start
        are only looked at if asked for.
        """
        clock = Clock() if clock is None else clock

        def at(horizon: int) -> Solved | None:
            # Where the payload fits by the start already, by how much does not matter.
            return None if clock.is_over() else self.at(horizon, enough=payload if horizon == start else math.inf)

        programs = (_SHARP if self.completion else _PROGRAMS) if seeks_later else 0
        return latest_short(at, payload, start, work=programs * self.most)


def _solved(grid: Grid, program: LinearProgram, layout: Layout, *, enough: float) -> Solved | None:
    solution = solve_linear(program, enough=-enough / KILO)
    is_solved = solution.status is Status.OPTIMAL or solution.objective * KILO < -enough
    return Solved(grid, program, layout, solution) if is_solved else None


@lru_cache(maxsize=32)
def sharper(programs: Windows, parts: tuple[tuple[int, ...], ...]) -> Windows | None:
    """Return the programs of an allreduce with the rows of a partition; None where symmetries do not keep it."""
    part = np.empty(programs.fabric.ranks, dtype=np.int64)
    for number, ranks in enumerate(parts):
        part[list(ranks)] = number
    completion = completion_of(programs.fabric, part)
    return replace(programs, completion=completion, solved={}) if completion else None


@lru_cache(maxsize=32)
def windows(topology: Topology, op: str, root: int, most: int = QUICK) -> Windows | None:
    """Return the time-window programs of a collective; None where they would be too large or data cannot get there.

    Parameters
    ----------
    most
        Most variables of a program: larger ones are cut to fewer flows, and then bound less.
    """
    fabric = fabric_of(topology)
    if fabric is None or fabric.ranks < 2:
        return None
    found = _chosen(fabric, families(fabric, op, root), most)
    flows = [flow for family in found for flow in family.flows]
    if not flows or any((fabric.distance[flow.sources][:, flow.sinks] >= FAR).any() for flow in flows):
        return None
    rooted = op in {"broadcast", "reduce", "scatter", "gather"}
    moves = found[0].moves if rooted else fabric.nodes
    wires = Classes.of(orbit_labels(fabric.on_wires(moves), len(fabric.rate)))
    sources = np.array([root]) if op in {"broadcast", "scatter"} else np.arange(fabric.ranks)
    return Windows(fabric, found, wires, sources, moves, most)


def _chosen(fabric: Fabric, found: tuple[Family, ...], most: int) -> tuple[Family, ...]:
    """Return families with as many flows as a small program holds, the farthest of each first; fewer bound less."""
    ranked = [
        sorted(family.flows, key=lambda flow: -int(fabric.distance[flow.sources][:, flow.sinks].max()))
        for family in found
    ]
    left = most - COARSE * sum(len(family.hops.first) for family in found)
    kept: list[list[Flow]] = [[] for _ in found]
    for turn in range(max(map(len, ranked), default=0)):
        for flows, chosen in zip(ranked, kept, strict=True):
            if turn < len(flows):
                left -= COARSE * (len(flows[turn].hops.first) + len(flows[turn].ranks.first))
                if left >= 0:
                    chosen.append(flows[turn])
    return tuple(replace(family, flows=tuple(flows)) for family, flows in zip(found, kept, strict=True) if flows)


def latest_short(at: Callable[[int], Solved | None], payload: float, start: int, *, work: int) -> Solved | None:
    """Return the program of the latest horizon found, from a start on, whose payload falls short of the given one.

    ``work`` is the number of variables, over all programs, after which the search ends.

    Payloads grow nearly linearly at last: extrapolation, then false position; every third step halves the bracket.
    """
    best = at(start)
    if best is None or best.payload >= payload:
        return None
    low, high = (start, best.payload), (0, 0.0)
    slope = 0.0
    for step in range(_STEPS):
        work -= best.variables
        if work < 0 or (
            high[0] and (high[0] <= max(low[0] * (1 + _TOLERANCE), low[0] + 1) or _is_met(low, high, payload))
        ):
            break
        guess = _between(low, high, payload, step) if high[0] else _beyond(low, slope, payload)
        found = at(guess)
        if found is None:
            break
        if found.payload < payload:
            slope = (found.payload - low[1]) / (guess - low[0])
            best, low = found, (guess, found.payload)
        else:
            high = (guess, found.payload)
    return best


def _beyond(low: tuple[int, float], slope: float, payload: float) -> int:
    """Return a horizon whose payload is probably enough; ``slope`` is that of the last two, 0 while there is one."""
    missing = payload - low[1]
    step = missing / slope if slope > 0 else low[0] * min(_GROWTH, missing / payload)
    return low[0] + max(1, int(min(step * (1 + _MARGIN) + low[0] * _TOLERANCE, low[0] * _LEAP)))


def _is_met(low: tuple[int, float], high: tuple[int, float], payload: float) -> bool:
    """Return whether payloads that grow evenly inside a bracket say that its lower end is the horizon sought."""
    later = (payload - low[1]) / (high[1] - low[1]) * (high[0] - low[0])
    return later <= low[0] * _TOLERANCE / 10


def _between(low: tuple[int, float], high: tuple[int, float], payload: float, step: int) -> int:
    """Return a horizon inside a bracket of (horizon, payload)."""
    width = high[0] - low[0]
    part = 0.5 if step % 3 == 2 else (payload - low[1]) / (high[1] - low[1])
    inside = int(width * min(max(part, _EDGE), 1 - _EDGE))
    return low[0] + min(max(inside, 1), width - 1)
