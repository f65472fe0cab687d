"""What a part of the benchmark is: cases, the rows that each needs, and the tables of what they gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.quality.rows import Result, Row
from tests.quality.tables import Table

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Measured:
    """A case with what its rows gave, in their order."""

    case: Case
    results: tuple[Result, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """Values of all rows; None for those that failed."""
        return tuple(result.value for result in self.results)

    def failures(self, what: str) -> list[str]:
        """What went wrong, once for each kind of error."""
        return list(dict.fromkeys(f"{what}: {result.error}" for result in self.results if result.error))


@dataclass(frozen=True)
class Part:
    """One part of the benchmark.

    Parameters
    ----------
    cases
        All cases, or few for a quick run.
    rows
        The rows that a case needs.
    tables
        The tables of the cases of which every row was measured.
    """

    name: str
    cases: Callable[[bool], Sequence[Case]]
    rows: Callable[[Case], Sequence[Row]]
    tables: Callable[[Sequence[Measured]], Sequence[Table]]
