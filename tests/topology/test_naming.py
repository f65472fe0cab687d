"""Name patterns and suggestions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.topology.naming import as_pattern, did_you_mean, expand_names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gpu", ["gpu"]),
        ("gpu0..2", ["gpu0", "gpu1", "gpu2"]),
        ("gpu9..11", ["gpu9", "gpu10", "gpu11"]),
        ("n08..10x", ["n08x", "n09x", "n10x"]),
        ("2..0", ["2", "1", "0"]),
        ("s0..1.nic0..1", ["s0.nic0", "s0.nic1", "s1.nic0", "s1.nic1"]),
        (r"a1\..2", ["a1..2"]),
        (r"a\\", ["a\\"]),
        ("a..b", ["a..b"]),
        ("1.2...3", ["1.2...3"]),
    ],
)
def test_patterns_stand_for_their_names_in_order(pattern: str, names: list[str]) -> None:
    assert expand_names(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "empty"),
        ("a\\", "ends in a backslash"),
        ("gpu0..1000000", "more than 1000000 names"),
        ("0..9999.0..9999", "more than 1000000 names"),
    ],
)
def test_useless_patterns_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        expand_names(pattern)


@given(st.text("a0123.\\-é\n", min_size=1))
def test_as_pattern_stands_for_exactly_the_name(name: str) -> None:
    assert expand_names(as_pattern(name)) == [name]


def test_near_names_are_offered_and_far_ones_are_not() -> None:
    assert did_you_mean("gpu9", ["gpu0", "switch"]) == "; did you mean 'gpu0'?"
    assert did_you_mean("zzz", ["gpu0", "switch"]) == ""
