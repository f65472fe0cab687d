"""Column generation in the quotient: the best mix of trees, and link prices that prove how good it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.clock import Clock
from syccl.collective import Op
from syccl.errors import InternalError
from syccl.optimize.linear import LinearSolution, solve_linear
from syccl.optimize.status import Status
from syccl.sketch.arborescence import contract, flattened, tree_depths
from syccl.sketch.combine import bottleneck_program
from syccl.sketch.quotient import Quotient

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

_SMOOTHING = 0.5
"""Weight of the best prices so far against the master's, while the master still improves [1]_."""

_STALLED = 1e-4
"""Relative improvement below which the master's own prices are used: there they are optimal or soon corrected."""

_FORESTS = 8
"""Ways to break ties between arcs of equal price: roots that break them alike crowd the same links."""

_TIE = 1e-7
"""Relative size of the noise that breaks ties; `Pricing.dual_bound` is lowered by as much."""

_SPREAD = 0.01
"""Relative size of the noise on prices from which mixed trees are drawn: above their error, else small."""


@dataclass(frozen=True, eq=False)
class Column:
    """One way to serve the data of one representative and, moved by the group, of all its copies.

    Parameters
    ----------
    root
        Rank where the trees meet.
    group
        Shares of the columns of one group sum to 1. One group per representative; a single one for allreduce, where
        any root will do.
    inward
        Parent of every rank in the tree that sums into the root, -1 at the root; None for allgather.
    outward
        Parent of every rank in the tree that spreads from the root, -1 at the root; None for reducescatter.
    loads
        Bytes on each link of every orbit per byte of data, shape ``(orbits,)``; see `Pricing` for whose byte.
    """

    root: int
    group: int
    inward: Ints | None
    outward: Ints | None
    loads: Floats

    @property
    def depth(self) -> int:
        """Number of transfers, one after the other, from the first sender to the last receiver."""
        return sum(int(tree_depths(tree).max()) for tree in (self.inward, self.outward) if tree is not None)

    @property
    def key(self) -> tuple[int, bytes, bytes, bytes]:
        """What tells columns apart; equal trees over other routes have other loads."""
        inward, outward = (b"" if tree is None else tree.tobytes() for tree in (self.inward, self.outward))
        return self.root, inward, outward, self.loads.tobytes()


@dataclass(frozen=True, eq=False)
class Pricing:
    """The best mix of trees and its proof.

    Values are in seconds per byte: per byte of a shard (what one rank contributes or keeps) for allgather and
    reducescatter, per byte of the whole buffer for allreduce. There the share ``x`` of a representative's column is
    spread over its ``order`` copies, so that a tree arc that makes ``order`` uses of an orbit of ``size`` links puts
    ``x / size`` bytes on each of them.

    Parameters
    ----------
    columns
        All distinct trees that were priced.
    shares
        Share of its group's data that takes each column, shape ``(columns,)``.
    lp_value
        Time of the busiest link under ``shares``.
    dual_bound
        No mix of trees over the allowed routes takes less time.
    prices
        Price of a byte per second and link of every orbit that proves it: ``capacities @ prices`` is 1 and the
        cheapest trees cost ``dual_bound``. Shape ``(orbits,)``.
    rounds
        Number of times that trees were priced.
    status
        Optimal where the gap is as small as was asked for, else feasible.
    """

    columns: tuple[Column, ...]
    shares: Floats
    lp_value: float
    dual_bound: float
    prices: Floats
    rounds: int
    status: Status

    @property
    def gap(self) -> float:
        """How far ``lp_value`` may be above the optimum, relative to the bound."""
        return self.lp_value / self.dual_bound - 1.0 if self.dual_bound > 0 else 0.0


