"""The page about the command line says what the command line says."""

from __future__ import annotations

from tests.cli.reference import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.cli.reference"
