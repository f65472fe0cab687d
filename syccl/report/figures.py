"""The numbers that a synthesis is judged by, in the units that people compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syccl.collective import busbw_factor

if TYPE_CHECKING:
    from syccl.pipeline import Synthesis

US = 1e6
"""Microseconds in a second."""


@dataclass(frozen=True)
class Figures:
    """Times in microseconds, bandwidths in GB/s (1e9 bytes per second); None where there is no such number.

    ``time_us`` is the prediction: the time of the lowered program, or of the schedule where there is no program.
    Ratios are time over bound and are None where the bound is zero (nothing to send).
    """

    bound_us: float
    bandwidth_bound_us: float
    latency_bound_us: float
    combined_bound_us: float
    window_bound_us: float
    tree_bound_us: float | None
    route_bound_us: float | None
    schedule_time_us: float
    program_time_us: float | None
    time_us: float
    schedule_ratio: float | None
    program_ratio: float | None
    ratio: float | None
    algbw_GBps: float | None  # noqa: N815  the name that nccl-tests and scripts use
    busbw_GBps: float | None  # noqa: N815
    speedup_over_ring: float | None


def figures(synthesis: Synthesis, size_bytes: int) -> Figures:
    """Return the numbers of one synthesis.

    Parameters
    ----------
    synthesis
        What the pipeline returned.
    size_bytes
        The size asked for, as nccl-tests counts it for this collective.
    """
    bound = synthesis.bound
    bound_us = bound.seconds * US
    schedule_us = synthesis.schedule_time_s * US
    program_us = _scaled(synthesis.program_time_s)
    time_us = schedule_us if program_us is None else program_us
    algbw = size_bytes / time_us / 1e3 if time_us > 0 else None
    factor = busbw_factor(synthesis.demand.op, synthesis.demand.ranks)
    return Figures(
        bound_us=bound_us,
        bandwidth_bound_us=bound.bandwidth_s * US,
        latency_bound_us=bound.latency_s * US,
        combined_bound_us=bound.combined_s * US,
        window_bound_us=bound.window_s * US,
        tree_bound_us=_scaled(synthesis.tree_bound_s),
        route_bound_us=_scaled(synthesis.route_bound_s),
        schedule_time_us=schedule_us,
        program_time_us=program_us,
        time_us=time_us,
        schedule_ratio=_ratio(schedule_us, bound_us),
        program_ratio=_ratio(program_us, bound_us),
        ratio=_ratio(time_us, bound_us),
        algbw_GBps=algbw,
        busbw_GBps=None if algbw is None else algbw * factor,
        speedup_over_ring=_ratio(synthesis.baselines.get("ring_us"), time_us),
    )


def _scaled(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * US


def _ratio(value: float | None, base: float) -> float | None:
    return None if value is None or base <= 0 else value / base
