"""Families: the pieces that one sketch needs so that every rank plays every role equally often, one for each class.

The hops of a sketch depend on a root. Roots that give the same hops, or hops that are images of each other under the
symmetry group, are served by one piece. Where some symmetries map a piece to itself (the exchange along rails does not
care for the root at all), only one hop of each orbit is listed, and the piece has fewer images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.model import Hop, Piece
from syccl.sketch.quotient import Quotient
from syccl.symmetry import Group

Longs = NDArray[np.int64]
Codes = NDArray[np.uint64]

_UNEVENNESS = 2
"""Least number of times that each piece is used where some are used once more than others."""


@dataclass(frozen=True, eq=False)
class Family:
    """Pieces that together cut the data evenly.

    Parameters
    ----------
    chunks
        Chunks of all pieces, images under the symmetry group included; the data of the family is cut into so many.
    """

    name: str
    pieces: tuple[Piece, ...]
    chunks: int

    @property
    def rows(self) -> int:
        """Hops to be listed."""
        return sum(piece.rows for piece in self.pieces)


def spreading_family(quotient: Quotient, name: str, hops: Callable[[int], tuple[Hop, ...]]) -> Family:
    """Return the family of a sketch for allgather or reducescatter: one piece for each representative root."""
    roots = quotient.representatives.tolist()
    return Family(name, tuple(Piece(root, hops(root), name) for root in roots), quotient.ranks)


def summing_family(
    quotient: Quotient, name: str, hops: Callable[[int], tuple[Hop, ...]], *, even: bool = False
) -> Family:
    """Return the family of a sketch for allreduce.

    Parameters
    ----------
    even
        Make the number of chunks a power of two, with some pieces more often than others where need be.
    """
    pieces = _summing_pieces(quotient, name, hops)
    images = [quotient.group.order // piece.symmetries for piece in pieces]
    chunks = sum(images)
    if even and chunks & (chunks - 1) and len(set(images)) == 1:
        wanted = 1 << (_UNEVENNESS * chunks // images[0]).bit_length()
        pieces = [pieces[i % len(pieces)] for i in range(wanted)]
        chunks = wanted * images[0]
    return Family(name, tuple(pieces), chunks)


def _summing_pieces(quotient: Quotient, name: str, hops: Callable[[int], tuple[Hop, ...]]) -> list[Piece]:
    """Return a piece for each class of hops under the symmetry group, over all roots."""
    found: dict[int, Piece] = {}
    for root in quotient.representatives.tolist():
        piece, key = _folded(quotient.group, Piece(root, hops(root), name))
        found.setdefault(key, piece)
    return list(found.values())


def _folded(group: Group, piece: Piece) -> tuple[Piece, int]:
    """Return a piece with its leaders, and a number that all its images have in common."""
    table = np.array(piece.hops, dtype=np.int64).reshape(-1, 4)
    codes = _codes(group, table)
    marks = _marks(codes)
    same = np.flatnonzero(marks == marks[0])
    leaders = _leaders(codes[same]) if len(same) > 1 else None
    key = int(marks.min())
    return (piece, key) if leaders is None else (replace(piece, leaders=tuple(leaders.tolist())), key)


def _codes(group: Group, hops: Longs) -> Longs:
    """Return a number for the image of every hop under every element, shape ``(order, hops)``."""
    n = group.ranks.shape[1]
    src, dst = (group.ranks[:, hops[:, column]].astype(np.int64) for column in (0, 1))
    return np.asarray(((hops[:, 2] * 2 + hops[:, 3]) * n + src) * n + dst)


def _marks(codes: Longs) -> Codes:
    """Return a number for the set of the images under every element; equal sets have equal ones."""
    mixed = codes.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))).sum(axis=1, dtype=np.uint64))


def _leaders(codes: Longs) -> Longs | None:
    """Return the least hop that stands for each hop, None when an element does not map the hops to themselves."""
    order = np.argsort(codes[0], kind="stable")
    position = np.minimum(np.searchsorted(codes[0][order], codes), len(order) - 1)
    images = order[position]
    return np.asarray(images.min(axis=0)) if (codes[0][images] == codes).all() else None
