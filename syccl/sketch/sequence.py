"""The order of pieces: every stretch of them should load the links like the whole.

Pieces are under way one after the other, so a link that the first half of the pieces hardly uses stays idle for half
of the time, whatever its whole load is. The next piece is always the one that brings the loads so far nearest to their
due share (herding).

References
----------
M. Welling, "Herding dynamical weights to learn", International Conference on Machine Learning (2009).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syccl.sketch.model import Piece
from syccl.sketch.quotient import Floats, Quotient


def evenly_sequenced(pieces: Sequence[Piece], quotient: Quotient) -> tuple[Piece, ...]:
    """Return the pieces in an order in which sums and copies load every link evenly over time."""
    if not pieces:
        return ()
    excess = _loads(pieces, quotient)
    excess -= excess.mean(axis=0)
    lengths = (excess * excess).sum(axis=1)
    so_far = np.zeros(excess.shape[1])
    is_left = np.ones(len(pieces), dtype=np.bool_)
    order: list[int] = []
    for _ in pieces:
        distance = np.where(is_left, 2.0 * (excess @ so_far) + lengths, np.inf)
        best = int(distance.argmin())
        is_left[best] = False
        so_far += excess[best]
        order.append(best)
    return tuple(pieces[i] for i in order)


def _loads(pieces: Sequence[Piece], quotient: Quotient) -> Floats:
    """Return the seconds per byte of each link, for sums and for copies, by every piece."""
    table = np.zeros((len(pieces), 2, quotient.orbits))
    for i, piece in enumerate(pieces):
        for half, reduces in enumerate((True, False)):
            ends = [(hop.src, hop.dst) for hop in piece.hops if hop.reduce == reduces]
            if ends:
                table[i, half] = quotient.class_loads(quotient.arc_class[tuple(np.array(ends).T)])
    return (table / quotient.capacities).reshape(len(pieces), 2 * quotient.orbits)
