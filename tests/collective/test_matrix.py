"""Matrices of alltoallv and their files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import ALLTOALLV, Demand, Matrix, Part, op_named
from syccl.collective.matrix import read_matrix, require_fit, split_evenly
from syccl.errors import InputError


def read(text, **options):
    return read_matrix(text, source="m", **options)


@pytest.mark.parametrize(
    "text",
    ["0,1\n2,3\n", "# rows send\n0, 1\n\n2 ,3", "0,1,\r\n2,3,\r\n", "[[0, 1], [2, 3]]", '\ufeff"0","1"\n"2","3"'],
)
def test_csv_and_json_say_the_same(text):
    assert read(text).rows == ((0, 1), (2, 3))


def test_entries_in_elements_are_counted_in_bytes():
    assert read("0,1\n2,3", unit_bytes=4).rows == ((0, 4), (8, 12))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "m: no row"),
        ("1,2\n3", "m:2: 1 entries, but there are 2 rows"),
        ("1,2", "m:1: 2 entries, but there are 1 rows"),
        ("1,2\nx,4", "m:2, column 1: 'x' is no whole number"),
        ("1,2.5\n3,4", "m:1, column 2: '2.5' is no whole number"),
        ("1,\n3,4", "m:1: 1 entries"),
        ("1,-2\n3,4", "m:1, column 2: '-2' is negative; allowed are whole numbers from 0"),
        ("1,2\n3," + "9" * 30, "m:2, column 2: .* is too large"),
        ("[[1, 2], [3, true]]", "m: row 2, column 2: True is no whole number"),
        ("[[1, 2], [3, null]]", "m: row 2, column 2: None is no whole number"),
        ("[[1, 2], 3]", "m: row 2: 3 is no list"),
        ("[[1, 2], [3, 4]", "m:1: not JSON"),
        ('{"rows": 1}', "m: must be a list of rows"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_place(text, words):
    with pytest.raises(InputError, match=words):
        read(text)


def test_a_matrix_must_fit_the_cluster_and_the_elements():
    matrix = Matrix(((0, 6), (4, 0)))
    require_fit(matrix, 2, topology="pair", source="m", element_bytes=2)
    with pytest.raises(InputError, match="m: the matrix is 2 x 2, but trio has 3 ranks"):
        require_fit(matrix, 3, topology="trio", source="m")
    with pytest.raises(InputError, match="m: row 1, column 2: 6 bytes are no multiple of 4"):
        require_fit(matrix, 2, topology="pair", source="m", element_bytes=4)


def test_the_size_is_that_of_the_largest_buffer():
    assert Matrix(((1, 2), (3, 4))).size_bytes == 7
    assert Matrix(((0, 9), (0, 9))).size_bytes == 18
    assert Matrix(((5,) * 4,) * 4).size_bytes == 20


@given(st.integers(0, 10_000), st.integers(1, 50), st.sampled_from([1, 2, 4]))
def test_parts_are_near_equal_and_add_up(units, parts, unit):
    sizes = split_evenly(units * unit, parts, unit=unit)
    assert sum(sizes) == units * unit
    assert all(size > 0 and size % unit == 0 for size in sizes)
    assert len(sizes) == min(parts, units)
    assert max(sizes, default=0) - min(sizes, default=0) <= unit


def test_a_demand_of_parts_knows_ends_sizes_and_matrix():
    demand = Demand(ALLTOALLV, 3, 3, parts=(Part(0, 1, 8), Part(0, 1, 4), Part(2, 2, 6)))
    assert demand.sources.tolist() == [0, 0, 2]
    assert demand.targets.tolist() == [1, 1, 2]
    assert demand.matrix.tolist() == [[0, 12, 0], [0, 0, 0], [0, 0, 6]]
    assert demand.chunk_bytes(12).tolist() == [8, 4, 6]
    with pytest.raises(InputError, match="is 12 bytes"):
        demand.chunk_bytes(13)
    assert op_named("all_to_allv") is ALLTOALLV


@pytest.mark.parametrize(
    ("chunks", "parts", "words"),
    [
        (1, (), "has 0 parts, but chunks is 1"),
        (1, (Part(0, 2, 1),), "part 0"),
        (1, (Part(0, 1, 0),), "at least a byte"),
    ],
)
def test_wrong_parts_are_refused(chunks, parts, words):
    with pytest.raises(InputError, match=words):
        Demand(ALLTOALLV, 2, chunks, parts=parts)


def test_other_collectives_have_no_parts():
    with pytest.raises(InputError, match="only alltoallv has parts"):
        Demand(op_named("alltoall"), 2, 2, parts=(Part(0, 1, 1),))
