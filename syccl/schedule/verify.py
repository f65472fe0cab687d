"""Whether a schedule does what its demand asks for, judged from its transfers alone.

Nothing that the synthesizer believes is used: routes are walked link by link, every chunk is followed from its
sources to its targets, and sums are kept as the set of ranks that contributed. A compressed schedule is judged in
three steps: its generators are automorphisms of links and demand, its elements are what they generate, and the chunks
that represent all others arrive.

Rules (all are errors):

==============  ====================================================================================
``shape``       a column, rank, chunk or route index is out of range
``route``       a route is no path from sender to receiver through NICs and switches
``holds``       a sender does not have the finished chunk that it sends
``twice``       a contribution is added to a sum that has it
``missing``     a rank lacks a chunk that it wants, or contributions to it
``redundant``   a chunk is sent to a rank that has it, or nobody uses what a transfer brings
``order``       a transfer is not ordered after one whose data it carries
``reduce``      a transfer adds where the collective sums nothing
``symmetry``    a permutation does not keep what it must, or the elements are not what generators make
==============  ====================================================================================
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from syccl.findings import Finding
from syccl.schedule.ir import Schedule
from syccl.schedule.verify_data import Cells, data_findings
from syccl.schedule.verify_symmetry import representative_cells, symmetry_findings
from syccl.topology import Topology

COLUMNS = ("chunk", "src", "dst", "route", "reduce", "stage", "order")


def verify_schedule(schedule: Schedule) -> tuple[Finding, ...]:
    """Return everything that is wrong with a schedule; empty when it is correct.

    Parameters
    ----------
    schedule
        Explicit, or compressed by symmetry: then nothing is expanded, and the findings name representatives.
    """
    findings = tuple(_shape_findings(schedule))
    if findings:
        return findings
    findings = tuple(_route_findings(schedule))
    if schedule.symmetry is None:
        return findings + data_findings(_explicit_cells(schedule), schedule.demand)
    wrong = tuple(symmetry_findings(schedule))
    if wrong:
        return findings + wrong
    cells, chunks = representative_cells(schedule.transfers, schedule.symmetry)
    return findings + data_findings(cells, schedule.demand, chunks=chunks)


def _error(rule: str, where: str, message: str) -> Finding:
    return Finding("error", rule, where, message)


def _explicit_cells(schedule: Schedule) -> Cells:
    rows = schedule.transfers
    return Cells(rows, np.arange(len(rows)), rows.chunk, rows.src, rows.dst)


def _shape_findings(schedule: Schedule) -> Iterator[Finding]:
    rows, demand, ranks = schedule.transfers, schedule.demand, schedule.topology.ranks
    if demand.ranks != ranks:
        yield _error("shape", "demand", f"is over {demand.ranks} ranks, but the topology has {ranks} GPUs")
        return
    lengths = {name: np.shape(getattr(rows, name)) for name in COLUMNS}
    if any(shape != (len(rows),) for shape in lengths.values()):
        yield _error("shape", "transfers", f"columns differ in shape: {lengths}")
        return
    limits = {"chunk": demand.chunk_ids, "src": ranks, "dst": ranks, "route": len(schedule.routes)}
    for name, limit in limits.items():
        column = getattr(rows, name)
        for row in np.flatnonzero((column < 0) | (column >= limit)).tolist():
            yield _error("shape", f"transfer {row}", f"{name} {column[row]} is not in 0..{limit - 1}")


def _route_findings(schedule: Schedule) -> Iterator[Finding]:
    """Check every route, then that it joins the ranks of the rows that take it; ends of broken routes say nothing."""
    topology, rows = schedule.topology, schedule.transfers
    troubles = [_route_trouble(topology, route) for route in schedule.routes]
    for number, message in enumerate(troubles):
        if message:
            yield _error("route", f"route {number}", message)
    ends = [
        (-1, -1) if message else (topology.links[route[0]].src, topology.links[route[-1]].dst)
        for message, route in zip(troubles, schedule.routes, strict=True)
    ]
    begin, end = np.array(ends, dtype=np.int64).reshape(-1, 2)[rows.route].T
    gpus = np.array(topology.gpus)
    wrong = (begin >= 0) & ((begin != gpus[rows.src]) | (end != gpus[rows.dst]))
    for row in np.flatnonzero(wrong).tolist():
        names = f"{topology.nodes[int(begin[row])].name} to {topology.nodes[int(end[row])].name}"
        place = f"transfer {row} (chunk {rows.chunk[row]}, {rows.src[row]}->{rows.dst[row]})"
        yield _error("route", place, f"takes route {rows.route[row]}, which joins {names}")


def _route_trouble(topology: Topology, route: tuple[int, ...]) -> str:
    """Return what keeps some links from being a path between two GPUs through other nodes, or an empty text."""
    if not route:
        return "has no link"
    unknown = [link for link in route if not 0 <= link < len(topology.links)]
    if unknown:
        return f"link {unknown[0]} is not in 0..{len(topology.links) - 1}"
    nodes = [topology.links[route[0]].src, *(topology.links[link].dst for link in route)]
    for before, after in itertools.pairwise(route):
        if topology.links[before].dst != topology.links[after].src:
            return f"{topology.link_name(after)} does not begin where {topology.link_name(before)} ends"
    through = [topology.nodes[node].name for node in nodes[1:-1] if topology.is_gpu(node)]
    if through:
        return f"passes GPU {through[0]}; only NICs and switches may lie between"
    ends = [topology.nodes[node].name for node in (nodes[0], nodes[-1]) if not topology.is_gpu(node)]
    if ends:
        return f"begins or ends at {ends[0]}, which is no GPU"
    return "passes a node twice" if len(set(nodes)) < len(nodes) else ""
