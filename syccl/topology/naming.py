"""Names in input files: suggestions for a name that nobody declared."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a clause that offers the known names nearest to an unknown one; empty where none is near."""
    near = get_close_matches(name, list(known), n=_SHOWN)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
