"""What ``syccl bound`` tells."""

from __future__ import annotations

from dataclasses import dataclass

from syccl.bounds import Bound
from syccl.collective import Op
from syccl.report.figures import US
from syccl.report.synthesis import bound_words, cut_words, microseconds, rank_order, size_meaning
from syccl.report.tables import Table
from syccl.symmetry import Group
from syccl.topology import Topology
from syccl.units import format_size


@dataclass(frozen=True)
class BoundAnswer:
    """A bound and what it is the bound of."""

    topology: Topology
    op: Op
    root: int
    size_bytes: int
    group: Group
    bound: Bound


def bound_record(answer: BoundAnswer) -> dict[str, object]:
    """Return the bound under the names that ``syccl synth --json`` uses too."""
    bound = answer.bound
    return {
        "topology": answer.topology.name,
        "op": answer.op.name,
        "ranks": answer.topology.ranks,
        "rank_order": rank_order(answer.topology),
        "root": answer.root if answer.op.rooted else None,
        "size_bytes": answer.size_bytes,
        "size_means": size_meaning(answer.op),
        "symmetry_order": answer.group.order,
        "bound_us": bound.seconds * US,
        "bandwidth_bound_us": bound.bandwidth_s * US,
        "latency_bound_us": bound.latency_s * US,
        "combined_bound_us": bound.combined_s * US,
        "window_bound_us": bound.window_s * US,
        "certified_us": bound.proven_s * US,
        "bound_certified": bound.is_certified,
        "bound_why": bound.why,
        "cut": cut_words(bound.cut, answer.topology),
        "cut_ranks": list(bound.cut.ranks),
        "cut_links": [answer.topology.link_name(link) for link in bound.cut.links],
    }


def bound_table(answer: BoundAnswer) -> Table:
    """Return the bound for people: its value, its three terms, and the cut in words."""
    bound, topology = answer.bound, answer.topology
    root = f", root {answer.root}" if answer.op.rooted else ""
    rows = [
        ("topology", topology.name),
        ("op", f"{answer.op.name}{root}"),
        ("size", f"{format_size(answer.size_bytes)}: {size_meaning(answer.op)}"),
        ("ranks", f"{topology.ranks}: {rank_order(topology)}"),
        ("symmetry", f"order {answer.group.order}"),
        ("bound", bound_words(bound)),
        ("bandwidth", microseconds(bound.bandwidth_s * US)),
        ("latency", microseconds(bound.latency_s * US)),
        ("combined", microseconds(bound.combined_s * US)),
        ("time windows", microseconds(bound.window_s * US) if bound.window_s else "-"),
        ("cut", cut_words(bound.cut, topology)),
    ]
    return Table(rows)
