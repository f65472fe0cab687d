"""What ``syccl compare`` tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syccl.errors import InputError
from syccl.program import Program
from syccl.report.figures import US
from syccl.report.simulation import Timing
from syccl.report.tables import Table
from syccl.schedule import Schedule
from syccl.topology import Topology
from syccl.units import format_rate, format_size


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two files, with its timing at each size (None where the program deadlocks)."""

    file: str
    plan: Program | Schedule
    times: Sequence[tuple[int, Timing | None]]

    @property
    def needs(self) -> dict[str, object]:
        """What a program needs of the runtime and the GPU; of a schedule only its chunks are known."""
        if not isinstance(self.plan, Program):
            return {"form": "schedule", "chunks": self.plan.demand.chunks, **dict.fromkeys(_PROGRAM_ONLY)}
        blocks = [block for rank in self.plan.ranks for block in rank.blocks]
        return {
            "form": "program",
            "chunks": self.plan.chunks,
            "protocol": self.plan.protocol,
            "channels": self.plan.channels,
            "thread_blocks": max((len(rank.blocks) for rank in self.plan.ranks), default=0),
            "steps": max((len(block.steps) for block in blocks), default=0),
        }


_PROGRAM_ONLY = ("protocol", "channels", "thread_blocks", "steps")


def needs_table(sides: tuple[Side, Side]) -> Table:
    """Return what the two files need."""
    names = ("form", "chunks", *_PROGRAM_ONLY)
    rows = [("file", *(side.file for side in sides))]
    rows += [(name.replace("_", " "), *(_text(side.needs[name]) for side in sides)) for name in names]
    return Table(rows, ("", "A", "B"))


def time_table(sides: tuple[Side, Side]) -> Table:
    """Return times, bus bandwidths and the busiest link's share at every size."""
    header = ("size", "A (us)", "B (us)", "B/A", "A busbw (GB/s)", "B busbw (GB/s)", "A busiest", "B busiest")
    rows = [
        (
            format_size(size),
            *(_number(_us(side)) for side in pair),
            _number(_ratio(pair), ".3f"),
            *(_number(None if one is None else one.busbw) for one in pair),
            *("-" if one is None else f"{one.utilisation.max(initial=0.0):.0%}" for one in pair),
        )
        for size, pair in _pairs(sides)
    ]
    return Table(rows, header, frozenset(range(len(header))))


def link_table(sides: tuple[Side, Side], topology: Topology, most: int) -> Table:
    """Return how long the links are busy at the largest size at which both end, those that differ most first."""
    size, pair = _largest(sides)
    rows = [
        (
            topology.link_name(link),
            format_rate(topology.links[link].rate),
            *(f"{busy_us:.1f}" for busy_us in both),
            *(f"{one.utilisation[link]:.1%}" for one in pair),
        )
        for link, both in _links(pair, most)
    ]
    header = ("link", "bandwidth", "A busy (us)", "B busy (us)", "A busy", "B busy")
    return Table(rows, (f"{header[0]} at {format_size(size)}", *header[1:]), frozenset(range(1, len(header))))


def record(sides: tuple[Side, Side], topology: Topology, most: int) -> dict[str, object]:
    """Return the comparison under stable names, for ``--json``; ``time_us`` is null where a program deadlocks."""
    size, pair = _largest(sides)
    return {
        "topology": topology.name,
        "a": {"file": sides[0].file, **sides[0].needs},
        "b": {"file": sides[1].file, **sides[1].needs},
        "sizes": [
            {
                "size_bytes": size_bytes,
                "a_time_us": _us(both[0]),
                "b_time_us": _us(both[1]),
                "ratio": _ratio(both),
                "a_busbw_GBps": None if both[0] is None else both[0].busbw,
                "b_busbw_GBps": None if both[1] is None else both[1].busbw,
            }
            for size_bytes, both in _pairs(sides)
        ],
        "links_at_bytes": size,
        "links": [
            {"link": topology.link_name(link), "a_busy_us": both[0], "b_busy_us": both[1]}
            for link, both in _links(pair, most)
        ],
    }


def _links(pair: tuple[Timing, Timing], most: int) -> list[tuple[int, tuple[float, float]]]:
    """Return links with the microseconds that both sides keep them busy: by difference, then by load; no idle ones."""
    a, b = (np.round(one.utilisation * one.seconds * US, 6) for one in pair)
    order = np.lexsort((-np.maximum(a, b), -np.abs(a - b)))[:most].tolist()
    return [(link, (float(a[link]), float(b[link]))) for link in order if max(a[link], b[link]) > 0]


def _pairs(sides: tuple[Side, Side]) -> list[tuple[int, tuple[Timing | None, Timing | None]]]:
    return [(size, (a, b)) for (size, a), (_, b) in zip(*(side.times for side in sides), strict=True)]


def _largest(sides: tuple[Side, Side]) -> tuple[int, tuple[Timing, Timing]]:
    """Return the largest size at which neither deadlocks.

    Raises
    ------
    InputError
        When there is none.
    """
    both = [(size, (a, b)) for size, (a, b) in _pairs(sides) if a is not None and b is not None]
    if not both:
        msg = f"{sides[0].file} or {sides[1].file} deadlocks at each of these sizes; take smaller ones with -b and -e"
        raise InputError(msg)
    return both[-1]


def _us(timing: Timing | None) -> float | None:
    return None if timing is None else timing.seconds * US


def _ratio(pair: tuple[Timing | None, Timing | None]) -> float | None:
    a, b = map(_us, pair)
    return b / a if a and b is not None else None


def _number(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def _text(value: object) -> str:
    return "-" if value is None else str(value)
