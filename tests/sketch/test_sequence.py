"""The order of pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.model import Piece, both_trees, out_tree
from syccl.sketch.quotient import Quotient
from syccl.sketch.sequence import evenly_sequenced
from syccl.symmetry.group import trivial_group
from tests.strategies import ring

QUOTIENT = Quotient.of(ring(6), trivial_group(ring(6)))


def chain(step: int) -> Piece:
    """A broadcast round the ring, one way or the other."""
    return Piece(0, out_tree(0, {(i * step) % 6: ((i - 1) * step) % 6 for i in range(1, 6)}), "chain")


def pair(root: int) -> Piece:
    over = {(root + i) % 6: (root + i - 1) % 6 for i in range(1, 6)}
    return Piece(root, both_trees(root, over, over), "pair")


def test_two_kinds_of_pieces_take_turns() -> None:
    ways = [piece.hops[0].dst for piece in evenly_sequenced([chain(1)] * 6 + [chain(-1)] * 6, QUOTIENT)]
    assert all({ways[i], ways[i + 1]} == {1, 5} for i in range(0, 12, 2))


def test_shares_that_are_unequal_are_kept_up_all_the_time() -> None:
    ways = [piece.hops[0].dst for piece in evenly_sequenced([chain(1)] * 9 + [chain(-1)] * 3, QUOTIENT)]
    assert all(abs(ways[:k].count(5) - k / 4) <= 1 for k in range(1, 13))


@given(st.lists(st.integers(0, 5), max_size=12))
def test_pieces_are_only_reordered(roots: list[int]) -> None:
    pieces = [pair(root) for root in roots]
    made = evenly_sequenced(pieces, QUOTIENT)
    assert sorted(piece.root for piece in made) == sorted(roots)
