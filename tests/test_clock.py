"""The time that the user gives."""

from __future__ import annotations

import pytest

from syccl import clock as module
from syccl.clock import Clock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the clock tells; tests set it."""
    times = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: times[0])
    return times


def test_without_a_limit_time_is_never_over(now: list[float]) -> None:
    clock = Clock(began=100.0)
    now[0] = 1e9
    assert (clock.is_over(), clock.left_s(), clock.hit) == (False, None, False)
    assert clock.until(5.0) is clock


def test_time_runs_out_and_that_is_remembered_once_somebody_asks(now: list[float]) -> None:
    clock = Clock(2.0, began=100.0)
    now[0] = 101.5
    assert (clock.is_over(), clock.left_s(), clock.spent_s(), clock.hit) == (False, 0.5, 1.5, False)
    now[0] = 103.0
    assert (clock.left_s(), clock.hit) == (0.0, False)
    assert clock.is_over()
    assert clock.hit


def test_what_was_left_out_does_not_end_the_search(now: list[float]) -> None:
    clock = Clock(2.0, began=100.0, hit=True)
    assert not clock.is_over()


def test_time_can_be_kept_in_reserve(now: list[float]) -> None:
    clock = Clock(2.0, began=100.0)
    search = clock.until(0.5)
    now[0] = 101.75
    assert search.is_over()
    assert not clock.is_over()
    assert (search.hit, clock.hit) == (True, False)
