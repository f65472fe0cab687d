"""The matrix of alltoallv: how many bytes each rank has for each other; row = sender."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from syccl.documents import parse_json
from syccl.errors import InputError

LARGEST_ENTRY = 2**48
"""Bytes; what is more is taken for a mistake."""
_FORM = "one row for each sender, with one whole number of {unit} for each receiver"


@dataclass(frozen=True)
class Matrix:
    """Bytes from each rank (row) to each rank (column); the diagonal stays on its rank.

    Raises
    ------
    InputError
        When it is empty, not square or has a negative entry.
    """

    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Check the shape."""
        if not self.rows or any(len(row) != len(self.rows) for row in self.rows):
            msg = f"the matrix must be square; it has {len(self.rows)} rows of {sorted(set(map(len, self.rows)))}"
            raise InputError(msg)
        if any(not 0 <= entry <= LARGEST_ENTRY for row in self.rows for entry in row):
            msg = f"entries of the matrix must be from 0 to {LARGEST_ENTRY} bytes"
            raise InputError(msg)

    @property
    def ranks(self) -> int:
        """Number of rows and of columns."""
        return len(self.rows)

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """The entries, shape ``(ranks, ranks)``."""
        return np.array(self.rows, dtype=np.int64)

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of the largest send or receive buffer of any rank.

        For equal entries it is nccl-tests' size of alltoall.
        """
        return int(max(self.table.sum(axis=0).max(), self.table.sum(axis=1).max()))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of different ranks that have something to move, in an order that turns with the sender."""
        n = self.ranks
        turned = ((u, (u + step) % n) for step in range(1, n) for u in range(n))
        return tuple((u, v) for u, v in turned if self.rows[u][v])


def require_fit(matrix: Matrix, ranks: int, *, topology: str, source: str, element_bytes: int = 1) -> None:
    """Check a matrix against a cluster and an element type.

    Raises
    ------
    InputError
        When it is for another number of ranks, or an entry is no whole number of elements.
    """
    if matrix.ranks != ranks:
        msg = (
            f"{source}: the matrix is {matrix.ranks} x {matrix.ranks}, but {topology} has {ranks} ranks; "
            f"give {ranks} rows of {ranks} entries"
        )
        raise InputError(msg)
    bad = np.argwhere(matrix.table % element_bytes)
    if len(bad):
        u, v = bad[0].tolist()
        msg = (
            f"{source}: row {u + 1}, column {v + 1}: {matrix.rows[u][v]} bytes are no multiple of {element_bytes}, the "
            "bytes of one element; choose another --datatype, or pad the entry"
        )
        raise InputError(msg)


def read_matrix(text: str, *, source: str, unit_bytes: int = 1) -> Matrix:
    """Return the matrix that a file states: comma-separated lines, or a list of lists in JSON.

    Parameters
    ----------
    text
        Of the file. Empty lines and lines that begin with ``#`` are left out of CSV.
    source
        What to call the file in errors.
    unit_bytes
        Bytes of one unit of an entry.

    Raises
    ------
    InputError
        When it is neither, not square, or an entry is no whole number from 0 on. Rows and columns count from 1.
    """
    text = text.removeprefix("\ufeff")
    rows = _json_rows(text, source) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text, source)
    if not rows:
        msg = f"{source}: no row in it; write {_FORM.format(unit='bytes')}"
        raise InputError(msg)
    for place, row in rows:
        if len(row) != len(rows):
            msg = f"{place}: {len(row)} entries, but there are {len(rows)} rows; the matrix must be square"
            raise InputError(msg)
    return Matrix(
        tuple(
            tuple(_bytes(entry, place, column, unit_bytes) for column, entry in enumerate(row, 1))
            for place, row in rows
        )
    )


_Rows = list[tuple[str, Sequence[object]]]
"""Place of each row in its file, and its entries."""


def _csv_rows(text: str, source: str) -> _Rows:
    rows: _Rows = []
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        for number, line in enumerate(reader, 1):
            if any(field.strip() for field in line) and not line[0].lstrip().startswith("#"):
                fields = line[:-1] if len(line) > 1 and not line[-1].strip() else line
                rows.append((f"{source}:{number}", [field.strip() for field in fields]))
    except csv.Error as error:
        msg = f"{source}:{reader.line_num}: not comma-separated: {error}"
        raise InputError(msg) from None
    return rows


def _json_rows(text: str, source: str) -> _Rows:
    data = parse_json(text, source)
    if not isinstance(data, list):
        msg = f"{source}: must be a list of rows: {_FORM.format(unit='bytes')}"
        raise InputError(msg)
    rows: _Rows = []
    for number, row in enumerate(data, 1):
        if not isinstance(row, list):
            msg = f"{source}: row {number}: {row!r} is no list of entries"
            raise InputError(msg)
        rows.append((f"{source}: row {number}", row))
    return rows


def _bytes(entry: object, place: str, column: int, unit_bytes: int) -> int:
    value: int | None = None
    if isinstance(entry, int) and not isinstance(entry, bool):
        value = entry
    elif isinstance(entry, str) and entry.removeprefix("-").isascii() and entry.removeprefix("-").isdigit():
        value = int(entry) if len(entry) <= len(str(LARGEST_ENTRY)) + 1 else LARGEST_ENTRY + 1
    if value is None or not 0 <= value * unit_bytes <= LARGEST_ENTRY:
        shown = f"{str(entry)[:40]!r}" if isinstance(entry, str) else repr(entry)[:40]
        why = "is no whole number" if value is None else "is negative" if value < 0 else "is too large"
        most = LARGEST_ENTRY // unit_bytes
        msg = f"{place}, column {column}: {shown} {why}; allowed are whole numbers from 0 to {most}"
        raise InputError(msg)
    return value * unit_bytes


def split_evenly(total: int, parts: int, *, unit: int = 1) -> list[int]:
    """Return ``parts`` near-equal sizes that add up to ``total``, each a multiple of ``unit`` that divides it."""
    units = total // unit
    edges = [units * i // parts for i in range(parts + 1)]
    return [(high - low) * unit for low, high in pairwise(edges) if high > low]
