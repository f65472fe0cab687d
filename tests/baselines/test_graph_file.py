"""Graph files of NCCL."""

from __future__ import annotations

from pathlib import Path

import pytest

from syccl.baselines.graph_file import SPEEDS_GBPS, RingGraph, read_graph, ring_graph, write_graph
from syccl.baselines.rings import Rings, find_rings
from syccl.errors import InputError
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from tests.strategies import ring, two_servers

REAL = (
    Path(__file__).parents[3] / "shared" / "data" / "topologies" / "nccl-xml" / "graph-azure-ncv4-graph.xml"
)  # fmt: skip


def found(topology: Topology) -> Rings:
    rings = find_rings(topology, islands(topology), find_group(topology))
    assert rings is not None
    return rings


@pytest.mark.parametrize("name", ["dgx1-v100", "a100x8", "h100x8"])
def test_what_is_written_is_read_back_and_visits_every_gpu_once(name: str) -> None:
    topology = load_topology(name)
    rings = found(topology)
    graph = ring_graph(topology, rings, link="NVL")
    assert read_graph(write_graph(graph), source="g.xml") == graph
    assert {tuple(sorted(channel)) for channel in graph.channels} == {tuple(range(8))}
    assert graph.speed_gbps in SPEEDS_GBPS
    whole = rings.rate * len(rings.successors)
    assert 0.75 * whole <= graph.speed_gbps * 1e9 * len(graph.channels) <= whole


def test_channels_follow_links() -> None:
    graph = ring_graph(ring(5), found(ring(5)), link="SYS")
    for channel in graph.channels:
        for one, other in zip(channel, (*channel[1:], channel[0]), strict=True):
            assert (one - other) % 5 in {1, 4}


@pytest.mark.skipif(not REAL.is_file(), reason=f"needs {REAL}")
def test_a_file_of_nccl_is_read() -> None:
    graph = read_graph(REAL.read_text(), source=REAL.name)
    assert graph == RingGraph(((0, 1, 2, 3), (0, 3, 2, 1)), 12, "SYS")


def test_several_servers_and_slow_rings_are_refused() -> None:
    servers = two_servers(2)
    with pytest.raises(InputError, match="has 2 servers; a graph file is about one"):
        ring_graph(servers, found(servers), link="NVL")
    with pytest.raises(InputError, match=r"rings of 1 GB/s are too slow"):
        ring_graph(ring(3), Rings(found(ring(3)).successors, 1e9), link="SYS")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('dev="1"', 'dev="0"', "visit the same GPUs once each"),
        ('nchannels="', 'nchannels="1', "but there are"),
        ('id="0"', 'id="3"', "no graph of id 0"),
        ('speedintra="', 'speedintra="x', "is no number of GB/s"),
        ("</graphs>", "</graph>", "not well-formed"),
    ],
)
def test_broken_files_are_told(old: str, new: str, said: str) -> None:
    text = write_graph(ring_graph(ring(4), found(ring(4)), link="NVL"))
    with pytest.raises(InputError, match=said):
        read_graph(text.replace(old, new, 1), source="g.xml")
