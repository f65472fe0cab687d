"""What looks wrong with a cluster: one-way and lopsided links, idle NICs, slow paths, speeds that cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from syccl.findings import Finding
from syccl.topology.check import disconnected_parts
from syccl.topology.model import Kind, Topology
from syccl.topology.naming import shown
from syccl.topology.routes import routes_from
from syccl.units import format_latency, format_rate

_SLOWEST, _FASTEST = 10**8, 4 * 10**12
"""0.1 GB/s, 4 TB/s: no link of a GPU server is below or above."""
_LONGEST_PS = 10**9
"""1 ms."""
_SLOW_FACTOR = 4
"""A GPU whose best route is so much slower than the usual one is worth a look."""
_NAMED = 8
_MOST_RANKS = 2048
"""Routes are looked at on clusters of at most so many GPUs."""


def health(topology: Topology) -> tuple[Finding, ...]:
    """Return what looks wrong, the gravest first; nothing where all is well."""
    found = [
        *_disconnected(topology),
        *_one_way(topology),
        *_lopsided(topology),
        *_implausible(topology),
        *_unused(topology),
        *(_slow_gpus(topology) if topology.ranks <= _MOST_RANKS else ()),
    ]
    return tuple(sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity)))


def _names(topology: Topology, nodes: Sequence[int]) -> str:
    names = [shown(topology.nodes[node].name) for node in nodes[:_NAMED]]
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return ", ".join(names) + more


def _disconnected(topology: Topology) -> Iterator[Finding]:
    for part in disconnected_parts(topology):
        words = _names(topology, [topology.gpus[rank] for rank in part])
        yield Finding("error", "disconnected", words, "do not all reach the other GPUs and back; no collective works")


def _ways(topology: Topology) -> dict[tuple[int, int], list[tuple[int, int]]]:
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for link in topology.links:
        ways.setdefault((link.src, link.dst), []).append((link.rate, link.latency_ps))
    return {ends: sorted(values) for ends, values in ways.items()}


def _one_way(topology: Topology) -> Iterator[Finding]:
    ways = _ways(topology)
    for src, dst in ways:
        if (dst, src) not in ways:
            name = f"{topology.nodes[src].name}->{topology.nodes[dst].name}"
            yield Finding("warning", "one-way", name, "there is no link back; write it too if it is a cable")


def _lopsided(topology: Topology) -> Iterator[Finding]:
    ways = _ways(topology)
    for (src, dst), values in ways.items():
        back = ways.get((dst, src))
        if src < dst and back is not None and back != values:
            name = f"{topology.nodes[src].name} and {topology.nodes[dst].name}"
            yield Finding("warning", "asymmetric", name, f"{_words(values)} one way, {_words(back)} back")


def _words(values: Sequence[tuple[int, int]]) -> str:
    return " + ".join(f"{format_rate(rate)} {format_latency(latency)}" for rate, latency in values)


def _implausible(topology: Topology) -> Iterator[Finding]:
    for i, link in enumerate(topology.links):
        ends = {topology.nodes[link.src].kind, topology.nodes[link.dst].kind}
        if link.rate < _SLOWEST or (link.rate > _FASTEST and Kind.GPU in ends):
            usual = f"{format_rate(_SLOWEST)} to {format_rate(_FASTEST)}"
            message = f"{format_rate(link.rate)} is not from {usual}; a slip of the unit?"
            yield Finding("warning", "speed", topology.link_name(i), message)
        if link.latency_ps > _LONGEST_PS:
            message = f"{format_latency(link.latency_ps)} is above {format_latency(_LONGEST_PS)}; a slip of the unit?"
            yield Finding("warning", "latency", topology.link_name(i), message)


def _unused(topology: Topology) -> Iterator[Finding]:
    """Yield NICs and switches that no path between two GPUs passes."""
    for kind, words in ((Kind.NIC, "idle-nic"), (Kind.SWITCH, "idle-switch")):
        idle = [i for i, node in enumerate(topology.nodes) if node.kind is kind and not _joins(topology, i)]
        if idle:
            plural = "NICs" if kind is Kind.NIC else "switches"
            message = f"{len(idle)} {plural} have fewer than two neighbours and carry nothing between GPUs"
            yield Finding("note", words, _names(topology, idle), message)


def _joins(topology: Topology, node: int) -> bool:
    into = {topology.links[link].src for link in topology.in_links[node]}
    out = {topology.links[link].dst for link in topology.out_links[node]}
    return bool(into) and bool(out) and len(into | out) > 1


def _slow_gpus(topology: Topology) -> Iterator[Finding]:
    """Yield GPUs that reach their nearest mate much slower than GPUs usually do."""
    if topology.ranks < 3:
        return
    best = [max((route.rate for route in routes_from(topology, r).values()), default=0) for r in range(topology.ranks)]
    usual = median(best)
    slow = [topology.gpus[rank] for rank, rate in enumerate(best) if rate * _SLOW_FACTOR < usual]
    for node in slow[:_NAMED]:
        rate = format_rate(best[topology.rank_of[node]])
        message = f"reaches no GPU at more than {rate}; most GPUs have {format_rate(usual)}: a lost NVLink?"
        yield Finding("warning", "slow-gpu", topology.nodes[node].name, message)
