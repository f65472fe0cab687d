"""One vocabulary for the outcome of every solver."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a solver ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    GAVE_UP = "gave up"
    ERROR = "error"

    @property
    def has_solution(self) -> bool:
        """Whether values can be read."""
        return self in {Status.OPTIMAL, Status.FEASIBLE}
