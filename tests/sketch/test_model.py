"""Hops of trees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.model import Hop, both_trees, in_tree, out_tree
from tests.problems import contributions

PARENT = {1: 0, 2: 0, 3: 1, 4: 3}
"""Child -> parent: 0 -> 1 -> 3 -> 4 and 0 -> 2."""


@st.composite
def trees(draw: st.DrawFn, max_ranks: int = 8) -> tuple[int, dict[int, int]]:
    """A root and the parent of every other rank."""
    order = draw(st.permutations(range(draw(st.integers(1, max_ranks)))))
    return order[0], {child: order[draw(st.integers(0, i))] for i, child in enumerate(order[1:])}


def test_an_out_tree_sends_level_by_level() -> None:
    assert out_tree(0, PARENT) == (Hop(0, 1, 0), Hop(0, 2, 0), Hop(1, 3, 1), Hop(3, 4, 2))


def test_an_in_tree_is_the_out_tree_backwards() -> None:
    assert in_tree(0, PARENT) == (
        Hop(4, 3, 0, True),
        Hop(3, 1, 1, True),
        Hop(2, 0, 2, True),
        Hop(1, 0, 2, True),
    )  # fmt: skip


def test_both_trees_spread_after_they_have_summed() -> None:
    hops = both_trees(0, {1: 0, 2: 1}, {1: 0, 2: 0})
    assert hops == (Hop(2, 1, 0, True), Hop(1, 0, 1, True), Hop(0, 1, 2), Hop(0, 2, 2))


def test_half_a_pair_of_trees_starts_at_stage_zero() -> None:
    assert both_trees(0, PARENT, {}) == in_tree(0, PARENT)
    assert both_trees(0, {}, PARENT) == out_tree(0, PARENT)


def test_a_rank_alone_sends_nothing() -> None:
    assert out_tree(0, {}) == in_tree(0, {}) == both_trees(0, {}, {}) == ()


def test_ranks_that_the_root_does_not_reach_are_left_out() -> None:
    assert out_tree(0, {1: 0, 2: 3, 3: 2}) == (Hop(0, 1, 0),)


@given(trees())
def test_an_out_tree_reaches_every_rank_once_and_passes_on_only_what_has_arrived(made) -> None:
    root, parent = made
    hops = out_tree(root, parent)
    assert sorted(hop.dst for hop in hops) == sorted(parent)
    arrived = {root: -1} | {hop.dst: hop.stage for hop in hops}
    assert all(arrived[hop.src] == hop.stage - 1 and not hop.reduce for hop in hops)


@given(trees())
def test_an_in_tree_brings_every_contribution_to_the_root_once(made) -> None:
    root, parent = made
    assert contributions(in_tree(root, parent), len(parent) + 1)[root] == [1] * (len(parent) + 1)


@given(trees(), st.data())
def test_both_trees_leave_the_whole_sum_on_every_rank(made, data) -> None:
    root, inward = made
    ranks = len(inward) + 1
    order = [root, *data.draw(st.permutations(sorted(inward)))]
    outward = {child: order[data.draw(st.integers(0, i))] for i, child in enumerate(order[1:])}
    assert contributions(both_trees(root, inward, outward), ranks) == [[1] * ranks] * ranks
