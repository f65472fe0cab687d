"""Clusters of little symmetry or none: schedule and program against the bound, allreduce against that of trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from syccl.units import format_size
from tests.quality.measured.clusters import CLUSTERS
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, number

MIB = 2**20
SIZES = (64 * MIB, 256 * MIB, 1024 * MIB)
OPS = ("allgather", "reducescatter", "allreduce")
MOST, MOST_S, TIMED_RANKS = 1.07, 10.0, 32
JOINT = {"cubemesh-5": 20.0, "nvlink-pair": 20.0}
"""AllReduce algbw in GB/s of plans that sum and spread at once; one after the other reach 12.5 and 15."""
PROGRAMS = {
    "3 servers or more": {
        "allgather": (1.09, 1.06, 1.05),
        "reducescatter": (1.15, 1.12, 1.11),
        "allreduce": (1.15, 1.12, 1.11),
    },
    "at most 2 servers": {
        "allgather": (1.09, 1.06, 1.05),
        "reducescatter": (1.20, 1.14, 1.12),
        "allreduce": (1.18, 1.13, 1.12),
    },
    "cube mesh": {
        "allgather": (1.12, 1.06, 1.04),
        "reducescatter": (1.18, 1.10, 1.07),
        "allreduce": (1.18, 1.09, 1.05),
    },
    "5 of a cube mesh": {
        "allgather": (1.05, 1.03, 1.02),
        "reducescatter": (1.08, 1.04, 1.03),
        "allreduce": (1.10, 1.05, 1.04),
    },
}
"""Largest good ratio of program to bound for each kind of cluster, at each of ``SIZES``."""
_CUBE_MESHES = {"dgx1-v100": "cube mesh", "dgx1-5": "5 of a cube mesh", "cubemesh-5": "5 of a cube mesh"}
_TABLED = ("a100-nic", "a100-gpu", "7+8", "8+8+4", "8+8+4b", "nic25+50", "dgx1-v100", "dgx1-5")
_MORE = tuple(name for name in CLUSTERS if name not in _TABLED)


def _cases(quick: bool) -> list[Case]:
    if quick:
        return [("dgx1-5", "allgather", SIZES[0]), ("cubemesh-5", "allreduce", SIZES[0])]
    names = (*_TABLED, *_MORE)
    return [(name, op, size) for name in names for op in OPS for size in (SIZES if name in _TABLED else SIZES[:1])]


def _rows(case: Case) -> list[Row]:
    name, op, size_bytes = case
    graph = f"cluster/{name}" if name in CLUSTERS else name
    asked = {"topology": graph, "op": op, "size_bytes": size_bytes}
    return [Row.of("synth", **asked, program=program) for program in (False, True)]


def program_target(name: str, op: str, size_bytes: int) -> float:
    """Return the largest good ratio of program to bound."""
    return PROGRAMS[kind_of(name)][op][SIZES.index(size_bytes)]


@cache
def kind_of(name: str) -> str:
    """Return which of ``PROGRAMS`` a cluster is to be measured by."""
    if name in _CUBE_MESHES:
        return _CUBE_MESHES[name]
    servers = {node.server for node in CLUSTERS[name]().nodes if node.server}
    return "3 servers or more" if len(servers) > 2 else "at most 2 servers"


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "cluster",
            "op",
            "size",
            "GPUs",
            "symmetry",
            f"schedule / bound (target {MOST})",
            "program / bound",
            "target",
            "algbw, GB/s",
            f"schedule, CPU s (target {MOST_S:g} up to {TIMED_RANKS} GPUs)",
            "with program, CPU s",
            "plan",
        ]
    )
    made.notes.append("target: of program / bound, by kind of cluster, collective and size")
    for one in measured:
        name, op, size_bytes = one.case
        what = f"{name} {op} {format_size(size_bytes)}"
        made.failures += one.failures(what)
        if one.values[0] is not None:
            made.rows.append([*what.split(), *_cells(made, what, one)])
    return [made]


def _cells(made: Table, what: str, one: Measured) -> list[str]:
    (name, op, size_bytes), (alone, both) = one.case, one.values
    bound_us = max(alone["bound_us"], (alone["tree_bound_us"] or 0.0) if op == "allreduce" else 0.0)
    program_us, most = None if both is None else both["program_us"], program_target(*one.case)
    rate = size_bytes / alone["schedule_us"] / 1e3
    if op == "allreduce" and name in JOINT:
        made.check(f"{what}: {JOINT[name]:g} GB/s / algbw", JOINT[name] / rate, MOST)
    return [
        str(alone["ranks"]),
        str(alone["order"]),
        made.check(f"{what}: schedule / bound", alone["schedule_us"] / bound_us, MOST),
        made.check(f"{what}: program / bound", None if program_us is None else program_us / bound_us, most),
        f"{most:.2f}",
        f"{rate:.2f}",
        made.check(f"{what}: CPU s", alone["cpu_s"], MOST_S if alone["ranks"] <= TIMED_RANKS else None),
        number(None if both is None else both["cpu_s"], ".1f"),
        alone["winner"],
    ]


PART = Part("unsymmetric", _cases, _rows, _tables)
