"""A tower of groups, each larger than the one below by a prime factor, none of which fixes a free GPU."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import NamedTuple

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import Graph
from syccl.symmetry.pairing import Goal
from syccl.symmetry.refine import Partition, individualised
from syccl.symmetry.search import Budget, Search
from syccl.symmetry.twists import straight, twists

_SEED_STEP = 1_000_003
_MODES = ("alike", "commuting", "twisted")


@dataclass(frozen=True, eq=False)
class Frame:
    """What all passes share.

    Parameters
    ----------
    stable
        Stable partition that every automorphism keeps.
    free
        The GPUs to move, the root first: one of the smallest cell.
    bound
        A number that the order divides.
    """

    graph: Graph
    stable: Partition
    free: tuple[int, ...]
    bound: int
    displacements: Displacements


class Manner(NamedTuple):
    """How one pass tries extensions."""

    attempt: int = 0
    """0 tries small primes first, 1 large ones first; other numbers seed a shuffle of all choices."""
    rounds: tuple[int, ...] = (8, 100, 1500)
    """Dead ends to look at in one search, round by round; what a round settles is left out of the next."""


class _Trial(NamedTuple):
    mode: str
    prime: int
    target: int


def climb(frame: Frame, base: FreeAction, budget: Budget, manner: Manner) -> FreeAction:
    """Extend a group by prime factors until its order is the bound, nothing extends it, or the budget is spent."""
    action = base
    while action.order < frame.bound and budget.work > 0:
        larger = _extend(frame, action, budget, manner)
        if larger is None:
            break
        action = larger
    return action


def _extend(frame: Frame, action: FreeAction, budget: Budget, manner: Manner) -> FreeAction | None:
    """Return the group made larger by a prime factor, trying the cheap and likely ways first."""
    primes = _primes(frame.bound // action.order)
    targets = _targets(frame, action)
    unsettled = list(itertools.product(range(len(targets)), _MODES))
    if manner.attempt == 1:
        primes.reverse()
    elif manner.attempt > 1:
        rng = random.Random(manner.attempt * _SEED_STEP + action.order)
        for choices in (primes, *targets, unsettled):
            rng.shuffle(choices)
    for failures in manner.rounds:
        capped = []
        for late, mode in unsettled:
            budget.capped = False
            for prime, target in itertools.product(primes, targets[late]):
                larger = _try(frame, action, _Trial(mode, prime, target), (budget, failures))
                if larger is not None:
                    return larger
            if budget.capped:
                capped.append((late, mode))
        unsettled = capped
    budget.capped = bool(unsettled)
    return None


def _try(frame: Frame, action: FreeAction, trial: _Trial, limits: tuple[Budget, int]) -> FreeAction | None:
    budget, failures = limits
    displacements = frame.displacements if trial.mode == "alike" else None
    twisted = trial.mode == "twisted"
    options = twists(action, trial.target, frame.displacements, budget) if twisted else [straight(action)]
    for twist in options:
        if budget.work <= 0:
            return None
        images = tuple(action.elements[i].tolist() for i in twist)
        goal = Goal(action, images, trial.prime, trial.target, displacements)
        move = Search(frame.graph, frame.stable, goal, frame.displacements).run(budget, failures)
        if move is not None and (larger := action.extended(move, trial.prime)) is not None:
            return larger
    return None


def _primes(n: int) -> list[int]:
    """Return the prime factors of ``n``, each once, ascending."""
    primes = []
    divisor = 2
    while n > 1:
        if n % divisor:
            divisor += 1 if divisor * divisor <= n else n - divisor
            continue
        n //= divisor
        if divisor not in primes:
            primes.append(divisor)
    return primes


def _targets(frame: Frame, action: FreeAction) -> tuple[list[int], list[int]]:
    """Return where to send the root: one vertex of each class as the root sees them, then one of each other orbit.

    Small classes come first: they are small blocks (the GPU at the same NIC, in the same server) or central points
    (the antipode of a torus). Steps that straddle blocks would stand in the way of later ones.
    """
    root = frame.free[0]
    seen = individualised(frame.graph.arcs, frame.stable, root)
    hops = frame.displacements.row(root)[1]
    orbits = {action.orbit[root]}
    ranked = sorted(
        (v for v in frame.free if frame.stable.cell[v] == frame.stable.cell[root]),
        key=lambda v: (seen.size[seen.cell[v]], int(hops[v]), seen.cell[v], v),
    )
    first: list[int] = []
    rest: list[int] = []
    classes: set[int] = set()
    for v in ranked:
        if action.orbit[v] in orbits:
            continue
        orbits.add(action.orbit[v])
        (rest if seen.cell[v] in classes else first).append(v)
        classes.add(seen.cell[v])
    return first, rest
