"""What ``syccl tune`` tells: an index beside the files, one record for scripts, a table like that of nccl-tests."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from syccl import __version__
from syccl.collective import busbw_factor
from syccl.lowering.emit import serves_in_place
from syccl.report.figures import US
from syccl.report.selection import folder_words, kind_words
from syccl.report.synthesis import Record, rank_order, root_words, size_meaning
from syccl.report.tables import Table, counted
from syccl.topology.identity import topology_hash
from syccl.tuning.segments import TOLERANCE
from syccl.tuning.sweep import call_count
from syccl.units import format_size

if TYPE_CHECKING:
    from syccl.collective import Op
    from syccl.topology import Topology
    from syccl.tuning import Tuned
    from syccl.tuning.tuned import Ranged, SizeRow

ALGORITHMS = "msccl-algorithms"
"""Folder of the files that a runtime loads; it must hold nothing else."""
INDEX = "index.json"

CSV_COLUMNS = (
    *("size_bytes", "count", "datatype", "redop", "root", "time_us", "algbw_GBps", "busbw_GBps"),
    *("bound_us", "ratio", "best_us", "schedule", "file", "note"),
)


@dataclass(frozen=True)
class Report:
    """A tuned sweep, the command that makes it again, and where its files are."""

    tuned: Tuned
    command: str
    folder: Path

    @property
    def files(self) -> list[str]:
        """Names of the schedules' files, below the folder."""
        return [f"{ALGORITHMS}/{file_name(self.tuned, ranged)}" for ranged in self.tuned.schedules]


def stem(topology: Topology, op: Op, root: int) -> str:
    """Return the beginning of all names: collective and topology."""
    collective = f"{op.name}-root{root}" if op.rooted else op.name
    return f"{collective}.{re.sub(r'[^A-Za-z0-9._+-]+', '_', topology.name)}"


def file_name(tuned: Tuned, ranged: Ranged) -> str:
    """Return a file's name: collective, topology, first and last size of the sweep that it serves."""
    prepared = tuned.prepared
    sizes = dict.fromkeys(format_size(size) for size in (ranged.sizes[0], ranged.sizes[-1]))
    return f"{stem(prepared.topology, prepared.op, prepared.root)}.{'-'.join(sizes)}.xml"


def index(report: Report) -> Record:
    """Return the index of the files: the same for the same question, however long it took."""
    tuned, files = report.tuned, report.files
    prepared, options = tuned.prepared, tuned.options
    rows = size_records(report)
    schedules = [
        {
            **_schedule(ranged, options.datatype),
            "file": file,
            "sizes": [row for row in rows if row["schedule"] == number],
        }
        for number, (ranged, file) in enumerate(zip(tuned.schedules, files, strict=True))
    ]
    return {
        "syccl": __version__,
        "command": report.command,
        "topology": prepared.topology.name,
        "topology_sha256": topology_hash(prepared.topology),
        "ranks": prepared.topology.ranks,
        "rank_order": rank_order(prepared.topology),
        "op": prepared.op.name,
        "root": prepared.root if prepared.op.rooted else None,
        "size_means": size_meaning(prepared.op),
        "datatype": options.datatype,
        "protocol": options.protocol,
        "tolerance": TOLERANCE,
        "candidates": tuned.candidates,
        "simulations": tuned.simulations,
        "schedules": schedules,
        "unserved": [row for row in rows if row["schedule"] is None],
    }


def _schedule(ranged: Ranged, datatype: str) -> Record:
    return {
        "min_bytes": ranged.bytes.min_bytes,
        "max_bytes": ranged.bytes.max_bytes,
        "multiple_of_bytes": ranged.candidate.unit_bytes(datatype),
        "chunks": ranged.candidate.chunks,
        "plan": ranged.candidate.plan,
        "made_for_bytes": list(ranged.candidate.made_for),
    }


def record(report: Report) -> Record:
    """Return the index with what belongs to this run alone, for ``--json``; units are part of the names."""
    tuned = report.tuned
    return {
        **index(report),
        "sizes": size_records(report),
        "average_busbw_GBps": _average_busbw(report),
        "output": str(report.folder),
        "index": str(report.folder / INDEX),
        "tuning_s": tuned.seconds,
        "hit_time_limit": tuned.hit_time_limit,
    }


def size_records(report: Report) -> list[Record]:
    """Return one record for every size of the sweep, the names being the columns of the CSV file."""
    return [_size(report, row) for row in report.tuned.rows]


