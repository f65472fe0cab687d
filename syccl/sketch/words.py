"""Sketches as words over the dimensions of a grid: in which order data is summed and spread along which of them.

Along a dimension a chunk is *exchanged* (everyone sums up what all in its line hold), *gathered* (summed at the place
of the chunk's root only, and spread again at the end), or, where only the root has it, *spread*. Several dimensions
may be done in one step, directly to all ranks of a plane. All staged sketches on servers and rails are such words: the
hierarchical allreduce gathers inside servers, exchanges along rails and spreads inside servers; recursive doubling on a
cube exchanges along one dimension after another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.grid import Grid
from syccl.sketch.model import Hop

Bools = NDArray[np.bool_]

_DIRECT_DIMENSIONS = 2
"""Above this many dimensions no two of them are done in one step, and they keep their cyclic order."""


class Step(NamedTuple):
    """One step: dimensions that are exchanged, gathered, and spread in it; the latter alone."""

    exchanged: tuple[int, ...] = ()
    gathered: tuple[int, ...] = ()
    spread: tuple[int, ...] = ()

    @property
    def dimensions(self) -> tuple[int, ...]:
        """All dimensions that data moves along."""
        return self.exchanged + self.gathered + self.spread


Word = tuple[Step, ...]


def summing_words(dimensions: int) -> list[Word]:
    """Return the words of allreduce: all dimensions exchanged or gathered, then the gathered ones spread again."""
    if dimensions > _DIRECT_DIMENSIONS:
        return [
            _nested(order, gathered)
            for order in _turned(tuple(range(dimensions)))
            for gathered in range(dimensions + 1)
        ]
    words = []
    for parts in _ordered_partitions(tuple(range(dimensions))):
        for kinds in itertools.product((False, True), repeat=dimensions):
            sums = tuple(
                Step(tuple(d for d in part if not kinds[d]), tuple(d for d in part if kinds[d])) for part in parts
            )
            gathered = tuple(d for d in range(dimensions) if kinds[d])
            words += [(*sums, *(Step(spread=part) for part in back)) for back in _ordered_partitions(gathered)]
    return words


def spreading_words(dimensions: int) -> list[Word]:
    """Return the words of allgather: every dimension spread once."""
    every = tuple(range(dimensions))
    if dimensions > _DIRECT_DIMENSIONS:
        return [tuple(Step(spread=(d,)) for d in order) for order in _turned(every)]
    return [tuple(Step(spread=part) for part in parts) for parts in _ordered_partitions(every)]


def _nested(order: Sequence[int], gathered: int) -> Word:
    sums = [Step(gathered=(d,)) if i < gathered else Step(exchanged=(d,)) for i, d in enumerate(order)]
    return (*sums, *(Step(spread=(d,)) for d in reversed(order[:gathered])))


def _turned(every: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [every[turn:] + every[:turn] for turn in range(len(every))]


def _ordered_partitions(items: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield the ways to cut items into parts that come one after another."""
    if not items:
        yield ()
        return
    for size in range(1, len(items) + 1):
        for first in itertools.combinations(items, size):
            rest = tuple(item for item in items if item not in first)
            yield from ((first, *others) for others in _ordered_partitions(rest))


def spelled(word: Word) -> str:
    """Return a word in words."""
    names = ("exchange", "gather", "spread")
    steps = [
        " and ".join(f"{name} {'x'.join(map(str, part))}" for name, part in zip(names, step, strict=True) if part)
        for step in word
    ]
    return ", ".join(steps)


def hops_of(word: Word, grid: Grid, root: int) -> tuple[Hop, ...]:
    """Return the hops of the chunk of a root, by stage."""
    at_root = grid.coordinates == grid.coordinates[root]
    same = grid.coordinates[:, None, :] == grid.coordinates[None, :, :]
    spreads = all(not step.exchanged and not step.gathered for step in word)
    scattered = set(range(grid.dimensions)) if spreads else set()
    hops: list[Hop] = []
    for stage, step in enumerate(word):
        moved = set(step.dimensions)
        sends = at_root[:, sorted(scattered)].all(axis=1)
        scattered = (scattered | set(step.gathered)) - set(step.spread)
        receives = at_root[:, sorted(scattered)].all(axis=1)
        fixed = [d for d in range(grid.dimensions) if d not in moved]
        pairs = same[:, :, fixed].all(axis=2) & sends[:, None] & receives[None, :]
        np.fill_diagonal(pairs, val=False)
        reduce = not step.spread
        hops += [Hop(u, v, stage, reduce) for u, v in zip(*map(np.ndarray.tolist, np.nonzero(pairs)), strict=True)]
    return tuple(hops)
