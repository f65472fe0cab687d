"""Schedules of programs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from syccl.collective import OPS
from syccl.errors import InputError
from syccl.lowering.lift import lift
from syccl.pipeline import Options, synthesize
from syccl.program import Program
from syccl.program.msccl_xml import read_xml
from syccl.program.verify import verify_program
from syccl.schedule.verify import verify_schedule
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.topology.catalog import load_topology
from tests.lowering.made import SIZE, program
from tests.program.programs import (
    allpairs_allreduce,
    direct_allgather,
    direct_alltoall,
    direct_reducescatter,
    ring_allreduce,
    rooted,
    two_level_allgather,
)
from tests.schedule.tiny import doubling_allreduce, rail_allreduce, star_alltoall
from tests.strategies import mesh, one_switch, ring, topologies

SCHEDULES = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "schedules"

GOOD: dict[str, Program] = {
    "direct": direct_allgather(4, share=2),
    "two levels": two_level_allgather(2, 2, 1),
    "ring": ring_allreduce(4, rings=2),
    "all pairs": allpairs_allreduce(4),
    "sums": direct_reducescatter(4, share=2),
    "exchange": direct_alltoall(4, share=2),
    **{op: rooted(op, 4, 2) for op in ("broadcast", "reduce", "gather", "scatter")},
}


@pytest.mark.parametrize("name", GOOD)
def test_a_lifted_program_does_the_same_and_is_right(name: str) -> None:
    made = lift(GOOD[name], one_switch(4), size_bytes=SIZE)
    assert verify_schedule(made) == ()
    assert made.demand.op.name == GOOD[name].collective
    assert made.demand.chunks == GOOD[name].chunks
    assert made.demand.root == (2 if made.demand.op.rooted else 0)


@pytest.mark.parametrize(
    "make", [doubling_allreduce(4), rail_allreduce(3, 2), star_alltoall(4)], ids=["doubling", "rail", "exchange"]
)
def test_lifting_what_was_lowered_gives_the_transfers_back(make) -> None:
    found = lift(program(make), make.topology, size_bytes=SIZE)
    assert verify_schedule(found) == ()
    assert len(found.transfers) == len(make.transfers) * make.order_of_symmetry


@settings(max_examples=15)
@given(topologies(max_gpus=4))
def test_any_program_made_here_can_be_lifted(topology) -> None:
    result = synthesize(topology, OPS["allreduce"], Options(960))
    assert result.program is not None
    made = lift(result.program, result.topology, size_bytes=960)
    assert verify_schedule(made) == ()
    links = simulate_program(result.program, result.topology, size_bytes=960).link_bytes
    sent = np.zeros(len(links))
    for route in made.transfers.route.tolist():
        sent[list(made.routes[route])] += 960 / made.demand.chunks
    assert sent == pytest.approx(links)


def test_the_order_of_the_program_is_kept() -> None:
    topology = load_topology("a100x8")
    result = synthesize(topology, OPS["allreduce"], Options(64 << 20))
    assert result.program is not None
    made = lift(result.program, topology, size_bytes=64 << 20)
    assert schedule_time(made, size_bytes=64 << 20).seconds == pytest.approx(result.program_time_s, rel=0.1)


def test_ranks_must_agree_and_have_routes() -> None:
    with pytest.raises(InputError, match="is for 4 ranks, topology 'mesh3' has 3"):
        lift(GOOD["ring"], mesh(3), size_bytes=SIZE)
    with pytest.raises(InputError, match=r"rank \d .*route"):
        lift(GOOD["direct"], ring(4, one_way=True), size_bytes=SIZE)


def right_files() -> list[str]:
    if not SCHEDULES.is_dir():
        return []
    with (SCHEDULES / "real" / "EXPECTED.csv").open(newline="", encoding="utf-8") as table:
        return [
            row["file"]
            for row in csv.DictReader(table)
            if row["verdict"].startswith("OK") and int(row["ngpus"]) <= 16 and row["coll"] != "custom"
        ]


@pytest.mark.parametrize("name", right_files())
def test_right_files_of_others_are_lifted_to_right_schedules_or_refused(name: str) -> None:
    read = read_xml((SCHEDULES / "real" / name).read_bytes().decode(), source=name)
    assert not [finding for finding in verify_program(read) if finding.severity == "error"]
    if "allgather_binary_tree" in name:  # Partial sums are gathered side by side and added up late.
        with pytest.raises(InputError, match="in an order that no schedule can state"):
            lift(read, one_switch(read.size), size_bytes=1 << 16)
        return
    made = lift(read, one_switch(read.size), size_bytes=1 << 16)
    assert {finding.rule for finding in verify_schedule(made)} <= {"redundant", "twice"}
