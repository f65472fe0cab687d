"""What the simulator predicts for programs that were measured."""

from __future__ import annotations

from tests.quality.calibration.predict import predicted


def calibrated(name: str) -> list[tuple[float, bool]]:
    """Return the relative error of each row of a cluster or program, and whether the profile was fitted to it."""
    return [(one.error, one.point.fitted) for one in predicted(name)]
