"""Values that several verbs read."""

from __future__ import annotations

import pytest

from syccl.cli.common import check_root, read_protocol, read_size
from syccl.collective import op_named
from syccl.errors import InputError
from tests.strategies import ring


@pytest.mark.parametrize(("text", "size"), [("64MiB", 2**26), ("64M", 2**26), ("1G", 2**30), ("4096", 4096)])
def test_sizes_are_read_as_nccl_tests_does(text: str, size: int) -> None:
    assert read_size(text, "float32") == size


def test_a_size_that_cuts_an_element_names_near_ones() -> None:
    with pytest.raises(
        InputError, match=r"'1022' is no multiple of the 4 bytes of float32; write for example 1020 or 1024"
    ):
        read_size("1022", "float32")


def test_a_size_below_one_element_names_one_element() -> None:
    with pytest.raises(InputError, match=r"write for example 8$"):
        read_size("3", "double")


def test_a_size_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="must be a positive whole number"):
        read_size("0", "float32")


def test_protocols_are_spelled_as_runtimes_do() -> None:
    assert [read_protocol(name) for name in ("simple", "ll", "LL128")] == ["Simple", "LL", "LL128"]
    with pytest.raises(InputError, match="unknown protocol 'fast'; choose one of Simple, LL, LL128"):
        read_protocol("fast")


def test_a_root_must_be_a_rank() -> None:
    check_root(op_named("broadcast"), 3, ring(4))
    with pytest.raises(InputError, match=r"root 4 is out of range; ring4 has ranks 0\.\.3"):
        check_root(op_named("broadcast"), 4, ring(4))


def test_collectives_without_a_root_take_none() -> None:
    check_root(op_named("allreduce"), 0, ring(4))
    with pytest.raises(InputError, match="allreduce has no root"):
        check_root(op_named("allreduce"), 1, ring(4))
