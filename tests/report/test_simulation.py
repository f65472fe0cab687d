"""What simulate tells."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.report.simulation import Timing, simulation_record, simulation_table
from tests.strategies import ring

TIMING = Timing(ring(4), "allreduce", 10**6, 1e-3, 2, np.full(8, 0.5))


def test_bandwidths_are_those_of_nccl_tests() -> None:
    values = simulation_record("a.xml", "program", TIMING)
    assert values["time_us"] == pytest.approx(1000)
    assert values["algbw_GBps"] == pytest.approx(1)
    assert values["busbw_GBps"] == pytest.approx(1.5)


def test_a_custom_program_has_no_busbw() -> None:
    custom = Timing(ring(4), "custom", 10**6, 1e-3, None, np.zeros(8))
    assert simulation_record("a.xml", "program", custom)["busbw_GBps"] is None
    assert dict(simulation_table("a.xml", "program", custom).rows)["busbw"] == "-"


def test_no_time_has_no_bandwidth() -> None:
    assert Timing(ring(4), "allreduce", 10**6, 0.0, None, np.zeros(8)).algbw is None


def test_the_table_says_which_buffer_the_size_is_of() -> None:
    rows = dict(simulation_table("a.xml", "program", TIMING).rows)
    assert rows["size"] == "1000000B: the buffer of one rank"
    assert rows["bottleneck"] == f"{TIMING.topology.link_name(2)} (25GB/s)"
