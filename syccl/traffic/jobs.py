"""The jobs file: who computes how long, sends what, and when it arrives."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from syccl.collective.demand import op_named
from syccl.errors import InputError
from syccl.topology import Topology
from syccl.traffic.jobs_yaml import Fields, read_mapping
from syccl.units import LONGEST_S, clipped, parse_share, parse_size, parse_time

DEFAULT_GPU_FLOPS = 1.25e14
"""FLOP/s that a GPU sustains unless the file says otherwise: 40 % of the 312e12 of an A100's data sheet (BF16)."""
MOST_JOBS = 10_000
MOST_ITERATIONS = 10**9

_FLOPS = re.compile(r"[0-9]{1,24}(?:\.[0-9]{1,12})?(?:[eE]\+?[0-9]{1,2})?")
_RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")
_FIELDS = ("name", "ranks", "gpus", "compute", "flops", "overlap", "arrival", "iterations", "level", "collectives")


@dataclass(frozen=True)
class Collective:
    """What a job's ranks do together once an iteration.

    ``by`` says whose schedule: ``ring``, ``direct``, ``halving``, ``hdrm``, ``synth``, or the name of a file.
    """

    op: str
    size_bytes: int
    by: str


@dataclass(frozen=True)
class Job:
    """A job that repeats one iteration: compute, and communicate.

    Parameters
    ----------
    ranks
        Ranks of the fabric, in the job's own order of ranks.
    compute_s
        Seconds that every GPU computes in an iteration.
    flops
        FLOPs of all its GPUs in an iteration.
    overlap
        Share of the compute, at its end, during which communication may run already; 0 to 1.
    iterations
        After how many it is complete; None: it runs on.
    level
        Priority, 0 the highest; None: not stated.
    """

    name: str
    ranks: tuple[int, ...]
    compute_s: float
    flops: float
    overlap: float
    arrival_s: float
    iterations: int | None
    level: int | None
    collectives: tuple[Collective, ...]


def read_jobs(text: str, *, source: str, topology: Topology, seed: int = 0) -> tuple[Job, ...]:
    """Return the jobs that a YAML text states, each with its ranks of a fabric.

    Parameters
    ----------
    seed
        Of the arrivals that are drawn.

    Raises
    ------
    InputError
        When the text is not such a file; one line that names the file, the job and the field.
    """
    top = Fields(read_mapping(text, source=source), source)
    top.refuse_others(("gpu_flops", "arrival_gap", "jobs"))
    gpu_flops = top.get("gpu_flops", _parse_flops, DEFAULT_GPU_FLOPS)
    entries = top.get("jobs", _as_list, None)
    if not entries or len(entries) > MOST_JOBS:
        raise top.error("jobs", f"list from 1 to {MOST_JOBS} jobs")
    fields = [_job_fields(entry, at, source) for at, entry in enumerate(entries)]
    names = [str(each.values["name"]) for each in fields]
    for at, each in enumerate(fields):
        if names[at] in names[:at]:
            raise each.error("name", "is used twice; names must differ")
    places = _places(fields, topology)
    jobs = tuple(_job(each, ranks, gpu_flops) for each, ranks in zip(fields, places, strict=True))
    gap_s = top.get("arrival_gap", parse_time, None)
    if gap_s is None:
        return jobs
    drawn = [at for at, each in enumerate(fields) if "arrival" not in each.values]
    arrivals_s = np.cumsum(np.random.default_rng(seed).exponential(gap_s, len(drawn))).tolist()
    if arrivals_s and arrivals_s[-1] > LONGEST_S:
        raise top.error("arrival_gap", f"puts the last arrival beyond {LONGEST_S:g} s")
    arrives_s = dict(zip(drawn, arrivals_s, strict=True))
    return tuple(replace(job, arrival_s=arrives_s.get(at, job.arrival_s)) for at, job in enumerate(jobs))


def _job_fields(entry: object, at: int, source: str) -> Fields:
    if not isinstance(entry, dict):
        msg = (
            f"{source}: jobs[{at}]: {clipped(entry)} is no job; write a mapping with name, ranks, compute, collectives"
        )
        raise InputError(msg)
    name = entry.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.\-]{1,64}", name):
        msg = f"{source}: jobs[{at}]: name: {clipped(name)} is no name of letters, digits and _ . -"
        raise InputError(msg)
    fields = Fields(entry, f"{source}: job {name!r}")
    fields.refuse_others(_FIELDS)
    return fields


