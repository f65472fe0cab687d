"""The numbers of a synthesis."""

from __future__ import annotations

import pytest

from syccl.report.figures import figures
from tests.report.made import synthesis


def test_the_prediction_is_the_time_of_the_program() -> None:
    numbers = figures(synthesis(), 2**20)
    assert numbers.time_us == numbers.program_time_us
    assert numbers.program_ratio == pytest.approx(1.1)
    assert numbers.schedule_ratio == pytest.approx(1.0)


def test_without_a_program_the_prediction_is_the_time_of_the_schedule() -> None:
    numbers = figures(synthesis(program=None, program_time_s=None), 2**20)
    assert numbers.program_ratio is None
    assert numbers.ratio == numbers.schedule_ratio == pytest.approx(1.0)


def test_bandwidths_are_those_of_nccl_tests() -> None:
    numbers = figures(synthesis(program_time_s=1e-3), 10**9)
    assert numbers.algbw_GBps == pytest.approx(1000)
    assert numbers.busbw_GBps == pytest.approx(500)


def test_the_speed_up_is_the_time_of_the_ring_over_ours() -> None:
    assert figures(synthesis(program_time_s=10e-6), 2**20).speedup_over_ring == pytest.approx(3)


def test_nothing_to_send_has_no_ratios() -> None:
    numbers = figures(synthesis(schedule_time_s=0.0, program_time_s=0.0, baselines={}), 2**20)
    assert (numbers.algbw_GBps, numbers.busbw_GBps, numbers.speedup_over_ring) == (None, None, None)
