"""What was measured: times of connections, and of operations by rank; CSV, or JSON of NCCL's inspector."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syccl.documents import parse_json
from syccl.errors import InputError
from syccl.units import clipped

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_CONNECTION = ("src", "dst", "bytes", "time_us")
_CONNECTION_MORE = ("window", "channel", "queue_pair", "posted", "completed")
_OPERATION = ("rank", "sequence", "start_us", "end_us")
_WHOLE = ("src", "dst", "window", "channel", "queue_pair", "posted", "completed", "rank", "sequence")
_MOST_ROWS = 20_000_000


@dataclass(frozen=True, eq=False)
class Timings:
    """Transfers of connections, one a row.

    Parameters
    ----------
    src, dst, channel, queue_pair
        The connection.
    window
        Number of the window of time.
    size_bytes, time_us
        Bytes, and microseconds that they took; NaN where they were not completed.
    posted, completed
        Messages handed to the NIC in the window, and those of them that were acknowledged; -1 where not stated.
    """

    src: Ints
    dst: Ints
    channel: Ints
    queue_pair: Ints
    window: Ints
    size_bytes: Floats
    time_us: Floats
    posted: Ints
    completed: Ints


@dataclass(frozen=True, eq=False)
class Operations:
    """Operations of one communicator, a row for each rank and operation.

    Parameters
    ----------
    start_us, end_us
        When the rank launched and completed it; NaN where it did not, or where only durations are known.
    duration_us
        How long it took; NaN where it was not completed.
    """

    rank: Ints
    sequence: Ints
    start_us: Floats
    end_us: Floats
    duration_us: Floats


def read_records(text: str, *, source: str, ranks: int) -> Timings | Operations:
    """Return what a file holds: a CSV, told by its header, or JSON lines of NCCL's inspector.

    Raises
    ------
    InputError
        When a line is faulty, or a rank is out of range; with the line.
    """
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return _inspector(text, source, ranks)
    rows = csv.reader(text.lstrip("\ufeff").splitlines())
    try:
        header = [cell.strip() for cell in next(rows, [])]
        for needed, more in ((_CONNECTION, _CONNECTION_MORE), (_OPERATION, ())):
            if set(needed) <= set(header):
                _check_header(header, (*needed, *more), source)
                columns = _columns(rows, header, source)
                return (_timings if needed == _CONNECTION else _operations)(columns, source, ranks)
    except csv.Error as error:
        msg = f"{source}:{rows.line_num}: not CSV: {error}"
        raise InputError(msg) from None
    msg = f"{source}:1: header {clipped(','.join(header))} must name {','.join(_CONNECTION)}, or {','.join(_OPERATION)}"
    raise InputError(msg)


def _check_header(header: Sequence[str], known: Sequence[str], source: str) -> None:
    for at, name in enumerate(header):
        if name not in known or name in header[:at]:
            problem = "is stated twice" if name in known else f"is unknown; known are {', '.join(known)}"
            msg = f"{source}:1: column {clipped(name)} {problem}"
            raise InputError(msg)


def _columns(rows, header: Sequence[str], source: str) -> dict[str, Floats]:  # type: ignore[no-untyped-def]
    """Return each column as numbers, NaN where a cell is empty, and the line of each row as ``line``."""
    found: list[list[float]] = []
    lines: list[int] = []
    for row in rows:
        if not row or row[0].lstrip().startswith("#"):
            continue
        line = rows.line_num
        if len(row) != len(header) or len(found) >= _MOST_ROWS:
            msg = f"{source}:{line}: {len(row)} cells; the header has {len(header)}, at most {_MOST_ROWS} rows are read"
            raise InputError(msg)
        lines.append(line)
        found.append([_number(cell, name, f"{source}:{line}") for cell, name in zip(row, header, strict=True)])
    if not found:
        msg = f"{source}: no rows"
        raise InputError(msg)
    table = np.array(found, dtype=np.float64)
    return {name: table[:, at] for at, name in enumerate(header)} | {"line": np.array(lines, dtype=np.float64)}


def _number(cell: str, name: str, where: str) -> float:
    text = cell.strip()
    if not text and name not in {"src", "dst", "rank", "sequence", "bytes"}:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e18 or (name in _WHOLE and value != int(value)):
        msg = f"{where}: {name}: {clipped(cell)} is no {'whole ' if name in _WHOLE else ''}number of 0 or more"
        raise InputError(msg)
    return value


def _ints(columns: dict[str, Floats], name: str, default: int) -> Ints:
    some = next(iter(columns.values()))
    values = columns.get(name, np.full(len(some), np.nan))
    return np.where(np.isnan(values), default, values).astype(np.int64)


def _refuse(columns: dict[str, Floats], rows: NDArray[np.bool_], source: str, problem: str) -> None:
    """Raise an error that names the line of the first of some rows, if there is any."""
    if rows.any():
        msg = f"{source}:{int(columns['line'][rows.argmax()])}: {problem}"
        raise InputError(msg)


def _check_ranks(columns: dict[str, Floats], name: str, source: str, ranks: int) -> None:
    beyond = columns[name] >= ranks
    rank = int(columns[name][beyond.argmax()])
    _refuse(columns, beyond, source, f"{name} {rank} is out of range; the topology has ranks 0..{ranks - 1}")


def _timings(columns: dict[str, Floats], source: str, ranks: int) -> Timings:
    made = Timings(
        src=_ints(columns, "src", 0),
        dst=_ints(columns, "dst", 0),
        channel=_ints(columns, "channel", 0),
        queue_pair=_ints(columns, "queue_pair", 0),
        window=_ints(columns, "window", 0),
        size_bytes=columns["bytes"],
        time_us=columns["time_us"],
        posted=_ints(columns, "posted", -1),
        completed=_ints(columns, "completed", -1),
    )
    for name in ("src", "dst"):
        _check_ranks(columns, name, source, ranks)
    own = made.src == made.dst
    _refuse(columns, own, source, f"rank {made.src[own.argmax()]} sends to itself")
    _refuse(columns, made.completed > made.posted, source, "more messages are completed than posted")
    timed = ~np.isnan(made.time_us)
    none = timed & ((made.size_bytes <= 0) | (made.time_us <= 0))
    _refuse(columns, none, source, "no time for some bytes, or a time for no bytes")
    return made


def _operations(columns: dict[str, Floats], source: str, ranks: int) -> Operations:
    start, end = columns["start_us"], columns["end_us"]
    early = (end < start) | (np.isnan(start) & ~np.isnan(end))
    _refuse(columns, early, source, "an operation ends before it starts")
    _check_ranks(columns, "rank", source, ranks)
    made = Operations(_ints(columns, "rank", 0), _ints(columns, "sequence", 0), start, end, end - start)
    _, first = np.unique(np.stack([made.rank, made.sequence]), axis=1, return_index=True)
    again = np.ones(len(start), dtype=np.bool_)
    again[first] = False
    _refuse(columns, again, source, "a rank states the same operation twice")
    return made


def _inspector(text: str, source: str, ranks: int) -> Operations:
    """Return the operations of NCCL's inspector: one object for each, of the communicator that spans all ranks."""
    rows: dict[str, list[tuple[int, int, float]]] = {}
    others: set[int] = set()
    for where, entry in _objects(text, source):
        try:
            header, perf = entry["header"], entry["coll_perf"]
            name, rank, size = str(header["id"]), int(header["rank"]), int(header["n_ranks"])
            row = rank, int(perf["coll_sn"]), float(perf["coll_exec_time_us"])
        except (KeyError, TypeError, ValueError):
            msg = f"{where}: no operation of NCCL's inspector: header with id, rank, n_ranks; coll_perf with coll_sn, "
            raise InputError(msg + "coll_exec_time_us") from None
        if not 0 <= rank < size or row[1] < 0 or not 0 <= row[2] < 1e18:
            msg = f"{where}: rank {rank} of {size}, operation {row[1]} or time {row[2]:g} us is out of range"
            raise InputError(msg)
        if size == ranks:
            rows.setdefault(name, []).append(row)
        else:
            others.add(size)
    if len(rows) != 1:
        found = f"{len(rows)} communicators" if rows else "no communicator"
        if others and not rows:
            found = f"communicators of {', '.join(map(str, sorted(others)))} ranks"
        msg = f"{source}: {found}; one that spans the {ranks} ranks of the topology is needed"
        raise InputError(msg)
    (mine,) = rows.values()
    table = np.array(mine, dtype=np.float64)
    nothing = np.full(len(mine), np.nan)
    return Operations(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), nothing, nothing, table[:, 2])


def _objects(text: str, source: str) -> list[tuple[str, Any]]:
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        whole = parse_json(text, source)
        entries = enumerate(whole if isinstance(whole, list) else [])
        return [(f"{source}: [{at}]", entry) for at, entry in entries]
    found = []
    for line, each in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        if each.strip():
            try:
                found.append((f"{source}:{line}", json.loads(each)))
            except (ValueError, RecursionError):
                msg = f"{source}:{line}: not JSON; NCCL's inspector writes one object a line"
                raise InputError(msg) from None
    return found
