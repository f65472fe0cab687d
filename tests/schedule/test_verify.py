from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS, Demand
from syccl.schedule import Schedule, expand
from syccl.schedule.verify import verify_schedule
from syccl.topology import Kind, Link, Node, Topology, default_route
from tests.schedule import tiny

GOOD = {
    **tiny.COMPRESSED,
    **{f"explicit_{name}": (lambda make=make: expand(make())) for name, make in tiny.COMPRESSED.items()},
    **tiny.EXPLICIT,
}

schedules = st.sampled_from(sorted(GOOD)).map(lambda name: GOOD[name]())


def rules(schedule: Schedule) -> set[str]:
    return {finding.rule for finding in verify_schedule(schedule)}


def line_broadcast(rows: list[tiny.Row], ranks: int = 4) -> Schedule:
    return tiny.schedule_of(tiny.line_topology(ranks), Demand(OPS["broadcast"], ranks, 1), rows)


def with_rows(schedule: Schedule, index: list[int]) -> Schedule:
    return replace(schedule, transfers=tiny.select(schedule.transfers, np.array(index)))


@pytest.mark.parametrize("name", GOOD)
def test_correct_schedules_have_no_findings(name: str) -> None:
    assert verify_schedule(GOOD[name]()) == ()


@given(schedules, st.data())
def test_a_deleted_transfer_is_found(schedule: Schedule, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    assert rules(tiny.without(schedule, row)) & {"missing", "holds"}


@given(schedules, st.data())
def test_a_duplicated_transfer_is_found(schedule: Schedule, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    twice = with_rows(schedule, [*range(len(schedule.transfers)), row])
    assert ("twice" if schedule.transfers.reduce[row] else "redundant") in rules(twice)


def reaches_its_goal(schedule: Schedule) -> bool:
    """Slow and plain: play the rows of the explicit form with counted contributions and look at the end."""
    explicit = expand(schedule)
    rows, demand = explicit.transfers, explicit.demand
    ranks = range(demand.ranks)
    held = {
        (c, r): Counter([r] if s == -1 else [s] if s == r else [])
        for c, s in enumerate(demand.sources.tolist())
        for r in ranks
    }
    for stage in sorted(set(rows.stage.tolist())):
        now = np.flatnonzero(rows.stage == stage).tolist()
        carried = [held[rows.chunk[i], rows.src[i]].copy() for i in now]
        for i, load in zip(now, carried, strict=True):
            place = (rows.chunk[i], rows.dst[i])
            held[place] = held[place] + load if rows.reduce[i] else load
    for c, (source, target) in enumerate(zip(demand.sources.tolist(), demand.targets.tolist(), strict=True)):
        goal = Counter(ranks if source == -1 else [source])
        if any(held[c, r] != goal for r in ranks if target in (-1, r)):
            return False
    return True


@given(schedules, st.data())
def test_a_transfer_redirected_over_a_good_route_is_found_unless_the_sum_is_still_right(
    schedule: Schedule, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    end = data.draw(st.sampled_from(["src", "dst"]))
    ends = {"src": int(schedule.transfers.src[row]), "dst": int(schedule.transfers.dst[row])}
    moved = ends | {end: data.draw(st.integers(0, schedule.demand.ranks - 1))}
    path = default_route(schedule.topology, moved["src"], moved["dst"])
    if moved == ends or path is None:
        return
    wider = replace(schedule, routes=(*schedule.routes, path.links))
    changed = tiny.altered(wider, row, route=len(schedule.routes), **moved)
    may_be_an_image = schedule.symmetry is not None and schedule.demand.chunk_ids == 1
    if end == "dst" and not schedule.transfers.reduce[row] and not may_be_an_image:
        assert verify_schedule(changed)
    if not reaches_its_goal(changed):
        assert rules(changed) & {"holds", "missing", "twice"}


@given(schedules, st.data())
def test_what_passes_reaches_its_goal(schedule: Schedule, data: st.DataObject) -> None:
    assert reaches_its_goal(schedule)
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, len(schedule.transfers) - 1))
        column = data.draw(st.sampled_from(["stage", "reduce", "order"]))
        schedule = tiny.altered(schedule, row, **{column: data.draw(st.integers(0, 3))})
    if not verify_schedule(schedule):
        assert reaches_its_goal(schedule)


@given(schedules, st.data())
def test_a_transfer_that_keeps_its_old_route_is_found(schedule: Schedule, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    step = data.draw(st.integers(1, schedule.demand.ranks - 1))
    end = data.draw(st.sampled_from(["src", "dst"]))
    value = (int(getattr(schedule.transfers, end)[row]) + step) % schedule.demand.ranks
    assert "route" in rules(tiny.altered(schedule, row, **{end: value}))


@given(schedules, st.data())
def test_a_transfer_of_another_chunk_is_found(schedule: Schedule, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    other = data.draw(st.integers(0, schedule.demand.chunk_ids - 1))
    if other != schedule.transfers.chunk[row]:
        assert verify_schedule(tiny.altered(schedule, row, chunk=other))


def waiting_rows(schedule: Schedule) -> list[tuple[int, int]]:
    """Pairs (row, row of the same chunk into its sender at a lower stage) of the explicit form."""
    rows = schedule.transfers
    pairs = []
    for row in range(len(rows)):
        inputs = (rows.chunk == rows.chunk[row]) & (rows.dst == rows.src[row]) & (rows.stage < rows.stage[row])
        pairs += [(row, int(other)) for other in np.flatnonzero(inputs)]
    return pairs


@pytest.mark.parametrize("name", [name for name in GOOD if waiting_rows(GOOD[name]())])
def test_a_transfer_reordered_against_its_dependency_is_found(name: str) -> None:
    schedule = GOOD[name]()
    for row, needed in waiting_rows(schedule):
        rows = schedule.transfers
        assert "order" in rules(tiny.altered(schedule, row, order=int(rows.order[needed])))
        assert "order" in rules(tiny.altered(schedule, needed, order=int(rows.order[row])))
        early = tiny.altered(schedule, row, stage=int(rows.stage[needed]))
        assert rules(early) & {"holds", "missing", "redundant", "twice"}


def test_messages_name_transfer_and_reason() -> None:
    findings = verify_schedule(line_broadcast([(0, 0, 1, False, 0, 0), (0, 2, 3, False, 1, 1)]))
    assert [str(finding) for finding in findings] == [
        "error[holds]: transfer 1 (chunk 0, 2->3): rank 2 does not hold the finished chunk at stage 1",
        "error[missing]: chunk 0 at rank 2: wants it, but never receives it from rank 0",
    ]


def test_a_relay_that_nobody_uses_is_redundant() -> None:
    demand = Demand(OPS["scatter"], 3, 3)
    rows: list[tiny.Row] = [(1, 0, 1, False, 0, 0), (2, 0, 1, False, 0, 1), (2, 1, 2, False, 1, 2)]
    good = tiny.schedule_of(tiny.line_topology(3), demand, rows)
    assert verify_schedule(good) == ()
    useless = tiny.schedule_of(tiny.line_topology(3), demand, [*rows, (1, 1, 2, False, 1, 3)])
    assert [finding.rule for finding in verify_schedule(useless)] == ["redundant"]


def test_a_partial_sum_that_a_copy_replaces_is_redundant() -> None:
    rows: list[tiny.Row] = [
        (0, 0, 1, True, 0, 0),
        (0, 2, 1, True, 0, 1),
        (0, 1, 0, False, 1, 2),
        (0, 1, 2, False, 1, 3),
    ]
    demand = Demand(OPS["allreduce"], 3, 1)
    topology = tiny.switch_topology(3)
    assert verify_schedule(tiny.schedule_of(topology, demand, rows)) == ()
    findings = verify_schedule(tiny.schedule_of(topology, demand, [*rows, (0, 0, 2, True, 0, 4)]))
    assert [finding.rule for finding in findings] == ["redundant"]
    assert findings[0].where == "transfer 4 (chunk 0, 0->2)"


def test_a_contribution_that_takes_two_ways_is_found() -> None:
    rows: list[tiny.Row] = [(0, 0, 1, True, 0, 0), (0, 0, 2, True, 0, 1), (0, 1, 2, True, 1, 2)]
    findings = verify_schedule(tiny.schedule_of(tiny.switch_topology(3), Demand(OPS["reduce"], 3, 1, root=2), rows))
    assert [finding.rule for finding in findings] == ["twice"]
    assert "contributions of rank 0 to a sum at rank 2" in findings[0].message


def test_missing_contributions_are_listed() -> None:
    findings = verify_schedule(tiny.schedule_of(tiny.switch_topology(9), Demand(OPS["reduce"], 9, 1), []))
    assert findings[0].message == "wants the sum, but lacks the contributions of ranks 1, 2, 3, 4, 5 and 3 more"


def test_a_partial_sum_is_no_finished_chunk() -> None:
    rows: list[tiny.Row] = [(0, 1, 0, True, 0, 0), (0, 0, 1, False, 1, 1), (0, 0, 2, False, 1, 2)]
    findings = verify_schedule(tiny.schedule_of(tiny.switch_topology(3), Demand(OPS["allreduce"], 3, 1), rows))
    assert {finding.rule for finding in findings} == {"holds", "missing"}
    assert "lacks the contributions of rank 2" in findings[0].message


def test_adding_where_nothing_is_summed_is_found() -> None:
    assert "reduce" in rules(line_broadcast([(0, 0, 1, True, 0, 0)], ranks=2))


def test_one_rank_needs_nothing() -> None:
    topology = Topology("one", (Node("g", Kind.GPU),), ())
    for op in OPS.values():
        assert verify_schedule(tiny.schedule_of(topology, Demand(op, 1, 1), [])) == ()


ROUTE_NODES = (Node("a", Kind.GPU), Node("s", Kind.SWITCH), Node("b", Kind.GPU), Node("t", Kind.SWITCH))
ROUTE_LINKS = tuple(Link(u, v, 10**9, 0) for u, v in ((0, 1), (1, 2), (1, 3), (3, 1), (0, 2), (2, 1)))


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ((), "has no link"),
        ((0, 6), "link 6 is not in 0..5"),
        ((0,), "begins or ends at s, which is no GPU"),
        ((0, 3), "t->s does not begin where a->s ends"),
        ((0, 2, 3, 1), "passes a node twice"),
        ((4, 5, 1), "passes GPU b; only NICs and switches may lie between"),
    ],
)
def test_broken_routes_are_found(route: tuple[int, ...], message: str) -> None:
    schedule = tiny.schedule_of(
        Topology("two", ROUTE_NODES, ROUTE_LINKS), Demand(OPS["broadcast"], 2, 1), [(0, 0, 1, False, 0, 0)]
    )
    assert verify_schedule(schedule) == ()
    findings = verify_schedule(replace(schedule, routes=(route,)))
    assert [(finding.rule, finding.message) for finding in findings] == [("route", message)]


@pytest.mark.parametrize(("column", "value"), [("chunk", 4), ("src", -1), ("dst", 4), ("route", 99)])
def test_indices_out_of_range_are_found(column: str, value: int) -> None:
    for schedule in (tiny.ring_allgather(4), expand(tiny.ring_allgather(4))):
        findings = verify_schedule(tiny.altered(schedule, 2, **{column: value}))
        assert [(finding.rule, finding.where) for finding in findings] == [("shape", "transfer 2")]


def test_wrong_shapes_are_found() -> None:
    schedule = tiny.ring_allgather(4)
    short = replace(schedule.transfers, order=schedule.transfers.order[:-1])
    assert rules(replace(schedule, transfers=short)) == {"shape"}
    assert rules(replace(schedule, demand=Demand(OPS["allgather"], 8, 8))) == {"shape"}


def symmetry_messages(schedule: Schedule, **changes: object) -> list[str]:
    """What verify says when parts of the group or its chunk actions are replaced."""
    symmetry = schedule.symmetry
    group = replace(symmetry.group, **{k: v for k, v in changes.items() if k != "chunks"})
    chunks = changes.get("chunks", symmetry.chunks)
    findings = verify_schedule(replace(schedule, symmetry=tiny.Symmetry(group, chunks)))
    assert all(finding.rule == "symmetry" for finding in findings)
    return [f"{finding.where} {finding.message}" for finding in findings]


def test_a_permutation_that_breaks_links_is_found() -> None:
    schedule = tiny.ring_allgather(4)
    swap = np.array([1, 0, 2, 3], dtype=np.int32)
    elements = np.array([[0, 1, 2, 3], swap], dtype=np.int32)
    chunks = schedule.symmetry.chunks[:2]
    found = symmetry_messages(schedule, generators=(swap,), elements=elements, chunks=chunks)
    assert len(found) == 1
    assert found[0].startswith("generator 0 does not keep the kinds of nodes or the ends")


def test_a_chunk_action_that_breaks_the_demand_is_found() -> None:
    schedule = tiny.ring_allgather(4)
    still = np.tile(np.arange(4, dtype=np.int32), (4, 1))
    assert symmetry_messages(schedule, chunks=still) == [
        "generator 0 moves chunk 0 to 0, which starts at rank 0, not 1"
    ]


def test_a_chunk_action_that_does_not_compose_is_found() -> None:
    schedule = tiny.ring_allgather(4)
    chunks = schedule.symmetry.chunks.copy()
    chunks[2] = chunks[2][::-1]
    found = symmetry_messages(schedule, chunks=chunks)
    assert found[0] == "generator 0 times element 1 moves chunks otherwise than the two one after the other"


def test_elements_that_are_not_what_generators_make_are_found() -> None:
    schedule = tiny.ring_allgather(4)
    symmetry = schedule.symmetry
    half = (symmetry.group.elements[2],)
    assert symmetry_messages(schedule, generators=half) == ["group has 4 elements, but its generators make only 2"]
    fewer = {"elements": symmetry.group.elements[:3], "chunks": symmetry.chunks[:3]}
    assert symmetry_messages(schedule, **fewer) == ["generator 0 times element 2 is not among the elements"]
    twice = {"elements": symmetry.group.elements[[0, 1, 1]], "chunks": symmetry.chunks[[0, 1, 1]]}
    assert symmetry_messages(schedule, **twice) == ["group has 3 elements, of which only 2 differ"]
    assert symmetry_messages(schedule, elements=symmetry.group.elements[[1, 0, 2, 3]]) == [
        "element 0 moves nodes; it must be the identity"
    ]


def test_arrays_of_wrong_shape_or_range_are_found() -> None:
    schedule = tiny.ring_allgather(4)
    group, chunks = schedule.symmetry.group, schedule.symmetry.chunks
    assert symmetry_messages(schedule, elements=group.elements[:, :3])[0].startswith("group elements have shape (4, 3)")
    assert symmetry_messages(schedule, chunks=chunks[:3])[0].startswith("group chunk actions have shape (3, 4)")
    assert symmetry_messages(schedule, chunks=chunks + 1) == ["group an element sends chunks out of 0..3"]
    assert symmetry_messages(schedule, generators=(np.zeros(4, dtype=np.int32),)) == [
        "generator 0 is no permutation of 4 nodes"
    ]
    assert symmetry_messages(schedule, topology=tiny.line_topology(4))[0] == "group acts on another topology"


def test_a_row_that_is_the_image_of_another_is_redundant() -> None:
    schedule = tiny.star_allgather(4)
    extra = with_rows(schedule, [0, 1, 2, 1])
    image = tiny.altered(extra, 3, chunk=1, src=1, dst=3)
    image = replace(image, routes=(*image.routes, default_route(schedule.topology, 1, 3).links))
    findings = verify_schedule(tiny.altered(image, 3, route=3))
    assert [(finding.rule, finding.where) for finding in findings] == [
        ("redundant", "transfer 3 (chunk 1, 1->3), its image of chunk 0, 0->2")
    ]


@given(schedules, st.data())
def test_compressed_and_explicit_forms_get_the_same_verdict(schedule: Schedule, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(schedule.transfers) - 1))
    column = data.draw(st.sampled_from(["stage", "order", "reduce"]))
    changed = tiny.altered(schedule, row, **{column: data.draw(st.integers(0, 4))})
    assert rules(changed) == rules(expand(changed))


def test_thousands_of_rows_are_verified_quickly() -> None:
    schedules = (tiny.rail_allreduce(64, 8), expand(tiny.rail_allreduce(16, 8)))
    begin = time.process_time()
    for schedule in schedules:
        assert verify_schedule(schedule) == ()
    assert time.process_time() - begin < 2.0
