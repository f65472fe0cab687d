"""A topology in words: what it is made of, which links it has, how symmetric it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from syccl.report.synthesis import rank_order
from syccl.report.tables import Table, counted
from syccl.simulate.profile import cost_words
from syccl.symmetry import Group
from syccl.topology import Kind, Topology
from syccl.units import format_latency, format_rate

LinkClass = tuple[str, str, int, int]
"""Kinds of the two ends, bandwidth in bytes per second, latency in picoseconds."""


def link_classes(topology: Topology) -> dict[LinkClass, int]:
    """Return how many directed links there are of each sort, the commonest first."""
    kinds = [node.kind.value for node in topology.nodes]
    found = Counter((kinds[link.src], kinds[link.dst], link.rate, link.latency_ps) for link in topology.links)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def topology_record(topology: Topology, group: Group, islands: Sequence[Sequence[int]]) -> dict[str, object]:
    """Return what is known about a topology under stable names, for ``--json``."""
    return {
        "topology": topology.name,
        "ranks": topology.ranks,
        "nics": _count(topology, Kind.NIC),
        "switches": _count(topology, Kind.SWITCH),
        "links": len(topology.links),
        "profile": topology.profile or None,
        "symmetry_order": group.order,
        "gpu_orbits": len(group.rank_orbits),
        "islands": [list(island) for island in islands],
        "gpus": [topology.nodes[node].name for node in topology.gpus],
        "link_classes": [
            {"from": src, "to": dst, "rate_GBps": rate / 1e9, "latency_us": latency / 1e6, "count": count}
            for (src, dst, rate, latency), count in link_classes(topology).items()
        ],
    }


def _count(topology: Topology, kind: Kind) -> int:
    return sum(node.kind is kind for node in topology.nodes)


def topology_table(topology: Topology, group: Group, islands: Sequence[Sequence[int]]) -> Table:
    """Return what a person wants to know about a topology first."""
    parts = [
        counted(topology.ranks, "GPU"),
        counted(_count(topology, Kind.NIC), "NIC"),
        counted(_count(topology, Kind.SWITCH), "switch"),
    ]
    sizes = Counter(map(len, islands))
    groups = ", ".join(f"{count} x {counted(size, 'GPU')}" for size, count in sorted(sizes.items(), reverse=True))
    rows = [
        ("topology", topology.name),
        ("nodes", ", ".join(parts)),
        ("links", f"{len(topology.links)} directed"),
        ("ranks", rank_order(topology)),
        ("symmetry", _symmetry_words(group)),
        ("islands", groups),
        ("costs", cost_words(topology.profile)),
    ]
    return Table(rows)


def _symmetry_words(group: Group) -> str:
    kinds = len(group.rank_orbits)
    return f"order {group.order}: {'all GPUs are alike' if kinds == 1 else f'{kinds} kinds of GPU'}"


def tied_nics(topology: Topology) -> list[str]:
    """Return the names of the GPUs that have several equally near NICs: linked at the same best rate and latency."""
    return [topology.nodes[gpu].name for gpu in topology.gpus if _nearest_nics(topology, gpu) > 1]


def _nearest_nics(topology: Topology, gpu: int) -> int:
    links = [topology.links[link] for link in topology.out_links[gpu]]
    order = [(-link.rate, link.latency_ps) for link in links if topology.nodes[link.dst].kind is Kind.NIC]
    return order.count(min(order)) if order else 0


def tied_nics_words(topology: Topology) -> str:
    """Return that a runtime chooses among equally near NICs by itself; empty where there is no such choice."""
    gpus = tied_nics(topology)
    if not gpus:
        return ""
    more = "" if len(gpus) == 1 else f" and {counted(len(gpus) - 1, 'other GPU')}"
    has = "has" if len(gpus) == 1 else "have"
    return (
        f"{gpus[0]}{more} {has} several equally near NICs; a program cannot name one, the runtime picks one of them "
        "itself, so that the real time may differ"
    )


def links_table(topology: Topology) -> Table:
    """Return the sorts of links with their bandwidth and latency per direction."""
    rows = [
        (f"{src} -> {dst}", str(count), format_rate(rate), format_latency(latency))
        for (src, dst, rate, latency), count in link_classes(topology).items()
    ]
    return Table(rows, ("links", "count", "bandwidth", "latency"), frozenset({1, 2, 3}))


def bundle_records(topologies: Sequence[Topology]) -> list[dict[str, object]]:
    """Return the size of each topology under stable names, for ``--json``."""
    return [
        {"topology": one.name, "ranks": one.ranks, "servers": _servers(one), "links": len(one.links)}
        for one in topologies
    ]


def _servers(topology: Topology) -> int:
    return len({node.server for node in topology.nodes if node.kind is Kind.GPU})


def bundle_table(topologies: Sequence[Topology]) -> Table:
    """Return one line a topology: name, GPUs, servers, directed links."""
    rows = [(one.name, str(one.ranks), str(_servers(one)), str(len(one.links))) for one in topologies]
    return Table(rows, ("topology", "GPUs", "servers", "links"), frozenset({1, 2, 3}))