def _size(report: Report, row: SizeRow) -> Record:
    prepared, datatype = report.tuned.prepared, report.tuned.options.datatype
    time_us, bound_us = _us(row.seconds), _us(row.bound_s)
    algbw = row.size_bytes / time_us / 1e3 if time_us else None
    return {
        "size_bytes": row.size_bytes,
        "count": call_count(prepared.op, prepared.topology.ranks, row.size_bytes, datatype),
        "datatype": datatype,
        "redop": "sum" if prepared.op.reduces else "none",
        "root": prepared.root if prepared.op.rooted else -1,
        "time_us": time_us,
        "algbw_GBps": algbw,
        "busbw_GBps": None if algbw is None else algbw * busbw_factor(prepared.op, prepared.topology.ranks),
        "bound_us": bound_us,
        "ratio": time_us / bound_us if time_us and bound_us else None,
        "best_us": _us(row.best_s),
        "schedule": row.schedule,
        "file": None if row.schedule is None else report.files[row.schedule],
        "note": row.note or None,
    }


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * US


def _average_busbw(report: Report) -> float | None:
    rates = [float(str(row["busbw_GBps"])) for row in size_records(report) if row["busbw_GBps"] is not None]
    return sum(rates) / len(rates) if rates else None


def csv_text(report: Report) -> str:
    """Return the sizes as CSV with a header; cells without a value are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(size_records(report))
    return out.getvalue()


def size_table(report: Report) -> Table:
    """Return the table of the sizes, in the columns of nccl-tests, with bound and schedule."""
    header = (
        *("size (B)", "count", "type", "redop", "root", "time (us)", "algbw (GB/s)", "busbw (GB/s)"),
        *("bound (us)", "time/bound", "schedule"),
    )
    rows = [_cells(row) for row in size_records(report)]
    return Table(rows, header, frozenset(range(len(header))) - {2, 3})


def _cells(row: Record) -> list[str]:
    names = ("size_bytes", "count", "datatype", "redop", "root")
    numbers = (("time_us", ".2f"), ("algbw_GBps", ".2f"), ("busbw_GBps", ".2f"), ("bound_us", ".2f"), ("ratio", ".3f"))
    return [
        *(str(row[name]) for name in names),
        *("-" if row[name] is None else format(row[name], form) for name, form in numbers),
        "-" if row["schedule"] is None else str(row["schedule"]),
    ]


def schedule_table(report: Report) -> Table:
    """Return the table of the files: which sizes, which plan."""
    header = ("schedule", "min bytes", "max bytes", "multiple of", "chunks", "plan", "file")
    datatype = report.tuned.options.datatype
    rows = []
    for number, (ranged, file) in enumerate(zip(report.tuned.schedules, report.files, strict=True)):
        limits, candidate = ranged.bytes, ranged.candidate
        numbers = (number, limits.min_bytes, limits.max_bytes, candidate.unit_bytes(datatype), candidate.chunks)
        rows.append([*map(str, numbers), candidate.plan, file])
    return Table(rows, header, frozenset(range(5)))


def summary(report: Report) -> Table:
    """Return what was asked and how much work it was."""
    tuned = report.tuned
    prepared, options = tuned.prepared, tuned.options
    root = f", root {prepared.root}" if prepared.op.rooted else ""
    limit = " (stopped at the time limit; a longer run may find better)" if tuned.hit_time_limit else ""
    average = _average_busbw(report)
    within = f"every size within {TOLERANCE - 1:.0%} of the fastest of {counted(tuned.candidates, 'program')}"
    rows = [
        ("topology", prepared.topology.name),
        ("op", f"{prepared.op.name}{root}"),
        ("sizes", f"{len(tuned.rows)} of {options.datatype}: {size_meaning(prepared.op)}"),
        ("ranks", f"{prepared.topology.ranks}: {rank_order(prepared.topology)}"),
        ("protocol", options.protocol),
        ("schedules", f"{len(tuned.schedules)}: {within}"),
        ("average busbw", "-" if average is None else f"{average:.4g} GB/s"),
        ("tuning time", f"{tuned.seconds:.1f} s{limit}"),
    ]
    return Table(rows)


def notes(report: Report) -> list[str]:
    """Return in words which sizes were left out or are not served, equal reasons together."""
    sizes: dict[str, list[str]] = {}
    for row in report.tuned.rows:
        if row.note:
            sizes.setdefault(row.note, []).append(format_size(row.size_bytes))
    return [f"{', '.join(of)}: {note}" for note, of in sizes.items()]


def next_steps(report: Report) -> Sequence[str]:
    """Return the lines that make a runtime use the files."""
    op, root, target = report.tuned.prepared.op, report.tuned.prepared.root, report.tuned.options.target
    place = shlex.quote(str(report.folder / ALGORITHMS))
    path = place if report.folder.is_absolute() else f'"$PWD"/{place}'
    kinds = kind_words(in_place=serves_in_place(op), out_of_place=not serves_in_place(op) or target.reads_out_of_place)
    return [
        f"to use them with {target.name}:",
        *(f"  {line}" for line in (folder_words(path, target), *kinds, *root_words(op, root))),
    ]
