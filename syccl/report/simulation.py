"""What ``syccl simulate`` tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALLTOALLV, OPS, busbw_factor
from syccl.program import Program
from syccl.program.selection import selection
from syccl.report.figures import US
from syccl.report.synthesis import gigabytes, microseconds, rank_order, size_meaning
from syccl.report.tables import Table
from syccl.schedule import Schedule
from syccl.simulate.profile import cost_words
from syccl.topology import Topology
from syccl.tuning.sweep import call_count
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
    utilisation
        Share of the time that every link is busy, shape ``(links,)``.
    profile
        Name of the cost profile that was charged, empty for none.
    """

    topology: Topology
    collective: str
    size_bytes: int
    seconds: float
    bottleneck: int | None
    utilisation: NDArray[np.float64]
    profile: str = ""

    @property
    def algbw(self) -> float | None:
        """GB/s as nccl-tests counts it, None where nothing takes time."""
        return self.size_bytes / self.seconds / 1e9 if self.seconds > 0 else None

    @property
    def busbw(self) -> float | None:
        """``algbw`` times nccl-tests' factor, None where there is no such factor."""
        op = ALLTOALLV if self.collective == ALLTOALLV.name else OPS.get(self.collective)
        return None if op is None or self.algbw is None else self.algbw * busbw_factor(op, self.topology.ranks)

    @property
    def bottleneck_name(self) -> str | None:
        """Name of the busiest link, None where nothing is sent."""
        return None if self.bottleneck is None else self.topology.link_name(self.bottleneck)


def collective_of(plan: Program | Schedule) -> str:
    """Return the name of the collective of a program or schedule."""
    return plan.collective if isinstance(plan, Program) else plan.demand.op.name


def simulation_record(name: str, what: str, timing: Timing, *, links: int = 0) -> dict[str, object]:
    """Return the prediction under stable names, for ``--json``, with the busiest links."""
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
        "bottleneck": timing.bottleneck_name,
        "profile": timing.profile or None,
        "links": [
            {"link": timing.topology.link_name(i), "utilisation": float(timing.utilisation[i])}
            for i in busiest(timing.utilisation, links)
        ],
    }


def busiest(utilisation: NDArray[np.float64], most: int) -> list[int]:
    """Return the ids of the busiest links, at most so many, those that are idle left out."""
    order: list[int] = np.argsort(-utilisation, kind="stable")[:most].tolist()
    return [link for link in order if utilisation[link] > 0]


def link_table(timing: Timing, most: int) -> Table:
    """Return the busiest links with their bandwidth and the share of the time that they are busy."""
    topology = timing.topology
    rows = [
        (topology.link_name(link), format_rate(topology.links[link].rate), f"{timing.utilisation[link]:.1%}")
        for link in busiest(timing.utilisation, most)
    ]
    return Table(rows, ("link", "bandwidth", "busy"), frozenset({1, 2}))


def sweep_records(
    plan: Program | Schedule, topology: Topology, times: Sequence[tuple[int, Timing | None]], datatype: str
) -> list[dict[str, object]]:
    """Return one record for each size; times are None where the program deadlocks."""
    collective = collective_of(plan)
    op = OPS.get(collective)
    taken = selection(plan, datatype) if isinstance(plan, Program) else None
    return [
        {
            "size_bytes": size,
            "count": None if op is None else call_count(op, topology.ranks, size, datatype),
            "datatype": datatype,
            "redop": "sum" if op is not None and op.reduces else "none",
            "time_us": None if timing is None else timing.seconds * US,
            "algbw_GBps": None if timing is None else timing.algbw,
            "busbw_GBps": None if timing is None else timing.busbw,
            "bottleneck": None
            if timing is None or timing.bottleneck is None
            else topology.link_name(timing.bottleneck),
            "selected": None if taken is None else taken.takes(size),
        }
        for size, timing in times
    ]


def sweep_table(rows: Sequence[Mapping[str, object]]) -> Table:
    """Return the sizes in the columns of nccl-tests, with the busiest link and whether a runtime selects the file."""
    header = (
        "size (B)",
        "count",
        "type",
        "redop",
        "time (us)",
        "algbw (GB/s)",
        "busbw (GB/s)",
        "selected",
        "busiest link",
    )
    cells = [
        (
            *(_cell(row[name]) for name in ("size_bytes", "count", "datatype", "redop")),
            *("deadlock" if row["time_us"] is None else _cell(row[name]) for name in ("time_us",)),
            *(_cell(row[name]) for name in ("algbw_GBps", "busbw_GBps", "selected", "bottleneck")),
        )
        for row in rows
    ]
    return Table(cells, header, frozenset({0, 1, 4, 5, 6}))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


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
        ("costs", cost_words(timing.profile)),
        ("algbw", gigabytes(timing.algbw)),
        ("busbw", gigabytes(timing.busbw)),
        ("bottleneck", "-" if link is None else timing.topology.link_name(link) + rate),
    ]
    return Table(rows)
