"""Proofs of bounds: right ones are accepted, damaged ones are not, and what is accepted holds for schedules."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS
from syccl.proof import Certificate, Family, Flow, Priced, verify_certificate
from syccl.topology import Link, Topology
from tests.bounds.clusters import a100, h800
from tests.bounds.plans import random_time
from tests.proof.made import certificate
from tests.strategies import gpus, ring, symmetric_topologies, topologies, two_servers

SIZE = 100_000


def rules(stated: Certificate) -> set[str]:
    return {finding.rule for finding in verify_certificate(stated)}


def pair(rate: int = 10**9, alpha_ps: int = 10**6) -> Topology:
    """Two GPUs with one link each way."""
    return Topology("pair", gpus(2), (Link(0, 1, rate, alpha_ps), Link(1, 0, rate, alpha_ps)))


def by_hand(time_ps: int, size: int) -> Certificate:
    """A broadcast from rank 0 of a pair: at 1 GB/s and 1 us it takes size in ns, and 1 us."""
    launch = time_ps - 10**6
    grid = np.array([0, launch, time_ps])
    paid = Priced(np.array([0]), np.array([1, 0]))
    flow = Flow(0, 1, (paid,))
    return Certificate(pair(), OPS["broadcast"], size, 0, grid, (), (paid,), (Family((), (flow,)),))


def test_the_smallest_proof_is_sharp() -> None:
    assert rules(by_hand(3_000_000, 2_001)) == set()
    assert rules(by_hand(3_000_000, 2_000)) == {"payload"}


def test_alpha_alone_needs_no_prices() -> None:
    grid = np.array([0, 10**6])
    stated = Certificate(pair(), OPS["broadcast"], 1, 0, grid, (), (), (Family((), (Flow(0, 1, ()),)),))
    assert rules(stated) == set()
    assert rules(replace(stated, grid=np.array([0, 10**6 + 1]))) == {"payload"}


@pytest.mark.parametrize("op", sorted(OPS))
@pytest.mark.parametrize("size", [1024, 262_144])
def test_proofs_of_whole_clusters_are_accepted(op: str, size: int) -> None:
    for topology in (a100(2, 4, 2), h800(3, 2)):
        stated = certificate(topology, op, size)
        assert rules(stated) == set()
        assert "payload" in rules(replace(stated, size_bytes=size * 49 // 50))


@given(topologies(max_gpus=4) | symmetric_topologies(), st.sampled_from(sorted(OPS)), st.integers(0, 99))
def test_what_is_accepted_holds_for_schedules(topology: Topology, op: str, seed: int) -> None:
    if topology.ranks > 6:
        return
    stated = certificate(topology, op, SIZE)
    assert random_time(topology, op, SIZE, random.Random(seed), pieces=1 + seed % 2) * 1e12 > stated.time_ps


def changed(rows: tuple[Priced, ...], change: int) -> list[tuple[Priced, ...]]:
    """Every way to change one price that is not 0."""
    found = []
    for number, row in enumerate(rows):
        for i in np.flatnonzero(row.price):
            price = row.price.copy()
            price[i] = max(0, price[i] + change)
            found.append((*rows[:number], Priced(row.ids, price), *rows[number + 1 :]))
    return found


def damaged_links(stated: Certificate) -> list[Certificate]:
    return [replace(stated, links=rows) for rows in changed(stated.links, -(1 << 31))]


def damaged_flows(stated: Certificate, change: int) -> list[Certificate]:
    found = []
    for f, family in enumerate(stated.families):
        for g, flow in enumerate(family.flows):
            for rows in changed(flow.prices, change):
                flows = (*family.flows[:g], replace(flow, prices=rows), *family.flows[g + 1 :])
                families = (*stated.families[:f], replace(family, flows=flows), *stated.families[f + 1 :])
                found.append(replace(stated, families=families))
    return found


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce", "broadcast"])
def test_links_that_flows_pay_for_cannot_be_cheaper(op: str) -> None:
    damaged = damaged_links(certificate(two_servers(2), op, SIZE))
    assert len(damaged) > 3
    assert all(rules(stated) & {"price", "payload"} for stated in damaged)


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce", "broadcast"])
def test_flows_cannot_pay_more_or_less(op: str) -> None:
    stated = certificate(two_servers(2), op, SIZE)
    more, less = damaged_flows(stated, 1 << 31), damaged_flows(stated, -(1 << 31))
    assert len(more) == len(less) > 3
    assert all(rules(one) == {"price"} for one in more)
    # A payment that no cheapest walk makes is of no use, and may be left out.
    wrong = [one for one in less if rules(one)]
    assert len(wrong) >= len(less) // 2
    assert all(rules(one) == {"payload"} for one in wrong)


def test_links_that_are_shared_directly_cannot_be_cheaper() -> None:
    stated = certificate(two_servers(2), "alltoall", SIZE)
    assert all(rules(one) == {"payload"} for one in damaged_links(stated))


def swapped(topology: Topology, a: int, b: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    move = np.arange(len(topology.nodes))
    move[[a, b]] = b, a
    return move


def test_permutations_must_be_symmetries() -> None:
    stated = certificate(ring(6), "allgather", SIZE)
    assert stated.symmetry
    wrong = replace(stated, symmetry=(*stated.symmetry, swapped(ring(6), 0, 1)))
    assert rules(wrong) == {"symmetry"}
    assert rules(replace(stated, symmetry=(np.zeros(6, dtype=np.int64),))) == {"symmetry"}
    moved = replace(stated.families[0], symmetry=stated.symmetry)
    assert rules(replace(stated, families=(moved,))) == {"symmetry"}


def test_without_its_symmetries_a_proof_speaks_of_less_than_all_ranks() -> None:
    stated = certificate(ring(6), "allgather", SIZE)
    assert rules(replace(stated, symmetry=())) == {"payload"}
    rooted = certificate(ring(6), "broadcast", SIZE, root=2)
    assert rules(replace(rooted, root=1)) & {"symmetry", "flow"}


def test_a_flow_counts_once() -> None:
    stated = certificate(two_servers(2), "allgather", SIZE)
    family = stated.families[0]
    assert rules(replace(stated, families=(replace(family, flows=(*family.flows, family.flows[0])),))) == {"flow"}
    assert rules(replace(stated, families=(family, family))) == {"flow"}
    there_and_back = replace(family.flows[0], source=1, sink=0)
    assert rules(replace(stated, families=(replace(family, flows=(*family.flows, there_and_back)),))) == {"flow"}
    joint = certificate(two_servers(2), "allreduce", SIZE)
    assert rules(replace(joint, families=joint.families * 2)) == {"flow"}


@pytest.mark.parametrize(
    "change",
    [
        {"grid": np.array([0, 5, 5])},
        {"grid": np.array([1, 5])},
        {"root": 7},
        {"size_bytes": 0},
        {"links": (Priced(np.array([99]), np.array([1, 0])),)},
        {"links": (Priced(np.array([0]), np.array([1])),)},
        {"links": (Priced(np.array([0]), np.array([-1, 1])),)},
        {"families": (Family((), (Flow(0, 9, ()),)),)},
    ],
)
def test_numbers_out_of_range_are_told(change: dict[str, object]) -> None:
    assert rules(replace(by_hand(3_000_000, 2_001), **change)) == {"shape"}


def test_a_byte_may_cross_a_fast_link_before_the_slow_one() -> None:
    """A route of a fast and a slow link: only what the fast link costs at its cheapest so far may be asked for."""
    from syccl.topology import Kind, Node

    nodes = (*gpus(2), Node("switch", Kind.SWITCH))
    topology = Topology("unequal", nodes, (Link(0, 2, 4 * 10**9, 0), Link(2, 1, 10**9, 10**6)))
    grid = np.array([0, 10**6, 2 * 10**6, 3 * 10**6])
    late = Priced(np.array([0]), np.array([0, 1, 0]))
    flow = Flow(0, 1, (late,))
    stated = Certificate(topology, OPS["broadcast"], 9_999, 0, grid, (), (late,), (Family((), (flow,)),))
    assert rules(stated) == {"price"}
    always = Priced(np.array([0]), np.array([1, 1, 0]))
    good = replace(stated, links=(always,), families=(Family((), (Flow(0, 1, (always,)),)),))
    assert rules(good) == set()
