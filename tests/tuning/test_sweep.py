"""The sizes of a sweep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS
from syccl.errors import InputError
from syccl.tuning import Sweep, sweep_sizes
from syccl.tuning.sweep import MOST_SIZES, call_count, size_unit


def test_factor_two_gives_all_powers_of_two_between_the_limits() -> None:
    sizes = sweep_sizes(Sweep(1 << 10, 4 << 30), OPS["allreduce"], 32, "float32")
    assert sizes == tuple(1 << i for i in range(10, 33))


def test_the_last_size_is_the_largest_that_does_not_pass_the_limit() -> None:
    assert sweep_sizes(Sweep(1000, 5000), OPS["allreduce"], 2, "float32") == (1000, 2000, 4000)


def test_a_step_adds_bytes() -> None:
    assert sweep_sizes(Sweep(8, 40, step_bytes=16), OPS["broadcast"], 2, "float32") == (8, 24, 40)


def test_factors_need_not_be_whole_numbers() -> None:
    assert sweep_sizes(Sweep(16, 60, factor=1.5), OPS["allreduce"], 2, "int8") == (16, 24, 36, 54)


@pytest.mark.parametrize(("op", "unit"), [("allgather", 384), ("alltoall", 384), ("scatter", 384), ("allreduce", 2)])
def test_sizes_are_rounded_as_in_nccl_tests(op: str, unit: int) -> None:
    assert size_unit(OPS[op], 24, "half") == unit
    sizes = sweep_sizes(Sweep(1 << 10, 1 << 20), OPS[op], 24, "half")
    assert sizes == tuple((1 << i) // unit * unit for i in range(10, 21))


@given(
    st.integers(1, 1 << 20),
    st.integers(1, 1 << 20),
    st.floats(1.3, 9.0),
    st.sampled_from([op for op in OPS if op != "alltoallv"]),
    st.integers(1, 40),
)
def test_sizes_ascend_within_the_limits_in_whole_units(first: int, more: int, factor: float, op: str, n: int) -> None:
    unit = size_unit(OPS[op], n, "float32")
    sweep = Sweep(first, first + more, factor)
    if first + more < unit or all(size < unit for size in sweep.steps()):
        with pytest.raises(InputError, match="no size up to"):
            sweep_sizes(sweep, OPS[op], n, "float32")
        return
    sizes = sweep_sizes(sweep, OPS[op], n, "float32")
    assert list(sizes) == sorted(set(sizes))
    assert all(size % unit == 0 and first - unit < size <= first + more for size in sizes)


@pytest.mark.parametrize(("op", "count"), [("allgather", 64), ("alltoall", 64), ("allreduce", 256), ("reduce", 256)])
def test_the_count_is_that_of_the_call(op: str, count: int) -> None:
    assert call_count(OPS[op], 4, 1024, "float32") == count


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"first_bytes": 2048, "last_bytes": 1024}, r"from -b 2KiB to -e 1KiB is empty; give -b a size that is not"),
        ({"first_bytes": 1, "last_bytes": 2, "factor": 1.0}, r"-f 1 gives no larger sizes; write for example -f 2"),
        ({"first_bytes": 1, "last_bytes": 2, "factor": float("nan")}, r"-f nan gives no larger sizes"),
        ({"first_bytes": 1, "last_bytes": 2, "step_bytes": 0}, r"-i 0 gives no larger sizes; write for example -i 1M"),
        ({"first_bytes": 4, "last_bytes": 4 * MOST_SIZES + 4, "step_bytes": 4}, rf"more than {MOST_SIZES} sizes; take"),
    ],
)
def test_sweeps_that_make_no_sense_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sweep(**values)


def test_as_many_sizes_as_allowed_are_taken() -> None:
    assert len(list(Sweep(4, 4 * MOST_SIZES, step_bytes=4).steps())) == MOST_SIZES


def test_sizes_of_less_than_sixteen_bytes_a_rank_are_left_out() -> None:
    assert sweep_sizes(Sweep(64, 1024), OPS["allgather"], 16, "float32") == (256, 512, 1024)
