"""Pieces become schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.collective import OPS
from syccl.schedule import expand
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.model import Piece, both_trees, in_tree, out_tree
from syccl.sketch.quotient import Quotient
from syccl.solve.timing import time_pieces
from syccl.stitch import stitch
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.problems import ENGINE_OPS
from tests.strategies import LATENCY_PS, RATE, damaged, one_switch, ring, symmetric_topologies, topologies, torus

SIZE = 1 << 18


def quotient_of(topology: Topology, *, symmetric: bool = True) -> Quotient:
    return Quotient.of(topology, find_group(topology) if symmetric else trivial_group(topology))


def breadth_first(quotient: Quotient, root: int, *, inward: bool = False) -> dict[int, int]:
    """A tree over routes of the quotient, nearest ranks first."""
    parent: dict[int, int] = {}
    level = [root]
    while level:
        fresh = []
        for over in level:
            for child in range(quotient.ranks):
                arc = (child, over) if inward else (over, child)
                if child not in {root, over, *parent} and quotient.route(*arc):
                    parent[child] = over
                    fresh.append(child)
        level = fresh
    return parent


def pieces_of(op: str, quotient: Quotient, count: int) -> list[Piece]:
    pieces = []
    for root in quotient.representatives.tolist():
        outward, inward = breadth_first(quotient, root), breadth_first(quotient, root, inward=True)
        hops = {
            "allgather": out_tree(root, outward),
            "reducescatter": in_tree(root, inward),
            "allreduce": both_trees(root, inward, outward),
        }[op]
        pieces += [Piece(root, hops, "")] * count
    return pieces


@settings(max_examples=25)
@given(
    topology=st.one_of(symmetric_topologies(), topologies(max_gpus=5), damaged()),
    op=st.sampled_from(ENGINE_OPS),
    count=st.integers(1, 2),
    symmetric=st.booleans(),
)
def test_what_is_stitched_is_right_and_takes_the_time_of_its_list_schedule(topology, op, count, symmetric) -> None:
    quotient = quotient_of(topology, symmetric=symmetric)
    pieces = pieces_of(op, quotient, count)
    share = quotient.group.order if op == "allreduce" else topology.ranks
    chunks = len(pieces) * share if op == "allreduce" else count * share
    timed = time_pieces(pieces, quotient, SIZE / chunks)
    schedule = stitch(OPS[op], pieces, quotient, timed)
    assert schedule.demand.chunks == chunks
    assert verify_schedule(schedule) == ()
    assert verify_schedule(expand(schedule)) == ()
    seconds = schedule_time(schedule, size_bytes=SIZE).seconds
    assert seconds == pytest.approx(timed.timing.makespan_s, rel=1e-9, abs=1e-12)
    assert schedule_time(expand(schedule), size_bytes=SIZE).seconds == pytest.approx(seconds, rel=1e-9, abs=1e-12)


def test_chunks_of_a_shard_are_numbered_block_by_block() -> None:
    quotient = quotient_of(one_switch(3))
    pieces = pieces_of("allgather", quotient, 2)
    schedule = stitch(OPS["allgather"], pieces, quotient, time_pieces(pieces, quotient, 1024.0))
    assert sorted(set(schedule.transfers.chunk.tolist())) == [0, 1]
    assert schedule.symmetry is not None
    images = schedule.symmetry.chunks
    assert sorted(tuple(row) for row in images.tolist()) == [(0, 1, 2, 3, 4, 5), (2, 3, 4, 5, 0, 1), (4, 5, 0, 1, 2, 3)]


def test_sums_move_as_the_ranks_do_and_alike_pieces_stay_side_by_side() -> None:
    quotient = quotient_of(ring(4))
    pieces = pieces_of("allreduce", quotient, 2)
    symmetry = stitch(OPS["allreduce"], pieces, quotient, time_pieces(pieces, quotient, 1024.0)).symmetry
    assert symmetry is not None
    for element, images in zip(symmetry.group.ranks, symmetry.chunks, strict=True):
        assert sorted(images.tolist()) == list(range(8))
        assert np.array_equal(images[1::2] - 1, images[::2])
        assert images[0] == 2 * symmetry.group.mover[element[0]]


def test_without_symmetry_the_schedule_is_explicit() -> None:
    quotient = quotient_of(ring(4), symmetric=False)
    pieces = pieces_of("allgather", quotient, 1)
    schedule = stitch(OPS["allgather"], pieces, quotient, time_pieces(pieces, quotient, 1024.0))
    assert schedule.symmetry is None
    assert len(schedule.transfers) == 4 * 3
    assert sorted(set(schedule.transfers.chunk.tolist())) == [0, 1, 2, 3]


def test_transfers_are_ordered_by_their_starts() -> None:
    quotient = quotient_of(torus(3, 3))
    pieces = pieces_of("allreduce", quotient, 3)
    timed = time_pieces(pieces, quotient, 4096.0)
    schedule = stitch(OPS["allreduce"], pieces, quotient, timed)
    chunks = schedule.demand.chunks
    starts = schedule_time(schedule, size_bytes=4096 * chunks).start_s
    assert schedule.transfers.order.tolist() == list(range(len(schedule.transfers)))
    assert (np.diff(starts) >= -1e-12).all()


def test_one_rank_has_nothing_to_send() -> None:
    quotient = quotient_of(ring(1))
    pieces = [Piece(0, (), "alone")]
    schedule = stitch(OPS["allreduce"], pieces, quotient, time_pieces(pieces, quotient, 8.0))
    assert len(schedule.transfers) == 0
    assert schedule.demand.chunks == 1
    assert verify_schedule(schedule) == ()


def test_a_star_takes_its_closed_form() -> None:
    quotient = quotient_of(one_switch(5))
    pieces = pieces_of("allgather", quotient, 1)
    schedule = stitch(OPS["allgather"], pieces, quotient, time_pieces(pieces, quotient, SIZE / 5))
    expected = 4 * SIZE / 5 / RATE + LATENCY_PS * 1e-12
    assert schedule_time(schedule, size_bytes=SIZE).seconds == pytest.approx(expected)
