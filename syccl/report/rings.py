"""What ``syccl topo rings`` tells."""

from __future__ import annotations

from pathlib import Path

from syccl.baselines.rings import Rings, ring_order
from syccl.report.tables import Table
from syccl.topology import Topology
from syccl.units import format_rate


def ring_table(topology: Topology, rings: Rings) -> Table:
    """Return the rings for people: what each carries, and its ranks in order."""
    rows = [
        (str(number), format_rate(int(rings.rate)), " ".join(map(str, ring_order(successors))))
        for number, successors in enumerate(rings.successors.tolist())
    ]
    return Table(rows, ("ring", "carries", f"ranks of {topology.name} in order"), frozenset({0, 1}))


def ring_record(topology: Topology, rings: Rings, output: Path | None) -> dict[str, object]:
    """Return the rings under stable names, for ``--json``; ``rate_GBps`` is that of one ring with all in use."""
    return {
        "topology": topology.name,
        "rate_GBps": rings.rate / 1e9,
        "rings": [ring_order(successors) for successors in rings.successors.tolist()],
        "output": None if output is None else str(output),
    }
