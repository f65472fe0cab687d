"""Matrices of ``nvidia-smi topo -m``, ``rocm-smi --showtopo`` and their kin, as people paste them.

Tabs or blanks, colour codes, lost separators, Markdown bars, missing headers, legends and other commands' output after
the matrix are all read. What a cell says is taken from the cells' own vocabulary, never from column positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from syccl.errors import InputError

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_GPU = re.compile(r"GPU ?\d+")
_NAME = re.compile(r"GPU ?\d+|NIC\d+|mlx5_(?:bond_?)?\d+|[A-Za-z][A-Za-z0-9_]*\d[A-Za-z0-9_]*")
_CELL = re.compile(r"NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|XGMI|PCIE|XXXX|N/A|CNS|GNS|TNS|NS|OK|SELF|X|\d+")
_LEGEND = re.compile(r"\s*(NIC\d+): *(\S+)\s*\Z")
_DEVICE = re.compile(r"\s*GPU (\d+): (.*?) \(UUID")
_LANE = re.compile(r"\s*Link \d+: ([0-9.]+) GB/s")
_LARGEST = 1024

PEERS = ("OK", "CNS", "GNS", "TNS", "NS")


@dataclass(frozen=True)
class Table:
    """One matrix: the cells of every row that was found, by names of row and column."""

    title: str
    line: int
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], str]
    rest: dict[str, str]
    """What follows the cells of each row: affinities."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows that were found."""
        return tuple(self.rest)


@dataclass
class Paste:
    """Everything of use in a pasted text."""

    tables: list[Table] = field(default_factory=list)
    nics: dict[str, str] = field(default_factory=dict)
    """Device of each NIC of the matrix, from the legend."""
    devices: dict[int, str] = field(default_factory=dict)
    """Product name of each GPU, from ``nvidia-smi -L`` or ``nvlink -s``."""
    lanes: dict[int, list[float]] = field(default_factory=dict)
    """GB/s of each active NVLink of a GPU, from ``nvlink -s``."""
    slices: bool = False
    """Whether GPUs are cut in MIG slices."""


def looks_like_smi(text: str) -> bool:
    """Return whether a text holds a matrix of a GPU management tool."""
    plain = _ESCAPE.sub("", text)
    return bool(re.search(r"^[\s|]*GPU ?\[?\d+\]?[\s|:]", plain, re.MULTILINE)) and not plain.lstrip().startswith("<")


def read_paste(text: str, *, source: str) -> Paste:
    """Return all matrices and legends of a text.

    Raises
    ------
    InputError
        When a row has fewer cells than there are columns, or there are more than 1024 columns.
    """
    reader = _Reader(source)
    for number, line in _lines(text):
        reader.take(number, line)
    reader.close()
    return reader.paste


class _Reader:
    """Lines in, matrices out: a matrix ends where the next header or any other text begins."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.paste = Paste()
        self.title, self.line = "", 0
        self.columns: tuple[str, ...] = ()
        self.rows: dict[str, list[str]] = {}
        self.rest: dict[str, str] = {}
        self.gpu = -1

    def take(self, number: int, line: str) -> None:
        names = _header(line)
        row = None if names else _row(line, self.columns)
        if names:
            self.close()
            self.columns, self.line = names, number
        elif row is not None:
            name, cells, after = row
            self.line = self.line if self.rows or self.columns else number
            self.rows[name], self.rest[name] = cells, after
        else:
            self.other(line)
            if re.search(r"[A-Za-z]{3}", line):
                self.close()
                self.title = line.strip("= ") or self.title

    def close(self) -> None:
        if self.rows:
            self.paste.tables.append(self.table())
        self.columns, self.rows, self.rest = (), {}, {}

    def other(self, line: str) -> None:
        """Take what a line beside a matrix says: legend of NICs, products, NVLinks, MIG slices."""
        legend, device, lane = _LEGEND.match(line), _DEVICE.match(line), _LANE.match(line)
        if legend:
            self.paste.nics[legend[1]] = legend[2]
        if device:
            self.gpu = int(device[1])
            self.paste.devices[self.gpu] = device[2]
        if lane and self.gpu >= 0:
            self.paste.lanes.setdefault(self.gpu, []).append(float(lane[1]))
        if re.match(r"\s*MIG ", line):
            self.paste.slices = True

    def table(self) -> Table:
        """Return the matrix read so far; columns beyond those that have a name are called ``#i``.

        Raises
        ------
        InputError
            When a row is too short or there are too many columns.
        """
        rows, columns = self.rows, self.columns or tuple(self.rows)
        if len(columns) > _LARGEST:
            self.fail(f"{len(columns)} columns; a matrix of GPUs and NICs has at most {_LARGEST}")
        width = len(columns) if self.columns else max(map(len, rows.values()))
        columns = (*columns, *(f"#{i}" for i in range(len(columns), width)))
        for name, cells in rows.items():
            if len(cells) < len(columns):
                self.fail(f"row {name} has {len(cells)} cells for {len(columns)} columns; paste it again, whole")
        named = {(name, column): cell for name, row in rows.items() for column, cell in zip(columns, row, strict=True)}
        return Table(self.title, self.line, columns, named, self.rest)

    def fail(self, problem: str) -> NoReturn:
        msg = f"{self.source}:{self.line}: {problem}"
        raise InputError(msg)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _ESCAPE.sub("", raw).replace("|", " ")
        if line.strip(" -\t:`"):
            yield number, line


def _header(line: str) -> tuple[str, ...]:
    """Return the column names of a header line, or nothing where the line is none."""
    names = [match.group().replace(" ", "") for match in _NAME.finditer(_until_affinity(line))]
    gpus = [name for name in names if _GPU.fullmatch(name)]
    if not gpus or names[0] != gpus[0]:
        return ()
    words = _until_affinity(line).split()
    glued = any(len(_GPU.findall(word)) > 1 for word in words)
    if len(names) > 1 and (glued or len(words) == len(names)):
        return tuple(names) if len(set(names)) == len(names) and names[1].startswith(("GPU", "NIC", "mlx")) else ()
    return tuple(names) if len(words) == 1 and re.search(r"CPU|NUMA", line) else ()


def _until_affinity(line: str) -> str:
    match = re.search(r"CPU|(?:GPU )?NUMA", line)
    return line[: match.start()] if match else line


def _row(line: str, columns: Sequence[str]) -> tuple[str, list[str], str] | None:
    """Return name, cells and the rest of a row of the matrix, or None where the line is none."""
    first = _NAME.match(line.strip())
    if first is None:
        return None
    name = first.group().replace(" ", "")
    if name not in columns if columns else not _GPU.fullmatch(name):
        return None
    body = line.strip()[first.end() :]
    cells: list[str] = []
    at = 0
    while not columns or len(cells) < len(columns):
        match = _CELL.match(body, len(body) - len(body[at:].lstrip()))
        if match is None or (not columns and match.group().isdigit()):
            break
        cells.append(match.group())
        at = match.end()
    return (name, cells, body[at:].strip("\n")) if cells else None
