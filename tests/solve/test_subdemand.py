"""Sub-demands: closed forms, proofs, keys."""

from __future__ import annotations

import random

import pytest

from syccl.optimize.status import Status
from syccl.solve.remember import solve
from syccl.solve.subdemand import Arc, SubDemand, demand_of, key_of, size_of
from syccl.store import Store

PORT_S, ALPHA_S = 4e-6, 1e-6
"""What one piece takes on a port, and the latency of the switch."""


def switch(ranks: int, holders: list[dict[int, float]], *, alpha_s: float = ALPHA_S) -> SubDemand:
    """A non-blocking switch: a transfer takes the port out of its sender and the port into its receiver."""
    arcs = [
        Arc(u, v, ((u, PORT_S), (ranks + v, PORT_S)), alpha_s) for u in range(ranks) for v in range(ranks) if u != v
    ]
    return SubDemand(ranks, tuple(arcs), tuple(holders))


def rotated_switch(ranks: int, pieces: int) -> SubDemand:
    """The same in the quotient by the rotation: all ports out are one resource, all ports in another."""
    arcs = [
        Arc(u, v, ((0, PORT_S), (1, PORT_S)), ALPHA_S) for u in range(ranks) for v in range(ranks) if u != v
    ]  # fmt: skip
    return SubDemand(ranks, tuple(arcs), tuple({0: 0.0} for _ in range(pieces)))


def closed_form(ranks: int, pieces: int) -> float:
    return (ranks - 1) * pieces * PORT_S + ALPHA_S


@pytest.mark.parametrize(("ranks", "pieces"), [(3, 1), (3, 2), (4, 1), (4, 2), (5, 1)])
def test_no_schedule_beats_the_rotation_on_one_switch(ranks: int, pieces: int) -> None:
    demand = switch(ranks, [{root: 0.0} for root in range(ranks) for _ in range(pieces)])
    known = closed_form(ranks, pieces)
    found = solve(demand, Store(), effort=30.0)
    assert found.status is Status.OPTIMAL
    assert found.makespan_s == pytest.approx(known, rel=1e-3)
    assert found.bound_s == pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize(("ranks", "pieces"), [(4, 1), (4, 2), (5, 1), (5, 2)])
def test_no_schedule_beats_the_rotation_in_the_quotient(ranks: int, pieces: int) -> None:
    known = closed_form(ranks, pieces)
    found = solve(rotated_switch(ranks, pieces), Store(), effort=30.0)
    assert found.status is Status.OPTIMAL
    assert found.makespan_s == pytest.approx(known, rel=1e-3)
    assert found.bound_s == pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize(("ranks", "rounds"), [(4, 2), (5, 3), (8, 3)])
def test_a_broadcast_doubles_every_round(ranks: int, rounds: int) -> None:
    demand = switch(ranks, [{0: 0.0}], alpha_s=0.0)
    found = solve(demand, Store(), effort=30.0)
    assert found.status is Status.OPTIMAL
    assert found.makespan_s == pytest.approx(rounds * PORT_S, rel=1e-2)
    assert set(found.parents[0]) == set(range(1, ranks))


def test_every_member_that_does_not_hold_a_piece_gets_a_parent() -> None:
    demand = switch(4, [{0: 0.0, 2: 0.0}, {3: 0.0}])
    found = solve(demand, Store(), effort=10.0)
    assert [sorted(parents) for parents in found.parents] == [[1, 3], [0, 1, 2]]


def test_a_late_holder_is_waited_for_only_where_that_pays() -> None:
    late = switch(2, [{0: 5 * PORT_S}])
    found = solve(late, Store(), effort=1.0)
    assert found.makespan_s == pytest.approx(6 * PORT_S + ALPHA_S, rel=1e-3)
    either = switch(3, [{0: 0.0, 1: 9 * PORT_S}])
    assert solve(either, Store(), effort=1.0).parents == ({2: 0},)