def price(
    op: Op,
    quotient: Quotient,
    *,
    gap: float = 1e-3,
    round_limit: int = 60,
    any_route: bool = False,
    clock: Clock | None = None,
) -> Pricing:
    """Mix trees so that the busiest link of an allgather, reducescatter or allreduce is as idle as can be.

    The master program shares the data out over the trees known so far; its duals are prices of links; the cheapest
    tree of every root under these prices (or a smoothed version of them) is the next column, and what the cheapest
    trees cost is a lower bound. An allreduce mixes pairs of an in-tree and an out-tree with a common, free root.

    Parameters
    ----------
    op
        The collective.
    quotient
        The topology, with tree arcs from parent to child.
    gap
        Relative distance of ``lp_value`` and ``dual_bound`` that is good enough.
    round_limit
        Largest number of rounds; the bound holds and the shares are valid also when it is reached.
    any_route
        Whether a tree arc may take any path through nodes that are no GPU, not only the quotient's route.
    clock
        Ends the rounds as ``round_limit`` does; None for no such limit.

    Raises
    ------
    InternalError
        When the collective is another one, or tree arcs point from child to parent.
    InfeasibleError
        When some rank does not reach another.

    References
    ----------
    .. [1] P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", International
       Transactions in Operational Research 4 (1997).
    """
    if op.name not in {"allgather", "reducescatter", "allreduce"} or quotient.reverse:
        msg = f"trees are priced for allgather, reducescatter and allreduce on a forward quotient, not for {op.name}"
        raise InternalError(msg)
    pricer = _Pricer(op, quotient, any_route, _tie_breakers(quotient))
    capacities = quotient.capacities
    best_prices = 1.0 / (capacities * len(capacities))
    fresh, bound = pricer.cheapest(best_prices)
    pool = {column.key: column for column in fresh}
    shares = _normalised(fresh, np.ones(len(fresh)))
    value, rounds = _busiest(fresh, shares, capacities), 1
    clock = Clock() if clock is None else clock
    while value > bound * (1.0 + gap) and rounds < round_limit and not clock.is_over():
        columns = list(pool.values())
        master = _solve_master(columns, capacities)
        if master.status is not Status.OPTIMAL:
            break
        shares = _normalised(columns, master.values[: len(columns)])
        value, before = _busiest(columns, shares, capacities), value
        weight = _SMOOTHING if value < before * (1.0 - _STALLED) else 0.0
        trial = weight * best_prices + (1.0 - weight) * _prices(master, capacities)
        fresh, proven = pricer.cheapest(trial)
        rounds += 1
        if proven > bound:
            bound, best_prices = proven, trial
        for column in fresh:
            pool.setdefault(column.key, column)
    shares = np.append(shares, np.zeros(len(pool) - len(shares)))
    status = Status.OPTIMAL if value <= bound * (1.0 + gap) else Status.FEASIBLE
    return Pricing(tuple(pool.values()), shares, value, bound, best_prices, rounds, status)


def proven_bound(op: Op, quotient: Quotient, prices: Floats) -> float:
    """Return what no mix of trees beats, whatever routes through NICs and switches their arcs take.

    Any prices prove a bound; those of `Pricing.prices` prove a good one. Units as in `Pricing.dual_bound`.
    """
    return _Pricer(op, quotient, True, _tie_breakers(quotient)).cheapest(prices)[1]


def mixed_columns(op: Op, quotient: Quotient, prices: Floats, *, count: int) -> list[Column]:
    """Return trees that cost about the same under ``prices`` and spread their load over the orbits in many ways.

    At optimal prices the extreme trees, of which a mix is best, cost the same as all trees between them. Which way a
    rank is reached is drawn at random; then the tree is made shallow. Such trees let few pieces come near the best mix.

    Parameters
    ----------
    op, quotient
        As in `price`.
    prices
        Prices near the optimum, as in `Pricing.prices`.
    count
        Number of columns for each representative.

    Raises
    ------
    InfeasibleError
        When some rank does not reach another.
    """
    columns = []
    for seed in range(count):
        outward = _drawn_trees(quotient, prices, seed) if op.target == "all" else None
        inward = _drawn_trees(quotient.flipped, prices, count + seed) if op.source == "all" else None
        columns += _columns(quotient, inward, outward)
    return columns


