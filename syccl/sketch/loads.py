"""Loads of the trees and paths placed so far, and the prices that follow from them.

A price grows exponentially with the load of a link, as in global routing of circuits; so does that of a connection with
its use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from syccl.sketch.model import Hop
from syccl.sketch.quotient import Floats, Quotient

_STEEPNESS, _MOST_EXPONENT, _LEAST = 40.0, 60.0, 1e-3
_HALF, _HALF_LIMIT = 0.525, 1.0
"""Share of a link that one half of an allreduce should load at most, and the exponent at which its price stays: where
one half must load a link more than that, nothing else shall suffer."""
_CONNECTION_SHARE = 64e9
"""Soft capacity of one connection, bytes/s: four thread blocks of 20 GB/s, one fifth spare."""


@dataclass
class Loads:
    """Pieces on each link of every orbit (``load``) and on every arc class (``use``).

    Parameters
    ----------
    unit_bound
        Certified bound in units of pieces: seconds per byte of a piece that the busiest link must spend.
    most_steps
        Sends and receives that a rank has room for in a program; None where they are not counted.
    """

    quotient: Quotient
    unit_bound: float
    most_steps: int | None = None
    load: Floats = field(init=False)
    use: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Start with nothing placed."""
        q = self.quotient
        self.load = np.zeros(len(q.capacities))
        self.use = np.zeros(len(q.route_start) - 1)
        self.room = q.capacities * self.unit_bound
        self.connection_room = _CONNECTION_SHARE * self.unit_bound
        self.half_load = [np.zeros(len(self.load)), np.zeros(len(self.load))]
        orbit_of = np.zeros(q.ranks, dtype=np.int64)
        for number, members in enumerate(q.group.rank_orbits):
            orbit_of[list(members)] = number
        self.steps = np.zeros(len(q.group.rank_orbits))
        self.sender, self.receiver = (
            ends.ravel() for ends in np.meshgrid(orbit_of[q.representatives], orbit_of, indexing="ij")
        )

    def prices(self, *, inward: bool | None = None) -> Floats:
        """Return the cost of one transfer of every arc class, shape ``(classes,)``.

        ``inward`` says in which half of an allreduce, where links should be as busy in one half as in the other.
        """
        q = self.quotient
        link = self.link_prices()
        if inward is not None:
            half = self.half_load[inward] / (_HALF * self.room) - 1.0
            link += np.exp(np.minimum(_STEEPNESS * half, _HALF_LIMIT)) / q.capacities
        busy = np.minimum(_STEEPNESS * (self.use / self.connection_room - 1.0), _MOST_EXPONENT)
        cost: Floats = q.class_sums(link) + np.exp(busy) / _CONNECTION_SHARE
        if self.most_steps is not None:
            crowded = self.step_prices()
            cost += crowded[self.sender] + crowded[self.receiver]
        return cost

    def step_prices(self) -> Floats:
        """Return the price of a send or receive at a rank of every orbit, shape ``(rank orbits,)``."""
        most = math.inf if self.most_steps is None else self.most_steps
        fill = np.minimum(_STEEPNESS * (self.steps / most - 1.0), _MOST_EXPONENT)
        return np.asarray(np.exp(fill) / _CONNECTION_SHARE)

    def link_prices(self) -> Floats:
        """Return the price of a unit of load on each link of every orbit, shape ``(orbits,)``."""
        fill = np.minimum(_STEEPNESS * (self.load / self.room - 1.0), _MOST_EXPONENT)
        link: Floats = (np.exp(fill) + _LEAST) / self.quotient.capacities
        return link

    def count(self, hops: Sequence[Hop], sign: float) -> None:
        """Add (or take out) the load of hops."""
        if hops:
            self.add([hop.src for hop in hops], [hop.dst for hop in hops], sign)

    def add(self, sources: list[int], targets: list[int], sign: float) -> Floats:
        """Add (or take out) transfers between ranks; return what that adds to the load of every orbit."""
        kinds = self.quotient.arc_class[sources, targets]
        self.use += sign * np.bincount(kinds, minlength=len(self.use))
        for ends in (self.sender, self.receiver):
            self.steps += sign * np.bincount(ends[kinds], minlength=len(self.steps))
        load: Floats = sign * self.quotient.class_loads(kinds)
        self.load += load
        return load


class Tolls:
    """The prices of ``Loads`` for single arcs: for searches that look at few arcs between one change and the next.

    They hold while loads change by ``take`` alone.
    """

    def __init__(self, loads: Loads) -> None:
        self.loads, q = loads, loads.quotient
        self.orbits_of = q.class_orbits
        self.weight: list[float] = q.orbit_weights.tolist()
        self.capacity: list[float] = q.capacities.tolist()
        self.room: list[float] = loads.room.tolist()
        self.paid: list[float] = (loads.link_prices() * q.orbit_weights).tolist()

    def of(self, kind: int) -> float:
        """Return the cost of one transfer of an arc class."""
        busy = min(_STEEPNESS * (float(self.loads.use[kind]) / self.loads.connection_room - 1.0), _MOST_EXPONENT)
        cost = math.exp(busy) / _CONNECTION_SHARE
        for orbit in self.orbits_of(kind):
            cost += self.paid[orbit]
        if self.loads.most_steps is not None:
            cost += self._crowded(self.loads.sender[kind]) + self._crowded(self.loads.receiver[kind])
        return cost

    def _crowded(self, orbit: int) -> float:
        fill = _STEEPNESS * (float(self.loads.steps[orbit]) / (self.loads.most_steps or math.inf) - 1.0)
        return math.exp(min(fill, _MOST_EXPONENT)) / _CONNECTION_SHARE

    def take(self, kind: int, sign: float) -> None:
        """Add (or take out) one transfer of an arc class."""
        self.loads.use[kind] += sign
        self.loads.steps[self.loads.sender[kind]] += sign
        self.loads.steps[self.loads.receiver[kind]] += sign
        for orbit in self.orbits_of(kind):
            load = float(self.loads.load[orbit]) + sign * self.weight[orbit]
            self.loads.load[orbit] = load
            fill = min(_STEEPNESS * (load / self.room[orbit] - 1.0), _MOST_EXPONENT)
            self.paid[orbit] = (math.exp(fill) + _LEAST) / self.capacity[orbit] * self.weight[orbit]
