"""Which solvers answer."""

from __future__ import annotations


def solver_version() -> str:
    """Return the version of OR-Tools: another one may give other answers of the same worth."""
    import ortools

    return str(ortools.__version__)  # type: ignore[attr-defined]