@dataclass(frozen=True, eq=False)
class _Pricer:
    """Finds the cheapest columns under prices."""

    op: Op
    quotient: Quotient
    any_route: bool
    tie_breakers: tuple[Floats, ...]

    def cheapest(self, prices: Floats) -> tuple[list[Column], float]:
        """Return the cheapest column of every representative, and the bound that their costs prove."""
        forward = self.quotient.rerouted(prices) if self.any_route else self.quotient
        outward = self._trees(forward, prices) if self.op.target == "all" else None
        inward = self._trees(forward.flipped, prices) if self.op.source == "all" else None
        columns = _columns(forward, inward, outward)
        costs = [float(column.loads @ prices) for column in columns]
        noise = _TIE if len(self.tie_breakers) > 1 else 0.0
        joint = self.op.source == self.op.target == "all"
        return columns, (min(costs) if joint else sum(costs)) / (1.0 + noise)

    def _trees(self, quotient: Quotient, prices: Floats) -> list[Ints]:
        """Return a cheapest tree of every representative."""
        costs = quotient.arc_costs(prices)
        forests = [contract(costs * noise) for noise in self.tie_breakers]
        roots = quotient.representatives.tolist()
        return [flattened(costs, forests[i % len(forests)].parents(root)) for i, root in enumerate(roots)]


def _columns(quotient: Quotient, inward: list[Ints] | None, outward: list[Ints] | None) -> list[Column]:
    """Make columns of the trees of every representative."""
    joint = inward is not None and outward is not None
    scale = 1.0 / quotient.group.order if joint else 1.0
    columns = []
    for i, root in enumerate(quotient.representatives.tolist()):
        into, out = inward[i] if inward else None, outward[i] if outward else None
        loads = np.zeros(quotient.orbits)
        if into is not None:
            loads += quotient.flipped.tree_loads(into)
        if out is not None:
            loads += quotient.tree_loads(out)
        columns.append(Column(root, 0 if joint else i, into, out, loads * scale))
    return columns


def _drawn_trees(quotient: Quotient, prices: Floats, seed: int) -> list[Ints]:
    """Return a tree of every representative, cheapest under prices that vary by child and orbit."""
    draw = np.random.default_rng(seed)
    tilt = 1.0 + _SPREAD * (draw.random(quotient.orbits) + draw.random((quotient.ranks, quotient.orbits)))
    plain = quotient.arc_costs(prices)
    costs = np.empty_like(plain)
    for child in range(quotient.ranks):
        costs[:, child] = quotient.class_weights[quotient.arc_class[:, child]] @ (prices * tilt[child])
    costs[~np.isfinite(plain)] = np.inf
    forest = contract(costs)
    return [flattened(costs, forest.parents(root)) for root in quotient.representatives.tolist()]


def _tie_breakers(quotient: Quotient) -> tuple[Floats, ...]:
    """Return factors of 1 to 1 + ``_TIE`` on the costs of all arcs; a single representative needs no diversity."""
    count = min(_FORESTS, len(quotient.representatives))
    shape = (quotient.ranks, quotient.ranks)
    if count == 1:
        return (np.ones(shape),)
    return tuple(1.0 + _TIE * np.random.default_rng(seed).random(shape) for seed in range(count))


def _normalised(columns: list[Column], shares: Floats) -> Floats:
    """Scale the shares of every group to sum to 1."""
    groups = np.array([column.group for column in columns])
    positive = np.maximum(shares, 0.0)
    return np.asarray(positive / np.bincount(groups, weights=positive)[groups])


def _busiest(columns: list[Column], shares: Floats, capacities: Floats) -> float:
    """Return the seconds that the busiest link takes per byte."""
    loads = np.array([column.loads for column in columns])
    return float((shares @ loads / capacities).max(initial=0.0))


def _solve_master(columns: list[Column], capacities: Floats) -> LinearSolution:
    """Find the best mix of the columns known so far."""
    groups = np.array([column.group for column in columns], dtype=np.int32)
    return solve_linear(bottleneck_program(np.array([column.loads for column in columns]), groups, capacities))


def _prices(master: LinearSolution, capacities: Floats) -> Floats:
    """Return the master's duals as prices: not negative, worth 1 for the capacities of all orbits."""
    prices = np.maximum(-master.duals[len(master.duals) - len(capacities) :], 0.0)
    return np.asarray(prices / (prices @ capacities))
