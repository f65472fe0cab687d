"""The time that the user gives: how much is left, and whether it ran out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(eq=False)
class Clock:
    """Wall clock of one job; only a time limit given by the user may change what is made.

    Parameters
    ----------
    limit_s
        Seconds given; None for no limit.
    began
        When it started, as ``time.monotonic`` tells it.
    hit
        Whether something was left out for want of time.
    """

    limit_s: float | None = None
    began: float = field(default_factory=time.monotonic)
    hit: bool = False

    def spent_s(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.began

    def left_s(self) -> float | None:
        """Return the seconds until the limit, 0 when it is past; None without a limit."""
        return None if self.limit_s is None else max(0.0, self.limit_s - self.spent_s())

    def until(self, reserve_s: float) -> Clock:
        """Return a clock that started with this one and stops some seconds before its limit."""
        return self if self.limit_s is None else Clock(self.limit_s - reserve_s, self.began)

    def is_over(self) -> bool:
        """Return whether the limit is past; whoever asks leaves something out then, so that is remembered."""
        is_past = self.limit_s is not None and self.spent_s() >= self.limit_s
        self.hit |= is_past
        return is_past
