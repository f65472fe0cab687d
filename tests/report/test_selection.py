"""Which sizes a runtime takes a file for, in words."""

from __future__ import annotations

from pathlib import Path

from syccl.program.selection import Selection
from syccl.program.targets import EXECUTOR
from syccl.report.selection import selection_words, usage_words


def test_chunks_with_an_odd_factor_take_no_power_of_two() -> None:
    chosen = Selection(96 * 4, 0, 0)
    assert chosen.smallest_power_of_two is None
    assert "no power of two is among them" in selection_words(chosen, 3 * 2**20)[0]


def test_a_size_that_is_taken_needs_one_line() -> None:
    assert selection_words(Selection(512, 0, 0), 2**20) == [
        "selected for multiples of 512B; of the powers of two, those from 512B up"
    ]


def test_a_size_that_is_not_taken_names_the_nearest() -> None:
    words = selection_words(Selection(384, 0, 0), 1000)
    assert words[1] == "NOT selected for 1000 B; nearest sizes that are: 768 B and 1152 B"


def test_a_path_with_blanks_is_quoted_for_the_shell() -> None:
    assert "cp 'my file.xml' " in usage_words(Path("my file.xml"), EXECUTOR)[0]
