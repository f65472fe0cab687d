"""Clusters of little symmetry or none: schedule and program against the bound, allreduce against that of trees."""

from __future__ import annotations

from collections.abc import Sequence

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
            "algbw, GB/s",
            f"schedule, CPU s (target {MOST_S:g} up to {TIMED_RANKS} GPUs)",
            "with program, CPU s",
            "plan",
        ]
    )
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
    program_us = None if both is None else both["program_us"]
    rate = size_bytes / alone["schedule_us"] / 1e3
    if op == "allreduce" and name in JOINT:
        made.check(f"{what}: {JOINT[name]:g} GB/s / algbw", JOINT[name] / rate, MOST)
    return [
        str(alone["ranks"]),
        str(alone["order"]),
        made.check(f"{what}: schedule / bound", alone["schedule_us"] / bound_us, MOST),
        number(None if program_us is None else program_us / bound_us),
        f"{rate:.2f}",
        made.check(f"{what}: CPU s", alone["cpu_s"], MOST_S if alone["ranks"] <= TIMED_RANKS else None),
        number(None if both is None else both["cpu_s"], ".1f"),
        alone["winner"],
    ]


PART = Part("unsymmetric", _cases, _rows, _tables)
