"""Edges as CSV, TACOS's CSV, and matrices of bandwidths."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import product

from syccl.errors import InputError
from syccl.topology.importers.draft import Draft, Imported
from syccl.topology.importers.hardware import NVLINK_DIRECT_PS
from syccl.topology.model import Kind
from syccl.units import clipped, format_latency, parse_latency, parse_rate

_RATE_SCALES = {"gbps": 1e9, "gb/s": 1e9, "gib/s": 2.0**30, "mb/s": 1e6, "gbit/s": 1e9 / 8, "gb/s (bits)": 1e9 / 8}
_TIME_SCALES = {"us": 1e6, "ns": 1e3, "s": 1e12, "ms": 1e9}
_MOST_ROWS = 2_000_000
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?\Z")

Rows = list[tuple[int, list[str]]]


def looks_like_edges(text: str) -> bool:
    """Return whether a text is a CSV with columns of sources and destinations."""
    head = _rows(text, limit=3)
    return any(_column(row, "src", "source", "from") is not None for _, row in head)


def looks_like_matrix(text: str) -> bool:
    """Return whether a text is a square of numbers."""
    rows = _matrix_rows(text)
    return len(rows) > 1 and all(len(row) == len(rows) and all(map(_is_entry, row)) for _, row in rows)


def import_edges(text: str, *, source: str, name: str) -> Imported:
    """Return the graph of a CSV: one edge a row, a header that names its columns.

    Columns: ``src``, ``dst``, a bandwidth (``GBps`` or ``bandwidth (GB/s)``; or values with units), and optionally a
    latency (``us``, ``latency (ns)``). A first line of one number is TACOS's count of NPUs. Nodes are GPUs where their
    names say so, or all of them where none does.

    Raises
    ------
    InputError
        When a column is missing or a value is none, with the line.
    """
    rows = _rows(text)
    draft = Draft()
    if rows and len([cell for cell in rows[0][1] if cell]) == 1 and rows[0][1][0].isdigit():
        rows = rows[1:]
    if not rows:
        msg = f"{source}: no header with src, dst and a bandwidth"
        raise InputError(msg)
    line, header = rows[0]
    src, dst = _column(header, "src", "source", "from"), _column(header, "dst", "dest", "destination", "to")
    rate = _column(header, "gbps", "bandwidth", "bw", "capacity", "rate")
    if src is None or dst is None or rate is None:
        words = clipped(",".join(header))
        msg = f"{source}:{line}: header {words} must name src, dst and a bandwidth, such as src,dst,GBps,us"
        raise InputError(msg)
    time = _column(header, "us", "ns", "latency", "alpha")
    edges = [(number, row) for number, row in rows[1:]]
    _nodes(draft, [row[at] for _, row in edges if len(row) == len(header) for at in (src, dst)])
    ids = {node.name: i for i, node in enumerate(draft.nodes)}
    rate_scale, time_scale = (
        _scale(header[rate], _RATE_SCALES),
        0.0 if time is None else _scale(header[time], _TIME_SCALES),
    )
    for number, row in edges:
        where = f"{source}:{number}"
        if len(row) != len(header) or row[src] == row[dst]:
            words = clipped(",".join(row))
            msg = f"{where}: {words} is not one edge between two nodes in the header's {len(header)} columns"
            raise InputError(msg)
        wire = _rate(row[rate], rate_scale, where), 0 if time is None else _latency(row[time], time_scale, where)
        draft.wire(ids[row[src]], ids[row[dst]], *wire)
    if time is None:
        draft.note(0, "no column of latencies: 0 is taken; give one, such as us")
    _both_ways(draft)
    return draft.done(name)


def _nodes(draft: Draft, names: Sequence[str]) -> None:
    distinct = list(dict.fromkeys(names))
    gpus = [name for name in distinct if re.search(r"gpu|npu", name, re.IGNORECASE)]
    for node in distinct:
        is_gpu = node in set(gpus) if gpus else True
        kind = Kind.GPU if is_gpu else Kind.NIC if re.search(r"nic|mlx|hca|efa", node, re.IGNORECASE) else Kind.SWITCH
        draft.add(node, kind)
    if not gpus:
        draft.note(0, "no node is called a GPU or NPU: all of them are taken as GPUs")
    elif len(gpus) < len(distinct):
        others = [name for name in distinct if name not in set(gpus)]
        draft.note(0, f"{len(others)} nodes whose names do not say GPU store nothing, such as {others[0]}")


def _both_ways(draft: Draft) -> None:
    """Take edges as cables where no edge has its reverse in the file."""
    ends = {(link.src, link.dst) for link in draft.links}
    if ends and not any((dst, src) in ends for src, dst in ends):
        draft.note(0, "no edge has its reverse in the file: each is taken as a cable, both directions")
        draft.links += [link._replace(src=link.dst, dst=link.src) for link in draft.links]


def import_matrix(text: str, *, source: str, name: str) -> Imported:
    """Return the graph of a square of bandwidths in GB/s, row to column; 0, ``-`` and ``X`` are no link.

    Raises
    ------
    InputError
        When the rows are no square of numbers.
    """
    rows = _matrix_rows(text)
    for number, row in rows:
        if len(row) != len(rows) or not all(map(_is_entry, row)):
            msg = f"{source}:{number}: {clipped(' '.join(row))} must be {len(rows)} numbers, GB/s, as there are rows"
            raise InputError(msg)
    draft = Draft()
    for rank in range(len(rows)):
        draft.add(f"gpu{rank}", Kind.GPU)
    for src, dst in product(range(len(rows)), repeat=2):
        number, row = rows[src]
        if src != dst and _NUMBER.match(row[dst]) and float(row[dst]) > 0:
            draft.wire(src, dst, _rate(row[dst], 1e9, f"{source}:{number}"), NVLINK_DIRECT_PS)
    draft.note(0, f"a matrix states no latency: {format_latency(NVLINK_DIRECT_PS)} a link is taken")
    return draft.done(name)


def _rows(text: str, *, limit: int = _MOST_ROWS) -> Rows:
    found: Rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            found.append((number, [cell.strip() for cell in next(csv.reader([line]))]))
        if len(found) >= limit:
            break
    return found


def _matrix_rows(text: str) -> Rows:
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), start=1)]
    return [(i, re.split(r"[\s,;]+", line)) for i, line in lines if line and not line.startswith("#")]


def _is_entry(text: str) -> bool:
    return text in {"-", "X", "x"} or bool(_NUMBER.match(text))


def _column(header: Sequence[str], *names: str) -> int | None:
    words = [re.split(r"[\s(_\[]", cell.lower())[0] for cell in header]
    return next((i for i, word in enumerate(words) if word in names), None)


def _scale(title: str, scales: dict[str, float]) -> float:
    """Return units per number under a column's title; 0 where the title states no unit."""
    words = re.findall(r"[a-z/]+", title.lower())
    return next((scales[word] for word in reversed(words) if word in scales), 0.0)


def _rate(text: str, scale: float, where: str) -> int:
    try:
        rate = round(float(text) * scale) if scale and _NUMBER.match(text) else parse_rate(text)
    except InputError as error:
        msg = f"{where}: {error}, or state the unit in the header, such as GBps"
        raise InputError(msg) from None
    if rate < 1:
        msg = f"{where}: bandwidth {text!r} must be positive; leave the edge out where there is none"
        raise InputError(msg)
    return rate


def _latency(text: str, scale: float, where: str) -> int:
    try:
        return round(float(text) * scale) if scale and _NUMBER.match(text) else parse_latency(text)
    except InputError as error:
        msg = f"{where}: {error}, or state the unit in the header, such as us"
        raise InputError(msg) from None
