"""Bytes from rank to rank, and the flows that they become."""

from __future__ import annotations

import re

import pytest

from syccl.collective.demand import op_named
from syccl.errors import InputError
from syccl.pipeline import Options, synthesize
from syccl.topology.catalog import find_topology
from syccl.traffic import direct_pairs, ecmp_choice, flows_of, link_seconds, plan_pairs, ring_pairs


@pytest.mark.parametrize(("op", "rounds"), [("allreduce", 2), ("allgather", 1), ("reducescatter", 1)])
@pytest.mark.parametrize("servers", [[0] * 8, [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 2]])
def test_every_rank_of_a_ring_sends_what_the_collective_needs(op: str, rounds: int, servers: list[int]) -> None:
    n = len(servers)
    pairs = ring_pairs(op, 1000, servers)
    for rank in range(n):
        assert sum(size for (src, _), size in pairs.items() if src == rank) == pytest.approx(
            rounds * 1000 * (n - 1) / n
        )
        assert sum(size for (_, dst), size in pairs.items() if dst == rank) == pytest.approx(
            rounds * 1000 * (n - 1) / n
        )


def test_rings_use_every_nic_alike() -> None:
    topology = find_topology("a100x32")
    flows = flows_of(topology, range(32), ring_pairs("allreduce", 2**30, [rank // 8 for rank in range(32)]))
    load = link_seconds(topology, flows, ecmp_choice(flows, 0))
    network = {
        link: s for link, s in load.items() if {"nic", "leaf"} <= set(re.findall("[a-z]+", topology.link_name(link)))
    }
    assert len(network) == 32
    assert list(network.values()) == pytest.approx([2 * 31 / 32 * 2**30 / 4 / 25e9] * 32)


def test_a_schedule_and_its_program_send_the_same() -> None:
    made = synthesize(find_topology("a100x8"), op_named("allgather"), Options(2**20))
    assert made.program is not None
    scheduled, programmed = plan_pairs(made.schedule, 2**20), plan_pairs(made.program, 2**20)
    assert scheduled.keys() == programmed.keys()
    assert all(programmed[pair] == pytest.approx(size) for pair, size in scheduled.items())
    assert sum(scheduled.values()) == pytest.approx(7 * 2**20)


def test_what_is_not_done_is_refused() -> None:
    with pytest.raises(InputError, match="not alltoall"):
        ring_pairs("alltoall", 8, [0, 0])
    with pytest.raises(InputError, match="not broadcast"):
        direct_pairs("broadcast", 8, 2)
