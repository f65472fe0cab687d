"""Mixes: which sketches share the data, in which parts, where latency counts.

Sketches that are slow alone win together when one of them uses the network while the other one does not. A mix cuts the
data in equal parts and says how many of them take each sketch. Mixes are tried on a coarse machine: hops of one kind
that wait for the same things are one job. All pairs of sketches come first, then parts are moved between sketches for
more and more parts. Only the best mixes are timed hop by hop.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syccl.planning.problem import Problem
from syccl.sketch.families import Family
from syccl.solve.list_schedule import JobShop, backwards_after, list_schedule, tails
from syccl.solve.timing import job_shop, rows_of

_PARTS = (4, 8, 16)
_SEEDS = 3
"""Mixes that go on from one number of parts to the next."""
_PARTNERS = 6
"""Sketches that parts are moved to."""
_JOBS = 40_000
"""Jobs of all coarse list schedules of one search: bounds the time of searching."""
_HOPELESS = 1.02
"""Pairs are tried while what bounds them is below this factor of the best pair."""

Use = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Mix:
    """How many equal parts of the data take each family, as (family, parts); ``seconds`` on the coarse machine."""

    shares: tuple[tuple[int, int], ...]
    seconds: float

    @property
    def parts(self) -> int:
        """Number of parts of the data."""
        return sum(parts for _, parts in self.shares)


@dataclass(frozen=True)
class _Coarse:
    """The jobs of one family, with occupations in seconds per byte of its data."""

    uses: list[Use]
    latency_s: list[float]
    after: list[list[int]]

    def loads(self, resources: int) -> list[float]:
        total = [0.0] * resources
        for use in self.uses:
            for resource, seconds in use:
                total[resource] += seconds
        return total


def dealt(shares: Sequence[tuple[int, int]]) -> list[int]:
    """Return the family of every part in an order that spreads those of each family evenly."""
    turns = [((k + 0.5) / parts, family) for family, parts in shares for k in range(parts)]
    return [family for _, family in sorted(turns)]


def search_mixes(problem: Problem, families: Sequence[Family], *, backwards: bool = False) -> list[Mix]:
    """Return mixes of families, the fastest on the coarse machine first.

    Parameters
    ----------
    backwards
        Run all jobs backwards in time: list schedules then fill the end well instead of the start.
    """
    coarse = _coarse(problem, families)
    return _Search(problem.size_bytes, [_backwards(one) for one in coarse] if backwards else coarse).run()


class _Search:
    def __init__(self, size_bytes: int, coarse: list[_Coarse]) -> None:
        self.size, self.coarse = size_bytes, coarse
        self.jobs_left = _JOBS
        self.known: dict[tuple[tuple[int, int], ...], float] = {}

    def run(self) -> list[Mix]:
        everyone = range(len(self.coarse))
        for family in everyone:
            self.seconds({family: 1})
        self._pairs()
        for parts in _PARTS:
            for seed in self._best(parts // 2)[:_SEEDS]:
                self._climb({family: 2 * share for family, share in seed.shares})
        for seed in self._best(_PARTS[-1])[:_SEEDS]:
            self.seconds({family: 2 * share for family, share in seed.shares})
        return sorted(
            (Mix(shares, seconds) for shares, seconds in self.known.items()),
            key=lambda mix: (mix.seconds, mix.parts, mix.shares),
        )

    def seconds(self, counts: dict[int, int]) -> float:
        """Return the time of a mix; infinite when the search has gone on for long enough."""
        shares = tuple(sorted((family, parts) for family, parts in counts.items() if parts))
        if shares not in self.known:
            jobs = sum(parts * len(self.coarse[family].uses) for family, parts in shares)
            if jobs > self.jobs_left:
                return np.inf
            self.jobs_left -= jobs
            self.known[shares] = self._timed(shares)
        return self.known[shares]

    def _timed(self, shares: tuple[tuple[int, int], ...]) -> float:
        part_bytes = self.size / sum(parts for _, parts in shares)
        scaled = {
            family: [tuple((r, s * part_bytes) for r, s in use) for use in self.coarse[family].uses]
            for family, _ in shares
        }
        uses: list[Use] = []
        latency: list[float] = []
        after: list[list[int]] = []
        for family in dealt(shares):
            first = len(uses)
            uses += scaled[family]
            latency += self.coarse[family].latency_s
            after += [[first + job for job in before] for before in self.coarse[family].after]
        shop = JobShop(uses, latency, after)
        return list_schedule(shop, tails(shop)).makespan_s

    def _best(self, parts: int) -> list[Mix]:
        mixes = [Mix(shares, s) for shares, s in self.known.items() if sum(k for _, k in shares) == parts]
        return sorted(mixes, key=lambda mix: (mix.seconds, mix.shares))

    def _pairs(self) -> None:
        """Try pairs of families in equal parts, the most promising first."""
        resources = 1 + max((r for c in self.coarse for use in c.uses for r, _ in use), default=0)
        loads = np.array([c.loads(resources) for c in self.coarse]) * self.size
        alone = np.array([self._shortest(family) for family in range(len(self.coarse))])
        pairs = list(itertools.combinations_with_replacement(range(len(self.coarse)), 2))
        bounds = [max(float((loads[a] + loads[b]).max()) / 2, alone[a], alone[b]) for a, b in pairs]
        best = np.inf
        for i in sorted(range(len(pairs)), key=lambda i: (bounds[i], i)):
            if bounds[i] > best * _HOPELESS:
                break
            a, b = pairs[i]
            best = min(best, self.seconds({a: 2} if a == b else {a: 1, b: 1}))

    def _shortest(self, family: int) -> float:
        """Return the longest chain of jobs of half the data."""
        coarse = self.coarse[family]
        uses = [tuple((r, s * self.size / 2) for r, s in use) for use in coarse.uses]
        return max(tails(JobShop(uses, coarse.latency_s, coarse.after)), default=0.0)

    def _climb(self, counts: dict[int, int]) -> None:
        """Move single parts from one family to another while that helps."""
        best = self.seconds(counts)
        better = True
        while better:
            better = False
            for moved in self._moves(counts):
                seconds = self.seconds(moved)
                if seconds < best:
                    counts, best, better = moved, seconds, True
                    break

    def _moves(self, counts: dict[int, int]) -> Iterator[dict[int, int]]:
        partners = list(dict.fromkeys(family for mix in self._best(2) for family, _ in mix.shares))[:_PARTNERS]
        step = max(1, sum(counts.values()) // 8)
        for source, target in itertools.product([f for f, parts in counts.items() if parts], partners):
            if source != target:
                moved = dict(counts)
                moved[source] -= min(step, counts[source])
                moved[target] = moved.get(target, 0) + min(step, counts[source])
                yield moved


def _backwards(one: _Coarse) -> _Coarse:
    after = backwards_after(one.after)
    return _Coarse(one.uses[::-1], one.latency_s[::-1], after)


def _coarse(problem: Problem, families: Sequence[Family]) -> list[_Coarse]:
    """Return the jobs of every family; hops of one class of one piece that wait for the same jobs are one."""
    pieces = [piece for family in families for piece in family.pieces]
    rows = rows_of(pieces)
    shop = job_shop(rows, problem.quotient, 1.0)
    kinds = problem.quotient.arc_class[rows.src, rows.dst].tolist()
    made = []
    row = number = 0
    for family in families:
        number += len(family.pieces)
        jobs: dict[tuple[int, int, tuple[int, ...]], int] = {}
        job_of: dict[int, int] = {}
        copies: list[int] = []
        first_rows: list[int] = []
        while row < len(rows.piece) and rows.piece[row] < number:
            after = tuple(sorted({job_of[before] for before in rows.after[row]}))
            key = (rows.piece[row], kinds[row], after)
            if key not in jobs:
                jobs[key] = len(copies)
                copies.append(0)
                first_rows.append(row)
            job_of[row] = jobs[key]
            copies[jobs[key]] += 1
            row += 1
        uses = [
            tuple((r, s * count / family.chunks) for r, s in shop.uses[first])
            for first, count in zip(first_rows, copies, strict=True)
        ]
        made.append(_Coarse(uses, [shop.latency_s[first] for first in first_rows], [list(key[2]) for key in jobs]))
    return made
