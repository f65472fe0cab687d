"""A topology in words."""

from __future__ import annotations

from syccl.report.tables import render
from syccl.report.topology import link_classes, links_table, tied_nics, tied_nics_words, topology_record, topology_table
from syccl.symmetry import trivial_group
from syccl.topology import Kind, Link, Node, Topology
from tests.strategies import one_switch

SWITCH = one_switch(3)


def test_links_are_counted_by_sort() -> None:
    assert link_classes(SWITCH) == {
        ("gpu", "switch", 25_000_000_000, 350_000): 3,
        ("switch", "gpu", 25_000_000_000, 350_000): 3,
    }


def test_the_table_counts_nodes_links_and_islands() -> None:
    rows = dict(topology_table(SWITCH, trivial_group(SWITCH), [[0, 1, 2]]).rows)
    assert rows["nodes"] == "3 GPUs, 0 NICs, 1 switch"
    assert rows["links"] == "6 directed"
    assert rows["islands"] == "1 x 3 GPUs"


def test_links_show_rates_with_units() -> None:
    assert render(links_table(SWITCH)).splitlines()[1] == "gpu -> switch      3     25GB/s   0.35us"


def test_the_record_has_fixed_units() -> None:
    values = topology_record(SWITCH, trivial_group(SWITCH), [[0, 1, 2]])
    assert values["ranks"] == 3
    assert values["symmetry_order"] == 1
    assert values["link_classes"] == [
        {"from": "gpu", "to": "switch", "rate_GBps": 25.0, "latency_us": 0.35, "count": 3},
        {"from": "switch", "to": "gpu", "rate_GBps": 25.0, "latency_us": 0.35, "count": 3},
    ]


def with_nics(*latencies_ps: int) -> Topology:
    """Two GPUs, the first with a NIC at each of these latencies."""
    nics = [Node(f"nic{i}", Kind.NIC) for i in range(len(latencies_ps))]
    links = [Link(0, 2 + i, 25 * 10**9, latency) for i, latency in enumerate(latencies_ps)]
    return Topology("nics", (Node("gpu0", Kind.GPU), Node("gpu1", Kind.GPU), *nics), tuple(links))


def test_several_equally_near_nics_are_told() -> None:
    assert tied_nics(with_nics(500, 500)) == ["gpu0"]
    assert tied_nics(with_nics(500, 500, 400)) == []
    assert tied_nics_words(with_nics(500)) == ""
    assert tied_nics_words(with_nics(500, 500)).startswith("gpu0 has several equally near NICs;")
