"""Trees inside irregular groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from syccl.optimize.status import Status
from syccl.sketch.model import Piece, out_tree
from syccl.sketch.quotient import Quotient
from syccl.solve import trees
from syccl.solve.remember import Solution
from syccl.solve.subdemand import SubDemand
from syccl.solve.timing import time_pieces
from syccl.solve.trees import Parents, Solver, sub_demand
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.problems import is_spanning
from tests.strategies import mesh, ring, two_servers

BYTES = float(1 << 16)


def chain(root: int, ranks: int) -> Parents:
    return {(root + i) % ranks: (root + i - 1) % ranks for i in range(1, ranks)}


def seconds(quotient: Quotient, made: Sequence[tuple[int, Parents]]) -> float:
    pieces = [Piece(root, out_tree(root, parent), "") for root, parent in made]
    return time_pieces(pieces, quotient, BYTES).timing.makespan_s


def whole(topology: Topology) -> tuple[tuple[int, ...], ...]:
    return (tuple(range(topology.ranks)),)


def plain(topology: Topology) -> Quotient:
    return Quotient.of(topology, trivial_group(topology))


def test_chains_the_long_way_round_a_ring_are_shortened() -> None:
    topology = ring(5)
    quotient = plain(topology)
    given = [(root, chain(root, 5)) for root in range(5)]
    solver = Solver(2.0)
    better = solver.improve(quotient, whole(topology), given, BYTES)
    assert better is not None
    roots = [root for root, _ in given]
    assert all(is_spanning(root, parent, 5) for root, parent in zip(roots, better, strict=True))
    assert seconds(quotient, list(zip(roots, better, strict=True))) < 0.6 * seconds(quotient, given)
    assert (solver.solved, solver.reused, solver.too_large) == (1, 0, 0)


def test_an_answer_is_used_again_for_the_same_demand_under_other_names() -> None:
    topology = mesh(4)
    quotient, solver = plain(topology), Solver(2.0)
    first = solver.improve(quotient, whole(topology), [(0, chain(0, 4))], BYTES)
    second = solver.improve(quotient, whole(topology), [(2, chain(2, 4))], BYTES)
    assert (solver.solved, solver.reused) == (1, 1)
    assert first is not None
    assert second is not None
    assert is_spanning(2, second[0], 4)
    assert seconds(quotient, [(0, first[0])]) == pytest.approx(seconds(quotient, [(2, second[0])]))


def test_large_demands_are_left_to_the_list_schedule() -> None:
    topology = mesh(8)
    solver = Solver(1.0)
    given = [(root, chain(root, 8)) for root in range(8)] * 4
    assert solver.improve(plain(topology), whole(topology), given, BYTES) is None
    assert (solver.solved, solver.too_large) == (0, 1)


def test_hops_between_islands_stand() -> None:
    topology = two_servers(3)
    parent = {3: 0, 1: 0, 2: 1, 5: 3, 4: 5}
    better = Solver(2.0).improve(plain(topology), ((0, 1, 2), (3, 4, 5)), [(0, parent)], BYTES)
    assert better is not None
    assert better[0][3] == 0
    assert is_spanning(0, better[0], 6)
    assert all((child < 3) == (over < 3) for child, over in better[0].items() if child != 3)


def test_reduction_trees_are_improved_in_the_flipped_quotient() -> None:
    topology = ring(5, one_way=True)
    inward = {child: (child + 1) % 5 for child in range(1, 5)}
    assert Solver(1.0).improve(plain(topology).flipped, whole(topology), [(0, inward)], BYTES) == [inward]


def test_the_sub_demand_has_the_release_times_of_the_sketch() -> None:
    topology = two_servers(2)
    quotient = Quotient.of(topology, find_group(topology))
    made = [(0, {1: 0, 2: 0, 3: 2})]
    timed = time_pieces([Piece(0, out_tree(0, made[0][1]), "")], quotient, BYTES)
    demand = sub_demand(quotient, {0: 0, 1: 0, 2: 1, 3: 1}, made, timed, chunk_bytes=BYTES)
    row = timed.rows.dst.index(2)
    assert demand.holders == ({0: 0.0, 2: timed.arrival_s(row)},)
    assert {(arc.src, arc.dst) for arc in demand.arcs} == {(0, 1), (1, 0), (2, 3), (3, 2)}


def test_an_answer_that_goes_in_a_circle_over_another_island_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = mesh(5)
    # 0 | 1 2 4 | 3: island (1, 2, 4) is entered at 1, and again at 2 from 3, which 4 serves.
    parent = {1: 0, 4: 1, 3: 4, 2: 3}

    def circle(demand: SubDemand, *_: Any, **__: Any) -> Solution:
        assert [sorted(held) for held in demand.holders] == [[0, 1, 2, 3]]
        return Solution(Status.OPTIMAL, ({4: 2},), 1.0, 1.0)

    monkeypatch.setattr(trees, "solve", circle)
    assert Solver(1.0).improve(plain(topology), ((0,), (1, 2, 4), (3,)), [(0, parent)], BYTES) is None
