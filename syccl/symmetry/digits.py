"""Symmetries that turn one digit of the GPU number, as clusters numbered server by server have them.

GPU ``i`` of ``n`` has, for every ``a * b`` that divides ``n``, the digit ``i // a % b``. Adding one to it modulo ``b``,
or reflecting it, is guessed and checked: cheap, and it settles every regular fabric given in natural order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syccl.symmetry.collapse import Graph
from syccl.symmetry.group import Permutation
from syccl.symmetry.refine import Partition

_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)
_MAX_ROUNDS = 16


def scramble(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, one for each number (arithmetic modulo 2**64)."""
    mixed = (values + np.uint64(0x9E3779B97F4A7C15)) * _MIX
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX
    return np.asarray(mixed ^ (mixed >> _SHIFT), dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class _Lifter:
    """Extends permutations of the free GPUs to all vertices: others are known by the GPUs they see."""

    graph: Graph
    stable: Partition
    free: NDArray[np.int64]

    @cached_property
    def _colours(self) -> NDArray[np.int64]:
        return np.array(self.stable.cell, dtype=np.int64)

    @cached_property
    def _others(self) -> NDArray[np.int64]:
        return np.setdiff1d(np.arange(len(self._colours)), self.free)

    @cached_property
    def _arc_keys(self) -> NDArray[np.int64]:
        return self._keys(np.arange(len(self._colours)))

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        return np.unique(self.graph.table[:, 2], return_inverse=True)[1].reshape(-1)

    def _keys(self, image: NDArray[np.int64]) -> NDArray[np.int64]:
        n, labels = len(self._colours), int(self._labels.max(initial=0)) + 1
        tail, head = image[self.graph.table[:, 0]], image[self.graph.table[:, 1]]
        return np.sort((tail * n + head) * labels + self._labels)

    def _seen(self, values: NDArray[np.uint64], rounds: int) -> NDArray[np.uint64]:
        """Return a value for each vertex that tells what it sees of the GPUs' values within some rounds."""
        table, starts, others = self.graph.table, self.graph.starts, self._others
        values = values.copy()
        for _ in range(rounds):
            terms = scramble(values[table[:, 1]] ^ table[:, 2].astype(np.uint64))
            sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
            values[others] = scramble(values + sums[starts[1:]] - sums[starts[:-1]])[others]
        return values

    @cached_property
    def _start(self) -> NDArray[np.uint64]:
        values = scramble(self._colours.astype(np.uint64))
        values[self.free] = scramble(np.arange(len(self.free), dtype=np.uint64) + np.uint64(len(values)))
        return values

    @cached_property
    def _rounds(self) -> int:
        rounds, distinct = 0, 0
        while rounds < _MAX_ROUNDS:
            now = len(np.unique(self._seen(self._start, rounds + 1)))
            if now == distinct:
                break
            rounds, distinct = rounds + 1, now
        return rounds

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        values = self._seen(self._start, self._rounds)[self._others]
        order = np.argsort(values, kind="stable")
        return self._others[order], values[order]

    def lift(self, image: NDArray[np.int64]) -> Permutation | None:
        """Return the automorphism that moves the i-th free GPU to the ``image[i]``-th, or None."""
        target = self.free[image]
        if not (self._colours[self.free] == self._colours[target]).all():
            return None
        start = self._start.copy()
        start[target] = self._start[self.free]
        moved = self._seen(start, self._rounds)[self._others]
        order = np.argsort(moved, kind="stable")
        vertices, values = self._sorted
        if not (moved[order] == values).all():
            return None
        nodes = np.empty(len(start), dtype=np.int64)
        nodes[self.free] = target
        nodes[vertices] = self._others[order]
        kept = (self._colours[nodes] == self._colours).all() and (self._keys(nodes) == self._arc_keys).all()
        return nodes.astype(np.int32) if kept else None


Digit = tuple[int, int, int]
"""Place value ``a``, base ``b``, and the order of the motion: ``b`` for a turn, 2 for a reflection."""


def _image(n: int, digit: Digit) -> NDArray[np.int64]:
    place, base, order = digit
    i = np.arange(n)
    value = i // place % base
    turned = (value + 1) % base if order == base else base - 1 - value
    return i + place * (turned - value)


class _Guesses:
    """Which digits move by automorphisms, each tried once."""

    def __init__(self, lifter: _Lifter, bound: int) -> None:
        self._lifter = lifter
        self._bound = bound
        self._known: dict[Digit, Permutation | None] = {}
        self._best: dict[int, tuple[int, tuple[Digit, ...]]] = {}
        self.n = len(lifter.free)

    def lift(self, digit: Digit) -> Permutation | None:
        if digit not in self._known:
            self._known[digit] = self._lifter.lift(_image(self.n, digit))
        return self._known[digit]

    def greedy(self) -> tuple[int, tuple[Digit, ...]]:
        """Take the largest base that turns, place by place."""
        order, place = 1, 1
        digits: tuple[Digit, ...] = ()
        while place < self.n:
            bases = _divisors(self.n // place)
            fitting = [b for b in reversed(bases) if self._bound % (order * b) == 0]
            base = next((b for b in fitting if self.lift((place, b, b)) is not None), None)
            if base is not None:
                order, digits = order * base, (*digits, (place, base, base))
            place *= base or bases[0]
        return order, digits

    def best(self, place: int = 1) -> tuple[int, tuple[Digit, ...]]:
        """Return the greatest order that digits from a place on reach, with those digits."""
        if place not in self._best:
            options: list[tuple[int, tuple[Digit, ...]]] = [(1, ())]
            for base in reversed(_divisors(self.n // place)):
                rest, digits = self.best(place * base)
                moves = [(place, base, order) for order in dict.fromkeys((base, 2 - base % 2))]
                options += [(move[2] * rest, (move, *digits)) for move in moves if self._extends(rest, move)]
                options.append((rest, digits))
            self._best[place] = max(options, key=lambda option: option[0])
        return self._best[place]

    def _extends(self, rest: int, move: Digit) -> bool:
        order = move[2]
        return order > 1 and self._bound % (order * rest) == 0 and self.lift(move) is not None


def _divisors(n: int) -> list[int]:
    """Return the divisors of ``n`` from 2 on, ascending."""
    return [d for d in range(2, n + 1) if n % d == 0]


def natural_generators(
    graph: Graph, stable: Partition, free: Sequence[int], bound: int
) -> tuple[tuple[Permutation, int], ...]:
    """Return commuting automorphisms that turn or reflect digits of the GPU number, with their orders.

    Parameters
    ----------
    stable
        Stable partition of the vertices; colours that every automorphism keeps.
    free
        The vertices to number, in the given order of the GPUs; all other GPUs stay where they are.
    bound
        A number that the order of the group must divide.
    """
    guesses = _Guesses(_Lifter(graph, stable, np.array(free, dtype=np.int64)), bound)
    order, digits = guesses.greedy()
    if order < bound:
        order, digits = max((order, digits), guesses.best(), key=lambda option: option[0])
    generators: list[tuple[Permutation, int]] = []
    for digit in digits:
        move = guesses.lift(digit)
        if move is not None and _fits(move, digit[2], [other for other, _ in generators]):
            generators.append((move, digit[2]))
    return tuple(generators)


def _fits(move: Permutation, order: int, others: Sequence[Permutation]) -> bool:
    """Return whether a lift has its digit's order and commutes with the others on switches, too."""
    power = move
    for _ in range(order - 1):
        power = move[power]
    commutes = all((move[other] == other[move]).all() for other in others)
    return commutes and bool((power == np.arange(len(power))).all())
