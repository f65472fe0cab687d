"""When the hops of pieces start."""

from __future__ import annotations

import pytest

from syccl.sketch.model import Piece, both_trees, in_tree, out_tree
from syccl.sketch.quotient import Quotient
from syccl.solve.timing import job_shop, rows_of, time_pieces
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.strategies import LATENCY_PS, RATE, one_switch, ring, two_servers

ALPHA_S = LATENCY_PS * 1e-12
BYTES = 1 << 16
BETA_S = BYTES / RATE


def star(root: int, ranks: int) -> Piece:
    return Piece(root, out_tree(root, {rank: root for rank in range(ranks) if rank != root}), "star")


def chain(root: int, ranks: int, step: int = 1) -> Piece:
    return Piece(root, out_tree(root, {(root + i * step) % ranks: (root + (i - 1) * step) % ranks
                                       for i in range(1, ranks)}), "chain")  # fmt: skip


def quotient_of(topology: Topology, *, symmetric: bool = True) -> Quotient:
    return Quotient.of(topology, find_group(topology) if symmetric else trivial_group(topology))


def seconds(pieces: list[Piece], quotient: Quotient) -> float:
    return time_pieces(pieces, quotient, BYTES).timing.makespan_s


def test_hops_wait_for_what_came_into_their_sender_before() -> None:
    rows = rows_of([Piece(0, both_trees(0, {1: 0, 2: 0}, {1: 0, 2: 1}), ""), star(1, 3)])
    assert rows.piece == [0, 0, 0, 0, 1, 1]
    assert [list(pair) for pair in zip(rows.src, rows.dst, strict=True)] == [
        [2, 0], [1, 0], [0, 1], [1, 2], [1, 0], [1, 2],
    ]  # fmt: skip
    assert rows.after == [[], [], [0, 1], [2], [], []]
    assert rows.reduce == [True, True, False, False, False, False]


def test_hops_of_one_stage_do_not_wait_for_each_other() -> None:
    exchange = Piece(0, (*in_tree(0, {1: 0}), *in_tree(1, {0: 1})), "")
    assert rows_of([exchange]).after == [[], []]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_a_rotation_on_a_switch_takes_its_closed_form(ranks: int) -> None:
    quotient = quotient_of(one_switch(ranks))
    assert seconds([star(0, ranks)], quotient) == pytest.approx((ranks - 1) * BETA_S + ALPHA_S)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_chain_round_a_ring_takes_its_closed_form(symmetric: bool) -> None:
    quotient = quotient_of(ring(4), symmetric=symmetric)
    roots = [0] if symmetric else range(4)
    assert seconds([chain(root, 4) for root in roots], quotient) == pytest.approx(3 * (BETA_S + ALPHA_S))


def test_two_chains_in_two_directions_do_not_hinder_each_other() -> None:
    quotient = quotient_of(ring(5))
    assert seconds([chain(0, 5), chain(0, 5, -1)], quotient) == pytest.approx(4 * (BETA_S + ALPHA_S))


def test_many_pieces_of_a_broadcast_chain_are_pipelined() -> None:
    quotient = quotient_of(ring(5), symmetric=False)
    assert seconds([chain(0, 5)] * 8, quotient) == pytest.approx((8 + 3) * BETA_S + 4 * ALPHA_S, rel=0.1)


def test_copies_that_share_a_link_occupy_it_together() -> None:
    topology = two_servers(2, nics=1)
    quotient = quotient_of(topology)
    assert quotient.group.order == 4
    shop = job_shop(rows_of([Piece(0, out_tree(0, {2: 0}), "")]), quotient, BYTES)
    links = quotient.route(0, 2)
    assert max(seconds for _, seconds in shop.uses[0]) == pytest.approx(2 * BETA_S)
    assert shop.duration_s(0) == pytest.approx(2 * BETA_S + sum(topology.links[i].latency_ps for i in links) * 1e-12)


def test_arrivals_are_starts_and_durations() -> None:
    timed = time_pieces([chain(0, 4)], quotient_of(ring(4)), BYTES)
    assert [timed.arrival_s(row) for row in range(3)] == pytest.approx([(i + 1) * (BETA_S + ALPHA_S) for i in range(3)])


def test_no_pieces_take_no_time() -> None:
    assert seconds([Piece(0, (), "alone")], quotient_of(ring(1))) == 0.0


@pytest.mark.parametrize("ranks", [3, 5])
def test_stars_of_an_odd_number_of_ranks_keep_all_ports_busy(ranks: int) -> None:
    pieces = [star(root, ranks) for _ in range(20) for root in range(ranks)]
    timed = time_pieces(pieces, quotient_of(one_switch(ranks), symmetric=False), 1e6)
    assert timed.timing.makespan_s < 1.05 * timed.shop.busiest_s
