"""Typed access to the fields of a JSON document, with errors that name the file and the field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from syccl.documents import parse_json
from syccl.errors import InputError

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Field:
    """A value in a document together with its place."""

    source: str
    path: str
    value: object

    def fail(self, problem: str) -> NoReturn:
        """Raise an ``InputError`` that names the file and this field."""
        place = f"{self.source}: {self.path}" if self.path else self.source
        msg = f"{place}: {problem}"
        raise InputError(msg)

    def members(self, names: Sequence[str]) -> list[Field]:
        """Return the members of an object that has exactly these names."""
        if not isinstance(self.value, dict):
            self.fail(f"must be an object with {', '.join(names)}")
        for name in self.value:
            if name not in names:
                self.fail(f"unknown field {name!r}; allowed are {', '.join(names)}")
        for name in names:
            if name not in self.value:
                self.fail(f"field {name!r} is missing")
        prefix = f"{self.path}." if self.path else ""
        return [Field(self.source, prefix + name, self.value[name]) for name in names]

    def items(self, count: int | None = None) -> list[Field]:
        """Return the items of a list; ``count`` says how many there must be."""
        values = self._list()
        if count is not None and len(values) != count:
            self.fail(f"has {len(values)} items; expected {count}")
        return [Field(self.source, f"{self.path}[{i}]", value) for i, value in enumerate(values)]

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            self.fail(f"{self.value!r} is not a string")
        return self.value

    def integer(self, low: int, high: int | None = None) -> int:
        """Return a whole number of at least ``low`` and, where given, at most ``high``."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
            self.fail(f"{value!r} is not a whole number {_range(low, high)}")
        return value

    def integers(self, low: int, high: int, *, count: int | None = None) -> NDArray[np.int32]:
        """Return a list of whole numbers from ``low`` to ``high``."""
        return np.array(self._integers(low, high, count), dtype=np.int32)

    def longs(self, low: int, high: int, *, count: int | None = None) -> NDArray[np.int64]:
        """Return a list of whole numbers from ``low`` to ``high`` that may need 64 bits."""
        return np.array(self._integers(low, high, count), dtype=np.int64)

    def _integers(self, low: int, high: int, count: int | None) -> list[object]:
        values = self._list()
        if count is not None and len(values) != count:
            self.fail(f"has {len(values)} numbers; expected {count}")
        for i, value in enumerate(values):
            if type(value) is not int or not low <= value <= high:
                Field(self.source, f"{self.path}[{i}]", value).integer(low, high)
        return values

    def _list(self) -> list[object]:
        if not isinstance(self.value, list):
            self.fail("must be a list")
        return self.value


def parse_document(text: str, source: str) -> Field:
    """Return the whole document that a JSON text states.

    Raises
    ------
    InputError
        When the text is not JSON or states a field twice.
    """
    return Field(source, "", parse_json(text, source))


def _range(low: int, high: int | None) -> str:
    return f"of at least {low}" if high is None else f"from {low} to {high}"
