"""Alibaba's trace of a GPU cluster (alibaba-lingjun-dataset-2023): which jobs ran where at a moment.

Three CSV files. ``topo.csv`` has for each host (``ip``) its switches (``DSW``, ``PSW``, ``ASW``; an ASW is numbered
within its PSW), ``worker.csv`` for each worker ``job_name``, ``host_ip``, ``gmt_created``, ``gmt_pod_finished`` and, in
``RES``, its GPUs (``nvidia.com/gpu``), ``job.csv`` for each job ``job_name`` and ``model``.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from syccl.errors import InputError
from syccl.units import clipped

FILES = ("job.csv", "worker.csv", "topo.csv")
GPUS_OF_HOST = 8
_GPU = "nvidia.com/gpu"
_TIME = "%Y/%m/%d %H:%M"
_LONGEST_RES = 2000
_PARAMETERS = re.compile(r"(?:^|[^0-9.])([0-9]{1,4}(?:\.[0-9]{1,3})?) ?b(?![a-z])", re.IGNORECASE)


class Place(NamedTuple):
    """Where a host is: group of cores, of spines, and leaf within the latter."""

    dsw: str
    psw: str
    asw: str


@dataclass(frozen=True)
class Worker:
    """GPUs of one host that a job held for a time."""

    job: str
    host: str
    begin: datetime
    end: datetime | None
    gpus: int

    def runs_at(self, moment: datetime) -> bool:
        """Return whether it held its GPUs at a moment."""
        return self.begin <= moment and (self.end is None or moment < self.end)


@dataclass(frozen=True)
class Trace:
    """Hosts with their places, workers with GPUs on these, models of jobs as far as they are told."""

    places: dict[str, Place]
    workers: tuple[Worker, ...]
    models: dict[str, str]


@dataclass(frozen=True)
class Moment:
    """Jobs that ran at a moment.

    ``jobs`` has for each job its hosts and how many GPUs of each it held. Left out and counted are ``crowded`` jobs,
    for which a host would need more GPUs than it has, and ``single`` ones, of one GPU.
    """

    at: datetime
    jobs: dict[str, dict[str, int]]
    crowded: int
    single: int


def read_trace(texts: Mapping[str, str], *, source: str) -> Trace:
    """Return the trace that the texts of the three files state, by file name.

    Raises
    ------
    InputError
        When a column is missing or a value cannot be read; with file, line and column.
    """
    places = {}
    for _, row in _rows(texts, "topo.csv", ("ip", "DSW", "PSW", "ASW"), source):
        places[row["ip"]] = Place(row["DSW"], row["PSW"], row["ASW"])
    workers = []
    columns = ("job_name", "host_ip", "gmt_created", "gmt_pod_finished", "RES")
    for where, row in _rows(texts, "worker.csv", columns, source):
        gpus = _gpus(row["RES"], f"{where}: RES")
        begin = _time(row["gmt_created"], f"{where}: gmt_created")
        end = _time(row["gmt_pod_finished"], f"{where}: gmt_pod_finished")
        if gpus and begin is not None and row["host_ip"] in places:
            workers.append(Worker(row["job_name"], row["host_ip"], begin, end, gpus))
    models = {row["job_name"]: row["model"] for _, row in _rows(texts, "job.csv", ("job_name", "model"), source)}
    if not workers:
        msg = f"{source}/worker.csv: no worker has GPUs on a host of topo.csv"
        raise InputError(msg)
    return Trace(places, tuple(workers), models)


def parse_moment(text: str) -> datetime:
    """Return a moment that a user states.

    Raises
    ------
    InputError
        When it is none.
    """
    found = _time(text, "--at")
    if found is None:
        msg = "--at: is empty; write for example '2023/7/20 12:00'"
        raise InputError(msg)
    return found


def busiest_moment(trace: Trace) -> datetime:
    """Return the first moment at which most GPUs are held."""
    steps: dict[datetime, int] = {}
    for worker in trace.workers:
        if worker.end is None or worker.end > worker.begin:
            steps[worker.begin] = steps.get(worker.begin, 0) + worker.gpus
            if worker.end is not None:
                steps[worker.end] = steps.get(worker.end, 0) - worker.gpus
    held, most, found = 0, -1, min(worker.begin for worker in trace.workers)
    for moment, change in sorted(steps.items()):
        held += change
        if held > most:
            most, found = held, moment
    return found


def jobs_at(trace: Trace, at: datetime) -> Moment:
    """Return the jobs of two GPUs or more that ran at a moment, in the order in which they began.

    Raises
    ------
    InputError
        When none did.
    """
    wanted: dict[str, dict[str, int]] = {}
    for worker in sorted(trace.workers, key=lambda worker: (worker.begin, worker.job)):
        if worker.runs_at(at):
            hosts = wanted.setdefault(worker.job, {})
            hosts[worker.host] = hosts.get(worker.host, 0) + worker.gpus
    free: dict[str, int] = {}
    jobs, crowded, single = {}, 0, 0
    for job, hosts in wanted.items():
        if sum(hosts.values()) < 2:
            single += 1
        elif any(gpus > free.get(host, GPUS_OF_HOST) for host, gpus in hosts.items()):
            crowded += 1
        else:
            jobs[job] = hosts
            for host, gpus in hosts.items():
                free[host] = free.get(host, GPUS_OF_HOST) - gpus
    if not jobs:
        first, last = min(worker.begin for worker in trace.workers), max(worker.begin for worker in trace.workers)
        msg = f"--at {at:{_TIME}}: no job of two GPUs or more ran; workers began from {first:{_TIME}} to {last:{_TIME}}"
        raise InputError(msg)
    return Moment(at, jobs, crowded, single)


def parameters_of(model: str) -> float | None:
    """Return the parameters that the name of a model states, such as 13e9 for gpt-13b; None where it states none."""
    match = _PARAMETERS.search(model)
    return float(match[1]) * 1e9 if match and float(match[1]) > 0 else None


def _rows(
    texts: Mapping[str, str], name: str, columns: Sequence[str], source: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where each row of a file stands, and its fields."""
    where = f"{source}/{name}"
    reader = csv.DictReader(io.StringIO(texts[name].removeprefix("\ufeff"), newline=""))
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            msg = f"{where}:1: column {missing[0]} is missing; needed are {', '.join(columns)}"
            raise InputError(msg)
        for row in reader:
            short = [column for column in columns if row[column] is None]
            if short:
                msg = f"{where}:{reader.line_num}: {short[0]} is missing"
                raise InputError(msg)
            yield f"{where}:{reader.line_num}", {column: row[column].strip() for column in columns}
    except csv.Error as error:
        msg = f"{where}:{reader.line_num}: not CSV: {error}"
        raise InputError(msg) from None


def _time(text: str, where: str) -> datetime | None:
    if text.lower() in {"", "nan"}:
        return None
    try:
        return datetime.strptime(text, _TIME)
    except ValueError:
        msg = f"{where}: {clipped(text)} is no time; write for example 2023/7/20 12:00"
        raise InputError(msg) from None


def _gpus(text: str, where: str) -> int:
    """Return the GPUs of a worker; none where its resources are not told."""
    if text.lower() in {"", "nan"}:
        return 0
    try:
        found = ast.literal_eval(text) if len(text) <= _LONGEST_RES else None
        gpus = int(found.get(_GPU, 0)) if isinstance(found, dict) else -1
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        gpus = -1
    if gpus < 0:
        msg = f"{where}: {clipped(text)} states no resources; it should be like {{'{_GPU}': '8'}}"
        raise InputError(msg)
    return gpus
