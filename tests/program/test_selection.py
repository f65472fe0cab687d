"""Which sizes a runtime takes a program for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.program.selection import Selection, selection
from tests.report.made import allgather_program


@pytest.mark.parametrize(("datatype", "unit"), [("float32", 512), ("half", 256), ("double", 1024)])
def test_the_unit_is_one_element_of_every_chunk(datatype: str, unit: int) -> None:
    assert selection(allgather_program(chunks=128), datatype).unit_bytes == unit


@given(st.integers(1, 500), st.integers(1, 100_000))
def test_a_size_is_taken_when_its_elements_divide(chunks: int, elements: int) -> None:
    assert Selection(chunks * 4, 0, 0).takes(elements * 4) == (elements % chunks == 0)


def test_powers_of_two_start_at_the_unit() -> None:
    assert Selection(512, 0, 0).smallest_power_of_two == 512


def test_limits_of_the_file_count() -> None:
    chosen = Selection(512, 1000, 4096)
    assert [size for size in range(0, 8192, 512) if chosen.takes(size)] == [1024, 1536, 2048, 2560, 3072, 3584, 4096]
    assert chosen.smallest_power_of_two == 1024
