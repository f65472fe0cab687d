"""What every test shares: one profile for property tests."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests write out of the user's cache folder, and what lies there out of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
