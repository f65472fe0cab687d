"""Bounds in words."""

from __future__ import annotations

from syccl.bounds import describe, describe_cut, lower_bound
from syccl.bounds.describe import ranks_in_words
from syccl.collective import OPS
from syccl.symmetry.group import trivial_group
from syccl.topology import Topology
from tests.bounds.clusters import Parts, a100, h800, islands_of, rotations
from tests.strategies import gpus, one_switch


def words(topology: Topology, op: str, islands: Parts) -> str:
    shape = (4, 8, 4) if topology.ranks == 32 else (8, 8, 8)
    group = rotations(topology, *shape)
    return describe(lower_bound(topology, OPS[op], size_bytes=1 << 26, group=group, islands=islands), topology)


def test_allgather_names_the_nics_of_a_server() -> None:
    first, second = words(a100(), "allgather", islands_of(4, 8)).splitlines()
    assert first == (
        "508.929us by into an island and spread there: bandwidth 503.316us, latency 5us, combined 508.929us"
    )
    assert second == (
        "cut: into ranks 0-7 (s0.gpu0 .. s0.gpu7), over 4 links switch->nic at s0, 25GB/s each, "
        "100GB/s together (rail0->s0.nic0, rail1->s0.nic1, rail2->s0.nic2, rail3->s0.nic3)"
    )


def test_reducescatter_is_told_in_the_direction_of_the_links() -> None:
    text = words(a100(), "reducescatter", islands_of(4, 8))
    assert "seen backwards in time" in text
    assert "cut: out of ranks 0-7" in text
    assert "(s0.nic0->rail0, " in text


def test_partitions_are_told_by_one_part_and_the_total() -> None:
    text = words(a100(), "allreduce", islands_of(4, 8))
    assert "into each of 4 parts such as ranks 0-7" in text
    assert text.endswith("; 400GB/s around all parts")


def test_links_of_different_bandwidth_are_told_apart() -> None:
    text = words(h800(), "allgather", islands_of(8, 8))
    assert "into rank 0 (s0.gpu0), over 1 link switch->gpu at s0 of 200GB/s (s0.nvswitch->s0.gpu0)" in text
    assert text.endswith(", 250GB/s in all")


def test_nothing_to_cross_is_said() -> None:
    topology = Topology("one", gpus(1), ())
    bound = lower_bound(topology, OPS["allgather"], size_bytes=8, group=trivial_group(topology), islands=[[0]])
    assert describe_cut(bound.cut, topology) == "cut: no link has to be crossed"
    assert describe(bound, topology).startswith("0us")


def test_ranks_are_told_as_ranges() -> None:
    topology = one_switch(12)
    assert ranks_in_words((0, 1, 2, 5, 7, 8), topology) == "ranks 0-2, 5, 7-8 (gpu0 .. gpu8)"
    assert ranks_in_words((0, 2, 4, 6, 8), topology) == "ranks 0, 2, 4, 6, ... (gpu0 .. gpu8)"
    assert ranks_in_words((3,), topology) == "rank 3 (gpu3)"
