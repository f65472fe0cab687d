"""Names and sizes of datatypes."""

from __future__ import annotations

import pytest

from syccl.collective.datatypes import datatype_named, element_bytes
from syccl.errors import InputError


@pytest.mark.parametrize(
    ("name", "size"), [("float32", 4), ("float", 4), ("half", 2), ("BFloat16", 2), ("double", 8), ("uint8", 1)]
)
def test_sizes_are_those_of_the_wire(name: str, size: int) -> None:
    assert element_bytes(name) == size


def test_aliases_have_one_name() -> None:
    assert datatype_named("double") == "float64"


def test_an_unknown_datatype_names_a_near_one() -> None:
    with pytest.raises(InputError, match="unknown datatype 'flaot32'; did you mean 'float32'"):
        element_bytes("flaot32")


def test_a_far_name_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="choose one of int8, uint8"):
        datatype_named("zzzzzz")
