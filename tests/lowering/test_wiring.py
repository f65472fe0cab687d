"""Programs for ranks with more peers than a runtime has thread blocks or channels for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from syccl.collective import Matrix, op_named
from syccl.errors import GaveUpError
from syccl.pipeline import Options, synthesize
from syccl.program.replay import replay_findings
from syccl.program.targets import EXECUTOR, RCCL
from syccl.unequal import synthesize_matrix
from tests.strategies import one_switch, two_servers

SIZE = 1 << 22


def made_for(topology, op, target):
    return synthesize(topology, op_named(op), Options(SIZE, want_program=True, target=target))


def most_peers(program):
    counts = Counter()
    for rank in program.ranks:
        for block in rank.blocks:
            counts[rank.rank, block.channel, "send"] += block.send >= 0
            counts[rank.rank, block.channel, "recv"] += block.recv >= 0
    return max(counts.values())


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce", "alltoall"])
@pytest.mark.parametrize("runtime", [EXECUTOR, RCCL])
@pytest.mark.parametrize("topology", [one_switch(8), two_servers(4)], ids=["switch", "servers"])
def test_blocks_send_and_receive_where_there_are_few(topology, op, runtime):
    target = replace(runtime, blocks=9, peers=3)
    program = made_for(topology, op, target).program
    assert max(len(rank.blocks) for rank in program.ranks) <= target.blocks
    assert most_peers(program) <= target.peers
    for most in (1, 71):
        assert replay_findings(program, seed=3, chunks_per_message=most) == ()


def test_all_to_all_on_one_switch_needs_a_block_for_each_peer():
    made = made_for(one_switch(8), "alltoall", replace(EXECUTOR, blocks=8))
    assert max(len(rank.blocks) for rank in made.program.ranks) == 8
    assert [row["channels"] for row in made.explain["candidates"] if row["won"]] == ["1, shared blocks"]


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_rings_and_trees_stand_in_where_no_plan_fits(op):
    made = made_for(one_switch(9), op, replace(EXECUTOR, blocks=7))
    assert max(len(rank.blocks) for rank in made.program.ranks) <= 7
    assert replay_findings(made.program) == ()


def test_steps_of_many_chunks_do_not_share_blocks():
    m = 1 << 20
    rows = tuple(tuple(m * (1 + (u * v) % 3) for v in range(8)) for u in range(8))
    matrix = Matrix(rows)
    options = Options(matrix.size_bytes, want_program=True, target=replace(EXECUTOR, blocks=9))
    with pytest.raises(GaveUpError, match="15 thread blocks, msccl-executor-nccl allows 9"):
        synthesize_matrix(one_switch(8), matrix, options)


def test_what_no_program_fits_is_told():
    with pytest.raises(GaveUpError, match="thread blocks, msccl-executor-nccl allows 2"):
        made_for(one_switch(8), "alltoall", replace(EXECUTOR, blocks=2))
