"""Tables as text."""

from __future__ import annotations

from syccl.report.tables import Table, counted, render

ROWS = [("a", "1"), ("longer", "22")]


def test_plain_tables_align_columns_and_end_lines_bare() -> None:
    assert render(Table(ROWS)) == "a       1\nlonger  22"


def test_numbers_are_aligned_to_the_right() -> None:
    table = Table(ROWS, ("name", "n"), frozenset({1}))
    assert render(table) == "name     n\na        1\nlonger  22"


def test_plain_lines_are_never_wrapped() -> None:
    assert render(Table([("x", "y" * 500)]), width=40).count("\n") == 0


def test_an_empty_table_is_no_text() -> None:
    assert render(Table([])) == ""


def test_a_terminal_gets_the_same_words() -> None:
    shown = render(Table(ROWS, ("name", "n")), terminal=True, width=60)
    assert [word for word in ("name", "longer", "22") if word not in shown] == []


def test_brackets_are_text_on_a_terminal() -> None:
    assert "[bold]x" in render(Table([("a", "[bold]x")]), terminal=True, width=60)


def test_one_is_singular() -> None:
    assert [counted(1, "GPU"), counted(2, "GPU"), counted(1, "switch"), counted(0, "switch")] == [
        "1 GPU",
        "2 GPUs",
        "1 switch",
        "0 switches",
    ]
