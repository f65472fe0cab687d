from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.topology import Kind, Link, Node, Topology
from syccl.topology.damage import degraded, subset
from syccl.topology.diff import difference
from syccl.topology.elements import element_of
from syccl.topology.health import health
from tests.strategies import duplex, mesh, ring, topologies, two_servers

PAIR = Topology(
    "pair",
    (Node("a/0", Kind.GPU), Node("b", Kind.GPU), Node("sw", Kind.SWITCH)),
    (*duplex(0, 1), *duplex(0, 1), *duplex(0, 2), *duplex(1, 2)),
)


def test_names_may_hold_slashes_and_parallel_links_are_counted():
    assert element_of(PAIR, "link:a/0/b").links == (0, 1, 2, 3)
    assert element_of(PAIR, "arc:a/0/b").links == (0, 2)
    assert element_of(PAIR, "link:a/0/b#2").links == (2, 3)
    assert element_of(PAIR, "switch:sw").links == (4, 5, 6, 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("b", "write gpu:NAME"),
        ("gpu:c", "no gpu of that name"),
        ("gpu:sw", "sw is a switch; write switch:sw"),
        ("link:a/0/c", "with / between"),
        ("link:a/0/b#3", "there are 2 parallel links"),
        ("nic:", "does not name a part"),
    ],
)
def test_what_names_nothing_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        element_of(PAIR, text)


def test_without_removes_a_node_with_its_links_and_ranks_move_down():
    topology = degraded(mesh(4), without=["gpu:gpu1"])
    assert [topology.nodes[node].name for node in topology.gpus] == ["gpu0", "gpu2", "gpu3"]
    assert len(topology.links) == 6


def test_halved_links_carry_half():
    topology = degraded(ring(4), halved=["link:gpu0/gpu1"])
    assert sorted(link.rate for link in topology.links)[:3] == [12_500_000_000, 12_500_000_000, 25_000_000_000]
    one = degraded(ring(4), halved=["arc:gpu0/gpu1"])
    assert [link.rate for link in one.links].count(12_500_000_000) == 1


def test_a_part_cannot_be_removed_and_halved():
    with pytest.raises(InputError, match="is removed and cannot be halved"):
        degraded(ring(4), without=["gpu:gpu0"], halved=["link:gpu0/gpu1"])


def test_the_last_gpu_cannot_be_removed():
    with pytest.raises(InputError, match="no GPU of ring1 is left"):
        degraded(ring(1), without=["gpu:gpu0"])


def test_a_subset_keeps_order_and_switches():
    part = subset(two_servers(), [5, 1, 0])
    whole = two_servers()
    assert [part.nodes[node].name for node in part.gpus] == [whole.nodes[whole.gpus[rank]].name for rank in (0, 1, 5)]
    with pytest.raises(InputError, match="rank 99 is not in"):
        subset(two_servers(), [99])


@given(topologies(), st.data())
@settings(max_examples=15)
def test_what_was_removed_is_what_differs(topology, data):
    link = data.draw(st.integers(0, len(topology.links) - 1))
    ends = [topology.nodes[end].name for end in (topology.links[link].src, topology.links[link].dst)]
    found = difference(topology, degraded(topology, without=[f"arc:{ends[0]}/{ends[1]}"]))
    assert [wire for wire, _ in found.links_gone] == [tuple(ends)]
    assert (found.links_new, found.links_changed, found.nodes_gone) == ((), (), ())
    assert difference(topology, topology).is_empty


def rules(topology: Topology) -> list[str]:
    return sorted({finding.rule for finding in health(topology)})


def test_a_sound_cluster_has_nothing_to_report():
    assert rules(two_servers()) == []


def test_what_is_wrong_is_reported():
    whole = mesh(4)
    assert rules(degraded(whole, without=["arc:gpu0/gpu1"])) == ["one-way"]
    assert rules(degraded(whole, halved=["arc:gpu0/gpu1"])) == ["asymmetric"]
    assert rules(degraded(ring(3), without=["link:gpu0/gpu1", "link:gpu1/gpu2"])) == ["disconnected", "slow-gpu"]
    slow = Topology("slow", whole.nodes, tuple(link._replace(rate=25) for link in whole.links))
    assert rules(slow) == ["speed"]
    late = Topology("late", whole.nodes, tuple(link._replace(latency_ps=10**10) for link in whole.links))
    assert rules(late) == ["latency"]
    idle = Topology(
        "idle", (*whole.nodes, Node("n", Kind.NIC)), (*whole.links, *(Link(0, 4, 10**10, 0), Link(4, 0, 10**10, 0)))
    )
    assert rules(idle) == ["idle-nic"]


def test_a_gpu_that_lost_its_fast_links_is_reported():
    fast = Topology("fast", (*mesh(4).nodes, Node("sw", Kind.SWITCH)), tuple(
        link for gpu in range(4) for link in duplex(gpu, 4, rate=300_000_000_000 if gpu else 10_000_000_000)
    ))  # fmt: skip
    found = [finding for finding in health(fast) if finding.rule == "slow-gpu"]
    assert [finding.where for finding in found] == ["gpu0"]
