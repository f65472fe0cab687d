"""What every test shares: one profile for property tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "syccl",
    derandomize=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("syccl")