def test_without_effort_the_first_answer_is_taken_and_not_called_optimal() -> None:
    demand = switch(6, [{root: 0.0} for root in range(6)])
    found = solve(demand, Store(), effort=0.0)
    assert found.status is Status.FEASIBLE
    assert [sorted({root, *parents}) for root, parents in enumerate(found.parents)] == [list(range(6))] * 6
    assert found.makespan_s >= closed_form(6, 1) * (1 - 1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_key_describes_its_demand_up_to_names(seed: int) -> None:
    demand = switch(4, [{0: 0.0, 2: 3e-6}, {1: 0.0}, {1: 1e-6}])
    key, _ = key_of(demand)
    named = demand_of(key)
    assert key_of(named)[0] == key == key_of(renamed(named, seed)[0])[0]
    assert (named.members, len(named.arcs), len(named.holders)) == (4, 12, 3)


def test_a_demand_too_large_for_canonical_names_is_described_as_it_is() -> None:
    demand = switch(16, [{root: 0.0} for root in range(16)])
    key, name = key_of(demand)
    assert key[0] == "numbered"
    assert name == tuple(range(16 + 16 + 240 + 32))
    first_resource = 16 + 16 + 240
    moved = [Arc(a.src, a.dst, tuple((r + first_resource, s) for r, s in a.uses), a.latency_s) for a in demand.arcs]
    assert demand_of(key) == SubDemand(16, tuple(moved), demand.holders)


def test_the_size_counts_a_way_for_every_piece_and_arc() -> None:
    assert size_of(switch(4, [{0: 0.0}, {1: 0.0}])) == 2 * 12


def renamed(demand: SubDemand, seed: int) -> tuple[SubDemand, list[int], list[int]]:
    """The same demand with members, pieces, arcs and resources in another order, and the new names of the former."""
    rng = random.Random(seed)
    member, piece = (rng.sample(range(n), n) for n in (demand.members, len(demand.holders)))
    resource = dict(zip(range(100), rng.sample(range(100), 100), strict=True))
    arcs = [
        Arc(member[a.src], member[a.dst], tuple((resource[r], s) for r, s in reversed(a.uses)), a.latency_s)
        for a in demand.arcs
    ]
    holders: list[dict[int, float]] = [{} for _ in demand.holders]
    for i, held in enumerate(demand.holders):
        holders[piece[i]] = {member[m]: since for m, since in held.items()}
    rng.shuffle(arcs)
    return SubDemand(demand.members, tuple(arcs), tuple(holders)), member, piece


@pytest.mark.parametrize("seed", range(4))
def test_demands_that_are_the_same_up_to_names_share_a_key(seed: int) -> None:
    demand = switch(4, [{0: 0.0, 2: 3e-6}, {1: 0.0}, {1: 1e-6}])
    other, member, piece = renamed(demand, seed)
    key, name = key_of(demand)
    other_key, other_name = key_of(other)
    assert key == other_key
    back = {canonical: vertex for vertex, canonical in enumerate(other_name)}
    for i, held in enumerate(demand.holders):
        image = back[name[4 + i]] - 4
        moved = {back[name[m]]: since for m, since in held.items()}
        assert other.holders[image] == moved
    assert len(member) == 4
    assert len(piece) == 3


@pytest.mark.parametrize(
    "other",
    [
        switch(4, [{0: 0.0, 2: 4e-6}, {1: 0.0}]),
        switch(4, [{0: 0.0, 2: 3e-6}, {2: 0.0}]),
        switch(4, [{0: 0.0, 2: 3e-6}, {1: 0.0}], alpha_s=2e-6),
        switch(4, [{0: 0.0, 2: 3e-6}]),
        switch(5, [{0: 0.0, 2: 3e-6}, {1: 0.0}]),
    ],
)
def test_demands_that_differ_have_keys_that_differ(other: SubDemand) -> None:
    assert key_of(other)[0] != key_of(switch(4, [{0: 0.0, 2: 3e-6}, {1: 0.0}]))[0]
