"""Orders of transfers, mended again and again: what came too late is more urgent the next time.

A list schedule serves the most urgent of rivals, but how urgent a transfer is cannot be told before it is seen who
waits for whom. So all transfers that lead to something late gain priority by a part of the lateness, and the schedule
is made anew [1]_.

References
----------
.. [1] D. E. Joslin, D. P. Clements, "Squeaky wheel optimization", JAIR 10 (1999).
"""

from __future__ import annotations

from collections.abc import Sequence

from syccl.solve.list_schedule import JobShop, Timing, in_order, list_schedule

_GAIN = 0.3
"""Part of its lateness by which a transfer becomes more urgent."""


def urged(shop: JobShop, rivals: JobShop, priority: Sequence[float], *, due_s: float, tries: int) -> Timing:
    """Return the shortest schedule of those under a priority that is mended after each.

    Parameters
    ----------
    shop
        Transfers with all links that they use.
    rivals
        The same with those links alone for which transfers compete; orders are found on these. Links that others keep
        from being overloaded would only make a transfer miss its turn.
    priority
        What to start from, in seconds: of two transfers that could start the one of higher priority does.
    due_s
        What arrives later is late.
    tries
        Number of schedules, at least one.
    """
    best: Timing | None = None
    urgency = list(priority)
    for _ in range(max(1, tries)):
        found = list_schedule(rivals, urgency)
        order = sorted(range(len(found.start_s)), key=lambda job: (found.start_s[job], job))
        timing = in_order(shop, order)
        if best is None or timing.makespan_s < best.makespan_s:
            best = timing
        if best.makespan_s <= due_s:
            break
        urgency = [u + _GAIN * max(0.0, end - due_s) for u, end in zip(urgency, _ends_s(rivals, found), strict=True)]
    return best if best is not None else Timing([], 0.0)


def _ends_s(shop: JobShop, timing: Timing) -> list[float]:
    """Return for each job when the last of those arrives that it leads to."""
    ends = [start + shop.duration_s(job) for job, start in enumerate(timing.start_s)]
    for job in range(len(ends) - 1, -1, -1):
        for before in shop.after[job]:
            ends[before] = max(ends[before], ends[job])
    return ends
