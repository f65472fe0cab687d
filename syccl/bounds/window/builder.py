"""Collecting a linear program block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syccl.optimize.linear import LinearProgram

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Builder:
    """Collects variables, rows and entries."""

    def __init__(self) -> None:
        self.columns = 0
        self.rows = 0
        self._entries: list[tuple[Longs, Longs, Floats]] = []
        self._bounds: list[tuple[Floats, Floats]] = []

    def variables(self, mask: Mask) -> Longs:
        """Return new variables where the mask holds, -1 elsewhere."""
        table = np.full(mask.shape, -1, dtype=np.int64)
        count = int(mask.sum())
        table[mask] = self.columns + np.arange(count)
        self.columns += count
        return table

    def constraints(self, shape: tuple[int, ...], lower: Floats | float, upper: Floats | float) -> Longs:
        """Return new rows of a shape."""
        count = int(np.prod(shape))
        self._bounds.append(
            (np.broadcast_to(lower, shape).astype(float).ravel(), np.broadcast_to(upper, shape).astype(float).ravel())
        )
        self.rows += count
        return (self.rows - count + np.arange(count)).reshape(shape)

    def add(self, rows: Longs, columns: Longs, values: Floats | float) -> None:
        """Add entries; negative rows or columns are left out."""
        rows, columns, values = (np.ravel(part) for part in np.broadcast_arrays(rows, columns, values))
        keep = (rows >= 0) & (columns >= 0)
        self._entries.append((rows[keep], columns[keep], values[keep].astype(float)))

    def program(self, objective: Floats) -> LinearProgram:
        """Return the program; all variables are 0 or more."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        keys, place = np.unique(rows * self.columns + columns, return_inverse=True)
        summed = np.bincount(place.reshape(-1), weights=values)
        lower, upper = (np.concatenate(parts) for parts in zip(*self._bounds, strict=True))
        keep = summed != 0
        return LinearProgram(
            objective,
            np.zeros(self.columns),
            np.full(self.columns, np.inf),
            lower,
            upper,
            (keys // self.columns)[keep].astype(np.int32),
            (keys % self.columns)[keep].astype(np.int32),
            summed[keep],
        )
