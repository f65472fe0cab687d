"""JSON with one member or item a line, so that differences between files can be read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

PER_LINE = 32
"""Numbers of a long list in one line of the file: few enough for a readable difference."""


def _indented(text: str) -> str:
    return text.replace("\n", "\n ")


def object_text(members: Mapping[str, str]) -> str:
    """Return an object with one member a line, from the texts of its members."""
    lines = [f" {json.dumps(name)}: {_indented(text)}" for name, text in members.items()]
    return "{\n" + ",\n".join(lines) + "}"


def lines_text(items: Iterable[str]) -> str:
    """Return a list with one item a line, from the texts of its items."""
    lines = [" " + _indented(item) for item in items]
    return "[\n" + ",\n".join(lines) + "]" if lines else "[]"


def numbers_text(values: NDArray[np.integer]) -> str:
    """Return a list of numbers, in lines of ``PER_LINE``."""
    texts = list(map(str, values.tolist()))
    lines = [", ".join(texts[i : i + PER_LINE]) for i in range(0, len(texts), PER_LINE)]
    return "[" + ",\n ".join(lines) + "]"
