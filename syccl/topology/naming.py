"""Node names in files: number ranges that stand for many names, and suggestions for a name nobody declared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import product
from typing import TypeGuard

from syccl.errors import InputError

MOST_NAMES = 1_000_000
"""Most names that one pattern may stand for; a longer range is a slip."""

_SHOWN = 3
_TOKEN = re.compile(r"\\(?P<literal>.)|(?P<first>[0-9]{1,9})\.\.(?P<last>[0-9]{1,9})|(?P<plain>[^\\])", re.DOTALL)
_LIKE_A_RANGE = re.compile(r"(?<=[0-9])\.\.(?=[0-9])")


def expand_names(pattern: str) -> list[str]:
    """Return the names that a pattern stands for, in order.

    ``gpu0..3`` is gpu0, gpu1, gpu2, gpu3; ``n08..10`` keeps the width; ``7..0`` counts down; with several ranges
    the last one runs fastest. A backslash takes the next character literally.

    Raises
    ------
    InputError
        When the pattern is empty, ends in a backslash, or stands for more than a million names.
    """
    parts: list[list[str]] = []
    at, total = 0, 1
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            msg = f"name {pattern!r} ends in a backslash; write two for one"
            raise InputError(msg)
        at = token.end()
        if token["first"] is None:
            parts.append([token["literal"] or token["plain"]])
            continue
        total *= abs(int(token["last"]) - int(token["first"])) + 1
        if total > MOST_NAMES:
            msg = f"name pattern {pattern!r} stands for more than {MOST_NAMES} names"
            raise InputError(msg)
        parts.append(_numbers(token["first"], token["last"]))
    if not parts:
        msg = "a name is empty; names have at least one character"
        raise InputError(msg)
    return ["".join(choice) for choice in product(*parts)]


def _numbers(first: str, last: str) -> list[str]:
    low, high = int(first), int(last)
    width = len(first) if first.startswith("0") else 0
    step = 1 if low <= high else -1
    return [str(number).zfill(width) for number in range(low, high + step, step)]


def as_pattern(name: str) -> str:
    """Return the pattern that stands for exactly one name."""
    return _LIKE_A_RANGE.sub(r"\\..", name.replace("\\", "\\\\"))


def is_name(value: object) -> TypeGuard[str]:
    """Return whether a value can be a name: printable text, not empty."""
    return isinstance(value, str) and bool(value) and value.isprintable()


def shown(name: str) -> str:
    """Return a name as it is, or quoted where it would break a line."""
    return name if name.isprintable() else repr(name)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a clause that offers the known names nearest to an unknown one; empty where none is near."""
    near = get_close_matches(name, list(known), n=_SHOWN)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
