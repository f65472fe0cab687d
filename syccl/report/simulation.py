"""What ``syccl simulate`` tells."""

from __future__ import annotations

from dataclasses import dataclass

from syccl.collective import ALLTOALLV, OPS, busbw_factor
from syccl.report.figures import US
from syccl.report.synthesis import gigabytes, microseconds, rank_order, size_meaning
from syccl.report.tables import Table
from syccl.topology import Topology
from syccl.units import format_rate, format_size


@dataclass(frozen=True)
class Timing:
    """A predicted time and what it is the time of.

    Parameters
    ----------
    collective
        Name of the op; ``custom`` for a program that is none of them.
    bottleneck
        Id of the link that is busy longest, None where nothing is sent.
    """

    topology: Topology
    collective: str
    size_bytes: int
    seconds: float
    bottleneck: int | None

    @property
    def algbw(self) -> float | None:
        """GB/s as nccl-tests counts it, None where nothing takes time."""
        return self.size_bytes / self.seconds / 1e9 if self.seconds > 0 else None

    @property
    def busbw(self) -> float | None:
        """``algbw`` times nccl-tests' factor, None where there is no such factor."""
        op = ALLTOALLV if self.collective == ALLTOALLV.name else OPS.get(self.collective)
        return None if op is None or self.algbw is None else self.algbw * busbw_factor(op, self.topology.ranks)


def simulation_record(name: str, what: str, timing: Timing) -> dict[str, object]:
    """Return the prediction under stable names, for ``--json``."""
    link = timing.bottleneck
    return {
        "file": name,
        "what": what,
        "topology": timing.topology.name,
        "op": timing.collective,
        "ranks": timing.topology.ranks,
        "rank_order": rank_order(timing.topology),
        "size_bytes": timing.size_bytes,
        "time_us": timing.seconds * US,
        "algbw_GBps": timing.algbw,
        "busbw_GBps": timing.busbw,
        "bottleneck": None if link is None else timing.topology.link_name(link),
    }


def simulation_table(name: str, what: str, timing: Timing) -> Table:
    """Return the prediction for people."""
    op = OPS.get(timing.collective)
    meaning = f": {size_meaning(op)}" if op else ""
    link = timing.bottleneck
    rate = "" if link is None else f" ({format_rate(timing.topology.links[link].rate)})"
    rows = [
        ("file", f"{name}: {what}"),
        ("topology", timing.topology.name),
        ("ranks", f"{timing.topology.ranks}: {rank_order(timing.topology)}"),
        ("size", f"{format_size(timing.size_bytes)}{meaning}"),
        ("predicted time", microseconds(timing.seconds * US)),
        ("algbw", gigabytes(timing.algbw)),
        ("busbw", gigabytes(timing.busbw)),
        ("bottleneck", "-" if link is None else timing.topology.link_name(link) + rate),
    ]
    return Table(rows)
