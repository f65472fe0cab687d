"""Rows: what is measured, one at a time, each in a process of its own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Row:
    """One measurement: the name of a function of ``tests.quality.measured`` and its arguments.

    ``key`` holds both as JSON, so that equal measurements of several tables are made once.
    """

    key: str

    @classmethod
    def of(cls, measure: str, **args: object) -> Row:
        """The row that calls a function with some arguments, which are plain values."""
        return cls(json.dumps([measure, args], sort_keys=True))

    @property
    def measure(self) -> str:
        """Name of the function."""
        return str(json.loads(self.key)[0])

    @property
    def args(self) -> dict[str, Any]:
        """Arguments of the function."""
        return dict(json.loads(self.key)[1])

    def __str__(self) -> str:
        return f"{self.measure} {' '.join(f'{name}={value}' for name, value in self.args.items())}"


@dataclass(frozen=True)
class Result:
    """What a row gave, and what its whole process took; ``error`` is empty where all went well."""

    value: Any
    error: str
    wall_s: float
    cpu_s: float
    peak_mib: float

    @property
    def record(self) -> dict[str, Any]:
        """Its fields, for a file."""
        return asdict(self)
