"""Tables as text: plain and stable for files and pipes, with colour on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GAP = "  "


@dataclass(frozen=True)
class Table:
    """Rows of text under an optional header; all rows have the same number of cells.

    ``right`` holds the indices of columns that are aligned to the right.
    """

    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()
    right: frozenset[int] = frozenset()


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 GPU``, ``2 switches``."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def render(table: Table, *, terminal: bool = False, width: int = 100) -> str:
    """Return the table as lines without a final newline.

    Parameters
    ----------
    table
        What to show.
    terminal
        Whether the text goes to a terminal; then it is coloured and wrapped to ``width`` columns. Else every row is
        one line, whatever its length.
    width
        Columns of the terminal.
    """
    if not table.rows and not table.header:
        return ""
    return _rich(table, width) if terminal else _plain(table)


def _plain(table: Table) -> str:
    lines = [table.header, *table.rows] if table.header else list(table.rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_plain_line(line, widths, table.right) for line in lines)


def _plain_line(line: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    cells = zip(line, widths, strict=True)
    aligned = [text.rjust(width) if i in right else text.ljust(width) for i, (text, width) in enumerate(cells)]
    return GAP.join(aligned).rstrip()


def _rich(table: Table, width: int) -> str:
    import io

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        box=None, show_header=bool(table.header), header_style="bold", pad_edge=False, padding=(0, 2, 0, 0)
    )
    for i in range(len(table.header or table.rows[0])):
        title = table.header[i] if table.header else ""
        style = "bold cyan" if i == 0 else ""
        shown.add_column(title, justify="right" if i in table.right else "left", style=style, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    console = Console(file=io.StringIO(), force_terminal=True, width=width)
    with console.capture() as capture:
        console.print(shown)
    return capture.get().rstrip("\n")