def _places(jobs: list[Fields], topology: Topology) -> list[tuple[int, ...]]:
    """Return every job's ranks: those that are stated, then for ``gpus`` the first that are free."""
    owner: dict[int, str] = {}
    stated: list[tuple[int, ...] | None] = []
    for job in jobs:
        if ("ranks" in job.values) == ("gpus" in job.values):
            raise job.error("ranks", "state either ranks (such as 0-7) or gpus (how many, placed on the first free)")
        ranks = job.get("ranks", lambda value: _parse_ranks(value, topology), None)
        for rank in ranks or ():
            if rank in owner:
                other = owner[rank]
                raise job.error("ranks", f"GPU {rank} is {'stated twice' if other == job.name else f'in {other}, too'}")
            owner[rank] = job.name
        stated.append(ranks)
    free = [rank for rank in range(topology.ranks) if rank not in owner]
    placed = []
    for job, given in zip(jobs, stated, strict=True):
        ranks = given
        if ranks is None:
            count = job.get("gpus", _parse_count, 0)
            if count > len(free):
                raise job.error("gpus", f"{count} GPUs are more than the {len(free)} left of {topology.ranks}")
            ranks, free = tuple(free[:count]), free[count:]
        if len(ranks) < 2:
            raise job.error("ranks", "a job of one GPU has no communication; give it two or more")
        placed.append(ranks)
    return placed


def _job(fields: Fields, ranks: tuple[int, ...], gpu_flops: float) -> Job:
    compute = fields.get("compute", parse_time, None)
    flops = fields.get("flops", _parse_flops, None)
    if compute is None and flops is None:
        raise fields.error("compute", "state the seconds of an iteration, or its flops")
    if compute is None:
        compute = (flops or 0.0) / (len(ranks) * gpu_flops)
    if not 0 < compute <= LONGEST_S:
        name = "compute" if "compute" in fields.values else "flops"
        raise fields.error(name, f"an iteration must compute more than 0 s and at most {LONGEST_S:g} s")
    return Job(
        name=str(fields.values["name"]),
        ranks=ranks,
        compute_s=compute,
        flops=compute * len(ranks) * gpu_flops if flops is None else flops,
        overlap=fields.get("overlap", _parse_overlap, 0.0),
        arrival_s=fields.get("arrival", parse_time, 0.0),
        iterations=fields.get("iterations", _parse_count, None),
        level=fields.get("level", _parse_level, None),
        collectives=_collectives(fields),
    )


def _collectives(job: Fields) -> tuple[Collective, ...]:
    entries = job.get("collectives", _as_list, None)
    if not entries:
        raise job.error("collectives", "a job with no communication needs no plan; list at least one collective")
    found = []
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise job.error(f"collectives[{at}]", f"{clipped(entry)} is no mapping with op, size and by")
        fields = Fields(entry, f"{job.where}: collectives[{at}]")
        fields.refuse_others(("op", "size", "by"))
        if "op" not in entry or "size" not in entry:
            raise fields.error("op" if "op" not in entry else "size", "is missing")
        op = fields.get("op", lambda value: op_named(str(value)).name, "")
        size = fields.get("size", lambda value: parse_size(str(value)), 0)
        found.append(Collective(op, size, fields.get("by", _parse_text, "ring")))
    return tuple(found)


def _as_list(value: object) -> list[object]:
    if not isinstance(value, list):
        msg = f"{clipped(value)} is no list"
        raise InputError(msg)
    return value


def _parse_text(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        msg = f"{clipped(value)} is no text"
        raise InputError(msg)
    return value


def _parse_flops(value: object) -> float:
    flops = float(value) if isinstance(value, str) and _FLOPS.fullmatch(value) else 0.0
    if not 0 < flops <= 1e30:
        msg = f"{clipped(value)} is no positive number of FLOPs; write for example 2.5e15"
        raise InputError(msg)
    return flops


def _whole(value: object, least: int, most: int, what: str) -> int:
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value) else -1
    if not least <= number <= most:
        msg = f"{clipped(value)} is no {what} from {least} to {most}"
        raise InputError(msg)
    return number


def _parse_count(value: object) -> int:
    return _whole(value, 1, MOST_ITERATIONS, "whole number")


def _parse_level(value: object) -> int:
    return _whole(value, 0, 255, "level of priority")


def _parse_overlap(value: object) -> float:
    return 0.0 if value in ("0", "0%") else parse_share(value) / 1000


def _parse_ranks(value: object, topology: Topology) -> tuple[int, ...]:
    entries = [str(entry) for entry in value] if isinstance(value, list) else str(value).split(",")
    found: list[int] = []
    for entry in entries:
        match = _RANGE.fullmatch(entry.strip())
        last = -1 if match is None else int(match[2] or match[1])
        if match is None or not int(match[1]) <= last < topology.ranks:
            what = f"{clipped(entry)} is no rank or range of the {topology.ranks} GPUs of {topology.name}"
            msg = f"{what} (0..{topology.ranks - 1}); write for example 0-7,16"
            raise InputError(msg)
        found += range(int(match[1]), last + 1)
    return tuple(found)
