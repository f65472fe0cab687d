"""Bounds in words: which term, which links, which GPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from syccl.bounds.bandwidth import Cut
from syccl.bounds.lower import Bound
from syccl.bounds.partition import outside
from syccl.topology import Topology
from syccl.units import format_rate

_NAMES = 4


def describe(bound: Bound, topology: Topology) -> str:
    """Return a bound in two lines: the terms, and the cut whose bandwidth counts."""
    terms = f"bandwidth {_us(bound.bandwidth_s)}, latency {_us(bound.latency_s)}, combined {_us(bound.combined_s)}"
    return f"{_us(bound.seconds)} by {bound.why or 'nothing'}: {terms}\n{describe_cut(bound.cut, topology)}"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.6g}us"


def describe_cut(cut: Cut, topology: Topology) -> str:
    """Return which GPUs a cut is around, which way it is crossed, and by which links."""
    if not cut.links:
        return "cut: no link has to be crossed"
    others = outside(cut.ranks, topology.ranks)
    inward = len(others) < len(cut.ranks) or (cut.parts > 1 and others[:1] == (0,))
    inside, way = (others, "into") if inward else (cut.ranks, "out of")
    links = " + ".join(_bundles(cut.links, topology))
    if cut.parts == 1:
        together = f", {format_rate(cut.rate)} in all" if "+" in links else ""
        return f"cut: {way} {ranks_in_words(inside, topology)}, over {links}{together}"
    like = f"{way} each of {cut.parts} parts such as {ranks_in_words(inside, topology)}"
    return f"cut: {like}, over {links}; {format_rate(cut.rate)} around all parts"


def ranks_in_words(ranks: Sequence[int], topology: Topology) -> str:
    """Return ranks as ranges, with the names of the first and last GPU."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:_NAMES])
    text += ", ..." if len(spans) > _NAMES else ""
    names = [topology.nodes[topology.gpus[rank]].name for rank in ranks]
    if len(ranks) == 1:
        return f"rank {text} ({names[0]})"
    return f"ranks {text} ({names[0]} .. {names[-1]})"


def _bundles(links: Iterable[int], topology: Topology) -> list[str]:
    """Return one phrase for all links of equal bandwidth between nodes of the same kinds."""
    bundles: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for i in links:
        link = topology.links[i]
        ends = topology.nodes[link.src].kind.value, topology.nodes[link.dst].kind.value
        bundles[(*ends, link.rate)].append(i)
    return [_bundle(members, f"{src}->{dst}", topology) for (src, dst, _), members in bundles.items()]


def _bundle(links: Sequence[int], ends: str, topology: Topology) -> str:
    rate = topology.links[links[0]].rate
    names = ", ".join(topology.link_name(i) for i in links[:_NAMES]) + (", ..." if len(links) > _NAMES else "")
    where = _servers(links, topology)
    if len(links) == 1:
        return f"1 link {ends}{where} of {format_rate(rate)} ({names})"
    together = format_rate(rate * len(links))
    return f"{len(links)} links {ends}{where}, {format_rate(rate)} each, {together} together ({names})"


def _servers(links: Iterable[int], topology: Topology) -> str:
    ends = [topology.nodes[end].server for i in links for end in topology.links[i][:2]]
    servers = dict.fromkeys(server for server in ends if server)
    if not servers:
        return ""
    return f" at {next(iter(servers))}" if len(servers) == 1 else f" at {len(servers)} servers"
