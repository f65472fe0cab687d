from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS, Demand
from syccl.errors import InputError
from syccl.schedule import Schedule, Transfers, expand
from syccl.schedule.transform import relabel, reverse
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.topology import Kind, Link, Node, Topology
from tests.schedule import tiny

GOOD = tiny.COMPRESSED | tiny.EXPLICIT
REVERSIBLE = {name: make for name, make in GOOD.items() if "allreduce" not in name}


def columns(schedule: Schedule) -> dict[str, list[int]]:
    return {name: getattr(schedule.transfers, name).tolist() for name in Transfers.__dataclass_fields__}


def explicit_rows(schedule: Schedule) -> list[tuple[object, ...]]:
    """All images of all rows, each with its links; sorted."""
    explicit = expand(schedule)
    table = columns(explicit)
    table["route"] = [explicit.routes[i] for i in table["route"]]
    return sorted(zip(*table.values(), strict=True))


def same(one: Schedule, other: Schedule) -> bool:
    return one.demand == other.demand and one.routes == other.routes and columns(one) == columns(other)


@pytest.mark.parametrize("name", REVERSIBLE)
def test_reversed_schedules_are_correct_in_both_forms(name: str) -> None:
    schedule = REVERSIBLE[name]()
    backwards = reverse(schedule)
    assert backwards.order_of_symmetry == schedule.order_of_symmetry
    assert verify_schedule(backwards) == ()
    assert verify_schedule(expand(backwards)) == ()
    assert explicit_rows(backwards) == explicit_rows(reverse(expand(schedule)))


@pytest.mark.parametrize("name", REVERSIBLE)
def test_reversing_twice_gives_the_schedule_back(name: str) -> None:
    schedule = REVERSIBLE[name]()
    again = reverse(reverse(schedule))
    assert same(again, schedule)
    if schedule.symmetry is not None:
        assert np.array_equal(again.symmetry.chunks, schedule.symmetry.chunks)


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda: tiny.ring_allgather(4), "reducescatter"),
        (lambda: tiny.star_reducescatter(4), "allgather"),
        (lambda: tiny.star_broadcast(4), "reduce"),
        (tiny.tree_scatter, "gather"),
        (lambda: tiny.star_alltoall(4), "alltoall"),
    ],
)
def test_reversal_exchanges_sources_and_targets(make, op: str) -> None:
    assert reverse(make()).demand.op == OPS[op]


def test_a_reversed_ring_takes_the_same_time() -> None:
    schedule = tiny.ring_allgather(5)
    ahead, back = (schedule_time(s, size_bytes=5 << 20) for s in (schedule, reverse(schedule)))
    assert back.seconds == pytest.approx(ahead.seconds, rel=1e-12)
    assert back.link_busy_s.sum() == pytest.approx(ahead.link_busy_s.sum(), rel=1e-12)


def test_allreduce_is_not_reversed() -> None:
    with pytest.raises(InputError, match="allreduce cannot be reversed"):
        reverse(tiny.ring_allreduce(4))


def test_a_reduction_that_copies_its_sum_is_not_reversed() -> None:
    rows: list[tiny.Row] = [(0, 0, 1, True, 0, 0), (0, 2, 1, True, 0, 1), (0, 1, 0, False, 1, 2)]
    schedule = tiny.schedule_of(tiny.switch_topology(3), Demand(OPS["reduce"], 3, 1), rows)
    assert verify_schedule(schedule) == ()
    with pytest.raises(InputError, match="transfer 2 copies a finished sum"):
        reverse(schedule)


@pytest.mark.parametrize("back", [(), (Link(1, 0, 2 * 10**9, 5),), (Link(1, 0, 10**9, 6),)])
def test_a_link_without_an_equal_reversed_link_is_told(back: tuple[Link, ...]) -> None:
    topology = Topology("one-way", (Node("a", Kind.GPU), Node("b", Kind.GPU)), (Link(0, 1, 10**9, 5), *back))
    schedule = tiny.schedule_of(topology, Demand(OPS["broadcast"], 2, 1), [(0, 0, 1, False, 0, 0)])
    with pytest.raises(InputError, match="'one-way': link a->b has no reversed link of equal bandwidth"):
        reverse(schedule)


