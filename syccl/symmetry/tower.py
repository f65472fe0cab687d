"""A tower of groups, each larger than the one below by a prime factor, none of which fixes a free GPU."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import Graph
from syccl.symmetry.pairing import Goal
from syccl.symmetry.refine import Partition, individualised
from syccl.symmetry.search import Budget, Search

_MODES = ("alike", "commuting", "twisted")
_MAX_TWISTS = 64
_MAX_TWISTED_ORDER = 256


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

    order_of_primes: int = 0
    """0 tries small primes first, 1 large ones first, other numbers seed a shuffle."""
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
    primes = _primes(frame.bound // action.order, manner.order_of_primes)
    targets = _targets(frame, action)
    unsettled = list(itertools.product(range(len(targets)), _MODES))
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
    return None


def _try(frame: Frame, action: FreeAction, trial: _Trial, limits: tuple[Budget, int]) -> FreeAction | None:
    budget, failures = limits
    displacements = frame.displacements if trial.mode == "alike" else None
    for twist in _twists(frame, action, trial):
        if budget.work <= 0:
            return None
        images = tuple(action.elements[i].tolist() for i in twist)
        goal = Goal(action, images, trial.prime, trial.target, displacements)
        move = Search(frame.graph, frame.stable, goal, frame.displacements).run(budget, failures)
        if move is not None and (larger := action.extended(move, trial.prime)) is not None:
            return larger
    return None


def _primes(n: int, order_of_primes: int) -> list[int]:
    """Return the prime factors of ``n``, each once, in the order to try them."""
    primes = []
    divisor = 2
    while n > 1:
        if n % divisor:
            divisor += 1 if divisor * divisor <= n else n - divisor
            continue
        n //= divisor
        if divisor not in primes:
            primes.append(divisor)
    if order_of_primes == 1:
        primes.reverse()
    elif order_of_primes > 1:
        random.Random(order_of_primes).shuffle(primes)
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


def _twists(frame: Frame, action: FreeAction, trial: _Trial) -> Iterator[tuple[int, ...]]:
    """Yield the elements (indices) that the generators may turn into when the new automorphism passes them."""
    root = frame.free[0]
    straight = tuple(action.sender[int(generator[root])] for generator in action.generators)
    if trial.mode != "twisted":
        yield straight
        return
    if not action.generators or action.order > _MAX_TWISTED_ORDER:
        return
    choices = [_alike(frame, action, trial.target, element) for element in straight]
    tried = itertools.islice(itertools.product(*choices), 16 * _MAX_TWISTS)
    yield from itertools.islice((t for t in tried if t != straight and _is_automorphism(action, t)), _MAX_TWISTS)


def _alike(frame: Frame, action: FreeAction, target: int, element: int) -> list[int]:
    """Return the elements that displace the target as one displaces the root."""
    root = frame.free[0]
    kind = int(frame.displacements.row(root)[0][action.elements[element, root]])
    types = frame.displacements.row(target)[0]
    return [i for i in range(action.order) if int(types[action.elements[i, target]]) == kind]


def _is_automorphism(action: FreeAction, images: Sequence[int]) -> bool:
    """Return whether sending the generators to these elements defines an automorphism of the group."""
    root = action.free[0]
    index = {int(row[root]): i for i, row in enumerate(action.elements)}
    result = {0: 0}
    frontier = [0]
    while frontier:
        element = frontier.pop()
        for generator, image in zip(action.generators, images, strict=True):
            product = index[int(generator[action.elements[element, root]])]
            mapped = index[int(action.elements[image, action.elements[result[element], root]])]
            if product not in result:
                result[product] = mapped
                frontier.append(product)
            elif result[product] != mapped:
                return False
    return len(set(result.values())) == action.order
