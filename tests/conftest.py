"""What every test shares: one profile for property tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "syccl",
    derandomize=True,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("syccl")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Inputs that nobody here wrote, beside the repository; tests that read them skip without them."""
    path = Path(__file__).parent.parent.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"needs the folder {path}")
    return path
