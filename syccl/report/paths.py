"""What ``syccl paths`` tells, and the file that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from syccl.report.tables import Table, counted
from syccl.topology import Topology
from syccl.traffic.c4p import Cut, PathPlan, Paths, Piece, Replanned
from syccl.traffic.c4p.hashing import ROCE_PORT, Hashing, nics_of
from syccl.traffic.c4p.plan import busy

_NAMED = 2


@dataclass(frozen=True)
class Study:
    """A plan of paths beside what switches do by themselves, and after a failure where one is asked about."""

    plan: PathPlan
    hashed: Sequence[Piece]
    sprayed: Sequence[Piece]
    spray_paths: int
    after: Replanned | None


def paths_record(study: Study, output: Path | None) -> dict[str, object]:
    """Return everything for scripts, with units in the names."""
    plan = study.plan
    record: dict[str, object] = {
        "topology": plan.topology.name,
        "connections": len(plan.connections),
        "split_connections": _split(plan),
        "paths": len(plan.pieces),
        "planned": _busiest_record(plan.topology, plan.pieces),
        "bound": _cut_record(plan.topology, plan.least, plan.least.whole_s),
        "bound_if_split_at_will": _cut_record(plan.topology, plan.least_split, plan.least_split.split_s),
        "hashed": _busiest_record(plan.topology, study.hashed),
        "sprayed": _busiest_record(plan.topology, study.sprayed) | {"paths_per_connection": study.spray_paths},
        "output": None if output is None else str(output),
    }
    if study.after is not None:
        after = study.after
        record["failure"] = {
            "links": [plan.topology.link_name(link) for link in after.dead],
            "connections_hit": after.hit,
            "other_connections_moved": after.moved,
            "before": _busiest_record(plan.topology, plan.pieces),
            "during": _busiest_record(plan.topology, after.during),
            "after": _busiest_record(plan.topology, after.plan.pieces),
            "bound_s": after.plan.bound_s,
        }
    return record


def _split(plan: PathPlan) -> int:
    return len({piece.connection for piece in plan.pieces if piece.parts > 1})


def _busiest(topology: Topology, pieces: Sequence[Piece]) -> tuple[float, int]:
    found = busy(topology, pieces)
    link = max(found, key=lambda link: (found[link], -link))
    return found[link], link


def _busiest_record(topology: Topology, pieces: Sequence[Piece]) -> dict[str, object]:
    busy_s, link = _busiest(topology, pieces)
    return {"busiest_link_s": busy_s, "busiest_link": topology.link_name(link)}


def _cut_record(topology: Topology, cut: Cut, seconds: float) -> dict[str, object]:
    links = [topology.link_name(link) for link in cut.links]
    return {"busiest_link_s": seconds, "connections": len(cut.connections), "links": links}


def paths_table(study: Study) -> Table:
    """Return a row for each way to choose paths, and one for what none of them can beat."""
    plan = study.plan
    topology, bound_s = plan.topology, plan.bound_s
    words = f"{counted(len(plan.connections), 'connection')} between servers"
    if _split(plan):
        words += f", {_split(plan)} of them split"
    ways = (
        (f"planned: {words}", plan.pieces),
        ("hashed (ECMP)", study.hashed),
        (f"sprayed over {study.spray_paths} paths each", study.sprayed),
    )
    rows = []
    for name, pieces in ways:
        busy_s, link = _busiest(topology, pieces)
        rows.append((name, f"{busy_s * 1e3:.4g}", f"{busy_s / bound_s:.3f}", topology.link_name(link)))
    cut = plan.least if plan.bound_s == plan.least.whole_s else plan.least_split
    rows.append(("bound", f"{bound_s * 1e3:.4g}", "1.000", _cut_words(topology, cut)))
    return Table(rows, ("paths", "busiest link ms", "/ bound", "link"), frozenset({1, 2}))


def _cut_words(topology: Topology, cut: Cut) -> str:
    names = [topology.link_name(link) for link in cut.links[:_NAMED]] + (["..."] if len(cut.links) > _NAMED else [])
    return f"{counted(len(cut.connections), 'connection')} over {counted(len(cut.links), 'link')}: {', '.join(names)}"


def replan_table(study: Study, after: Replanned) -> Table:
    """Return how busy the busiest link is before, during and after a failure."""
    topology = study.plan.topology
    hit = f"{counted(after.hit, 'path')} rehashed by switches"
    moved = f"{counted(after.hit, 'path')} planned anew, {after.moved} others moved"
    stages = (
        ("before", study.plan.pieces, ""),
        ("during", after.during, hit),
        ("after", after.plan.pieces, moved),
    )
    rows = []
    for name, pieces, words in stages:
        busy_s, link = _busiest(topology, pieces)
        rows.append((name, f"{busy_s * 1e3:.4g}", topology.link_name(link), words))
    rows.append(("bound", f"{after.plan.bound_s * 1e3:.4g}", "", ""))
    return Table(rows, ("failure", "busiest link ms", "link", ""), frozenset({1}))


def paths_file(
    plan: Paths, ports: Sequence[int | None], hashing: Hashing, addresses: Mapping[str, IPv4Address]
) -> dict[str, object]:
    """Return what a net plugin needs: for every queue pair, or part of one, the source port and the path it means."""
    topology = plan.topology
    entries = []
    for piece, port in zip(plan.pieces, ports, strict=True):
        each = plan.connections[piece.connection]
        one, other = nics_of(topology, piece.links)
        nodes = [topology.links[piece.links[0]].src, *(topology.links[link].dst for link in piece.links)]
        entries.append(
            {
                "job": each.job,
                "src_rank": each.src,
                "dst_rank": each.dst,
                "channel": each.channel,
                "queue_pair": each.queue_pair,
                "part": piece.part,
                "parts": piece.parts,
                "bytes": piece.size_bytes,
                "src_nic": one,
                "dst_nic": other,
                "src_ip": str(addresses[one]),
                "dst_ip": str(addresses[other]),
                "udp_source_port": port,
                "path": [topology.nodes[node].name for node in nodes],
            }
        )
    return {
        "topology": topology.name,
        "hash": hashing.name,
        "seed": hashing.seed,
        "udp_destination_port": ROCE_PORT,
        "without_port": sum(port is None for port in ports),
        "paths": entries,
    }