def test_parallel_links_are_reversed_one_by_one() -> None:
    nodes = (Node("a", Kind.GPU), Node("b", Kind.GPU))
    topology = Topology("double", nodes, tuple(Link(u, v, 10**9, 5) for u, v in ((0, 1), (1, 0), (1, 0), (0, 1))))
    rows: list[tiny.Row] = [(0, 0, 1, False, 0, 0), (1, 0, 1, False, 0, 0)]
    schedule = tiny.schedule_of(topology, Demand(OPS["broadcast"], 2, 2), rows)
    schedule = tiny.altered(replace(schedule, routes=((0,), (3,))), 1, route=1)
    assert reverse(schedule).routes == ((1,), (2,))


def shuffled(topology: Topology, nodes: list[int], links: list[int]) -> Topology:
    """The topology with node i at ``nodes[i]`` and its links in the order ``links``."""
    table: list[Node] = list(topology.nodes)
    for old, new in enumerate(nodes):
        table[new] = topology.nodes[old]
    moved = [link._replace(src=nodes[link.src], dst=nodes[link.dst]) for link in topology.links]
    return Topology(topology.name + "-shuffled", tuple(table), tuple(moved[i] for i in links))


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_relabelling_commutes_with_verify_time_and_expand(name: str, data: st.DataObject) -> None:
    schedule = GOOD[name]()
    nodes = data.draw(st.permutations(range(len(schedule.topology.nodes))))
    links = data.draw(st.permutations(range(len(schedule.topology.links))))
    topology = shuffled(schedule.topology, nodes, links)
    moved = relabel(schedule, topology, nodes)
    assert moved.topology is topology
    assert verify_schedule(moved) == ()
    before, after = (schedule_time(s, size_bytes=4096) for s in (schedule, moved))
    assert after.finish_s.tolist() == before.finish_s.tolist()
    assert after.link_busy_s.tolist() == before.link_busy_s[links].tolist()
    assert explicit_rows(moved) == explicit_rows(relabel(expand(schedule), topology, nodes))
    bad = tiny.without(schedule, data.draw(st.integers(0, len(schedule.transfers) - 1)))
    kinds = [sorted(f.rule for f in verify_schedule(s)) for s in (bad, relabel(bad, topology, nodes))]
    assert set(kinds[0]) == set(kinds[1]) != set()


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_relabelling_there_and_back_changes_nothing(name: str, data: st.DataObject) -> None:
    schedule = GOOD[name]()
    nodes = data.draw(st.permutations(range(len(schedule.topology.nodes))))
    topology = shuffled(schedule.topology, nodes, list(range(len(schedule.topology.links))))
    back = relabel(relabel(schedule, topology, nodes), schedule.topology, np.argsort(nodes))
    assert same(back, schedule)


def test_relabelling_needs_the_same_cluster() -> None:
    schedule = tiny.star_allgather(3)
    with pytest.raises(InputError, match="nodes or links differ in number"):
        relabel(schedule, tiny.switch_topology(4), range(5))
    with pytest.raises(InputError, match="nodes or links differ in number"):
        relabel(schedule, schedule.topology, [0, 0, 1, 2])
    with pytest.raises(InputError, match="node 'g0' is a gpu, but 's3' is a switch"):
        relabel(schedule, schedule.topology, [3, 1, 2, 0])
    slow = replace(schedule.topology, name="slow", links=(Link(0, 3, 1, 0), *schedule.topology.links[1:]))
    with pytest.raises(InputError, match="'slow' has no link like g0->s3 of 'switch-3'"):
        relabel(schedule, slow, range(4))
