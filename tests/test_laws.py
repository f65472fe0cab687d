"""Laws of the whole: whatever the cluster, what is synthesized is right, no faster than the bound, and reproducible."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from syccl.bounds import lower_bound
from syccl.collective import ALL, OPS
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.program import Program, RankProgram
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay_findings
from syccl.program.verify import verify_program
from syccl.schedule import Schedule, Transfers, expand
from syccl.schedule.json_file import write_json
from syccl.schedule.transform import relabel, reverse
from syccl.schedule.verify import verify_schedule
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.model import Hop
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology, default_route, merged
from tests.problems import ENGINE_OPS, contributions
from tests.schedule.tiny import altered, without
from tests.strategies import damaged, mesh, one_switch, ring, scrambled, symmetric_topologies, topologies, two_servers

SIZES = (240, 960, 15_360, 61_440, 960_960)
"""Bytes: multiples of 4 * 60, so that shards of 2 to 6 ranks are whole; the largest has few even cuts."""

small = st.one_of(
    topologies(max_gpus=5).map(merged),
    st.builds(ring, st.integers(2, 6), one_way=st.booleans()),
    st.builds(mesh, st.integers(2, 4)),
    st.builds(one_switch, st.integers(2, 6)),
    st.builds(two_servers, st.integers(2, 3), st.integers(1, 3), nics=st.sampled_from([1, 2]), rails=st.booleans()),
    damaged(st.one_of(topologies(min_gpus=3, max_gpus=5), st.builds(two_servers, st.just(2)))).map(merged),
)
ops = st.sampled_from(ENGINE_OPS)


def synthesized(topology: Topology, op: str, size_bytes: int, root: int = 0) -> Synthesis:
    return synthesize(topology, OPS[op], Options(size_bytes), root=root if OPS[op].rooted else 0)


@lru_cache(maxsize=1)
def read_back(result: Synthesis) -> Program:
    """The program as its file says it."""
    assert result.program is not None
    return read_xml(write_xml(result.program), source="made.xml")


@settings(max_examples=30)
@given(small, ops | st.sampled_from(sorted(OPS)), st.sampled_from(SIZES), st.data())
def test_what_is_made_is_right_and_no_faster_than_the_bound(topology, op: str, size_bytes: int, data) -> None:
    root = data.draw(st.integers(0, topology.ranks - 1), label="root")
    result = synthesized(topology, op, size_bytes, root)
    explicit = expand(result.schedule)
    assert verify_schedule(result.schedule) == verify_schedule(explicit) == ()
    program = read_back(result)
    proved = verify_program(program, size_bytes=size_bytes)
    # A runtime file does not say its root.
    assert [f for f in proved if f.severity != "note" and f.rule != "root"] == []
    assert program.in_place == (op != "alltoall")
    for in_place in (True, False) if program.in_place else (False,):
        for dtype in ("int64", "float32"):
            found = replay_findings(program, in_place=in_place, dtype=dtype, chunk_elements=2, root=result.demand.root)
            assert found == ()

    bound = result.bound.seconds * (1 - 1e-9)
    assert result.schedule_time_s >= bound
    assert result.program_time_s is not None
    assert result.program_time_s >= bound
    assert result.schedule_time_s >= (result.tree_bound_s or 0.0) * (1 - 1e-9)
    assert (result.route_bound_s or 0.0) >= (result.tree_bound_s or 0.0) * (1 - 1e-3)

    seconds = schedule_time(explicit, size_bytes=size_bytes).seconds
    assert seconds == pytest.approx(result.schedule_time_s, rel=1e-9, abs=1e-15)
    alone = simulate_program(program, topology, size_bytes=size_bytes)
    grouped = simulate_program(program, topology, size_bytes=size_bytes, group=result.group)
    assert alone.seconds == pytest.approx(grouped.seconds, rel=1e-9)
    assert grouped.seconds == pytest.approx(result.program_time_s, rel=1e-9)
    assert alone.link_bytes == pytest.approx(grouped.link_bytes)


@settings(max_examples=12)
@given(small, ops, st.data())
def test_a_transfer_that_is_deleted_doubled_or_sent_elsewhere_is_found(topology, op: str, data: st.DataObject) -> None:
    result = synthesized(topology, op, 960)
    for schedule in (result.schedule, expand(result.schedule)):
        row = data.draw(st.integers(0, len(schedule.transfers) - 1), label="row")
        assert verify_schedule(without(schedule, row))
        assert {f.rule for f in verify_schedule(doubled(schedule, row))} & {"redundant", "twice"}
        ends = {schedule.transfers.dst[row], schedule.transfers.src[row]}
        for other in [rank for rank in range(topology.ranks) if rank not in ends]:
            assert verify_schedule(altered(schedule, row, dst=other))
            assert verify_schedule(altered(schedule, row, src=other))
            elsewhere = redirected(schedule, row, other)
            assert elsewhere is None or verify_schedule(elsewhere) or is_right(elsewhere)


def doubled(schedule: Schedule, row: int) -> Schedule:
    """The schedule with one transfer made again after all others."""
    rows = schedule.transfers
    again = {name: np.append(getattr(rows, name), getattr(rows, name)[row]) for name in Transfers.__dataclass_fields__}
    again["order"][-1] = rows.order.max() + 1
    return replace(schedule, transfers=Transfers(**again))


def redirected(schedule: Schedule, row: int, dst: int) -> Schedule | None:
    """The schedule in which one transfer goes to another rank, over the route there."""
    route = default_route(schedule.topology, int(schedule.transfers.src[row]), dst)
    if route is None:
        return None
    longer = replace(schedule, routes=(*schedule.routes, route.links))
    return altered(longer, row, dst=dst, route=len(schedule.routes))


def is_right(schedule: Schedule) -> bool:
    """Whether every rank ends with what it wants and no transfer is idle: a sum may also take another way."""
    schedule = expand(schedule)
    demand, rows = schedule.demand, schedule.transfers
    for chunk in range(demand.chunks):
        mine = np.flatnonzero(rows.chunk == chunk)
        source, target = int(demand.sources[chunk]), int(demand.targets[chunk])
        wanted = [1] * demand.ranks if source == ALL else [int(rank == source) for rank in range(demand.ranks)]
        hops = [Hop(*(int(c[i]) for c in (rows.src, rows.dst, rows.stage)), bool(rows.reduce[i])) for i in mine]
        held = contributions(hops, demand.ranks)
        takers = range(demand.ranks) if target == ALL else [target]
        if source != ALL and sorted(hop.dst for hop in hops) != [r for r in range(demand.ranks) if r != source]:
            return False
        if any(held[rank] != wanted for rank in takers):
            return False
    return True


@settings(max_examples=12)
@given(small, ops, st.data())
def test_a_transfer_that_goes_before_what_it_carries_is_found(topology, op: str, data: st.DataObject) -> None:
    schedule = expand(synthesized(topology, op, 960).schedule)
    rows = schedule.transfers
    waits = [
        (later, earlier)
        for later in range(len(rows))
        for earlier in np.flatnonzero((rows.chunk == rows.chunk[later]) & (rows.dst == rows.src[later])).tolist()
        if rows.stage[earlier] < rows.stage[later]
    ]
    assume(waits)
    later, earlier = data.draw(st.sampled_from(waits), label="rows")
    swapped = altered(schedule, later, order=int(rows.order[earlier]))
    swapped = altered(swapped, earlier, order=int(rows.order[later]))
    assert "order" in {finding.rule for finding in verify_schedule(swapped)}
    assert verify_schedule(altered(schedule, later, stage=int(rows.stage[earlier])))


@settings(max_examples=12)
@given(small, st.sampled_from(sorted(OPS)), st.sampled_from([960, 61_440]))
def test_the_same_question_has_the_same_answer_to_the_byte(topology: Topology, op: str, size_bytes: int) -> None:
    first, second = (synthesized(topology, op, size_bytes) for _ in range(2))
    assert first.program is not None
    assert second.program is not None
    assert write_xml(first.program) == write_xml(second.program)
    assert write_json(first.schedule, made_by={}) == write_json(second.schedule, made_by={})


def node_map(topology: Topology, copy: Topology, ranks: tuple[int, ...], seed: int) -> np.ndarray:
    """Where ``scrambled`` put every node, found again by running it on a copy whose nodes are all GPUs."""
    from syccl.topology import Kind, Node

    marked = Topology("marked", tuple(Node(node.name, Kind.GPU) for node in topology.nodes), topology.links)
    places = scrambled(marked, seed)[1]
    assert tuple(copy.rank_of[places[node]] for node in topology.gpus) == ranks
    return np.array(places, dtype=np.int32)


@settings(max_examples=15)
@given(small, ops, st.sampled_from(SIZES[:3]), st.integers(0, 3))
def test_names_and_numbers_decide_nothing_about_bound_and_time(topology, op: str, size_bytes: int, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    groups = [find_group(cluster) for cluster in (topology, copy)]
    assert groups[0].order == groups[1].order
    bounds = [
        lower_bound(cluster, OPS[op], size_bytes=size_bytes, group=group, islands=islands(cluster))
        for cluster, group in zip((topology, copy), groups, strict=True)
    ]
    assert bounds[0].seconds == pytest.approx(bounds[1].seconds, rel=1e-12)
    assert bounds[0].bandwidth_s == pytest.approx(bounds[1].bandwidth_s, rel=1e-12)

    made = synthesize(topology, OPS[op], Options(size_bytes, want_program=False)).schedule
    moved = relabel(made, copy, node_map(topology, copy, ranks, seed))
    assert verify_schedule(moved) == ()
    before, after = (schedule_time(schedule, size_bytes=size_bytes).seconds for schedule in (made, moved))
    assert before == pytest.approx(after, rel=1e-12)


@settings(max_examples=10)
@given(symmetric_topologies().filter(lambda t: t.ranks <= 6), ops, st.integers(0, 3))
def test_a_program_takes_the_same_time_on_ranks_by_other_names(topology: Topology, op: str, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    result = synthesized(topology, op, 960)
    assert result.program is not None
    peers = (*ranks, -1)
    moved: list[RankProgram] = [
        replace(
            program,
            rank=ranks[program.rank],
            blocks=tuple(replace(b, send=peers[b.send], recv=peers[b.recv]) for b in program.blocks),
        )
        for program in result.program.ranks
    ]
    renamed = replace(result.program, ranks=tuple(sorted(moved, key=lambda program: program.rank)))
    before = simulate_program(result.program, topology, size_bytes=960)
    after = simulate_program(renamed, copy, size_bytes=960)
    assert before.seconds == pytest.approx(after.seconds, rel=1e-9)


@settings(max_examples=15)
@given(symmetric_topologies().filter(lambda t: t.ranks <= 6), st.sampled_from([960, 61_440]))
def test_an_allgather_run_backwards_twice_is_itself(topology: Topology, size_bytes: int) -> None:
    assume(is_duplex(topology))
    made = synthesize(topology, OPS["allgather"], Options(size_bytes, want_program=False)).schedule
    backwards = reverse(made)
    assert backwards.demand.op is OPS["reducescatter"]
    assert verify_schedule(backwards) == ()
    again = reverse(backwards)
    assert (again.routes, again.demand) == (made.routes, made.demand)
    for name in Transfers.__dataclass_fields__:
        assert np.array_equal(getattr(again.transfers, name), getattr(made.transfers, name)), name


def is_duplex(topology: Topology) -> bool:
    links = [(link.src, link.dst) for link in topology.links]
    return sorted(links) == sorted((b, a) for a, b in links)
