"""The graphs that other synthesizers were measured on, also with scrambled names and order.

``data/peers.csv`` holds what the others reached: ratio to the optimum (ForestColl's is that of an ideal pipeline) and
CPU seconds of one process on a machine of two cores, measured beforehand with their released code; TE-CCL with HiGHS.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.quality.measured.named import BENCH
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, number

GIB, MIB = 2**30, 2**20
OPS = ("allgather", "reducescatter", "allreduce", "alltoall")
MOST = 1.02
LARGEST_TIMED = 64
SYMMETRIC_ORDER, SYMMETRIC_S, OTHER_S = 8, 1.0, 5.0
SEED = 7
PEERS = ("forestcoll", "tacos", "teccl", "sccl")
_PEERS_FILE = Path(__file__).parent.parent / "data" / "peers.csv"
_QUICK = ("T5_dgx1v100", "T2_a100_2x8_nic4")


def _cases(quick: bool) -> list[Case]:
    names = sorted(path.stem for path in BENCH.glob("*.json"))
    return [(name, op) for name in names if not quick or name in _QUICK for op in OPS]


def _rows(case: Case) -> list[Row]:
    name, op = case
    graph = f"bench/{name}"
    rows = [Row.of("synth", topology=graph, op=op, size_bytes=size, program=False) for size in (GIB, MIB)]
    if op == "allgather":
        rows += [
            Row.of("synth", topology=f"{graph}~{SEED}", op=op, size_bytes=GIB, program=False),
            Row.of("command", topology=graph, op=op, size="1GiB", form="xml"),
        ]
    return rows


@lru_cache(maxsize=1)
def _peers() -> dict[str, dict[str, str]]:
    with _PEERS_FILE.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def _tables(measured: Sequence[Measured]) -> list[Table]:
    against_peers = Table(
        [
            "topology",
            "GPUs",
            "optimum, GB/s",
            "algbw, GB/s",
            f"optimum / algbw (target {MOST})",
            "the same, scrambled",
            "schedule, CPU s",
            "schedule + program, whole process, CPU s",
            "ForestColl: ratio, CPU s",
            "TACOS",
            "TE-CCL",
            "SCCL",
        ],
        title="AllGather of 1 GiB beside the others",
    )
    every = Table(
        [
            "topology",
            "op",
            "GPUs",
            "symmetry",
            "optimum, GB/s",
            f"1 GiB: optimum / algbw (target {MOST})",
            "CPU s",
            "target",
            "hops",
            "1 MiB: schedule / bound",
            "CPU s",
            "hops",
            "others at large sizes: ratio, CPU s",
        ],
        title="All collectives",
    )
    for one in measured:
        every.failures += one.failures("{} {}".format(*one.case))
        if all(value is not None for value in one.values[:2]):
            _add(every, one)
        if one.case[1] == "allgather" and None not in one.values:
            _compare(against_peers, one)
    if not measured:
        every.notes.append(f"no topologies found beside the repository ({BENCH.parent.name}/{BENCH.name})")
    return [against_peers, every]


def optimum(name: str, op: str, value: dict[str, Any]) -> float:
    """Return the best algbw in GB/s: as published, else that of our bound, for allreduce that of trees."""
    published = _peers().get(name, {}).get({"allgather": "optimum_GBps", "alltoall": "alltoall_GBps"}.get(op, ""), "")
    if published:
        return float(published)
    bound_us = max(value["bound_us"], (value["tree_bound_us"] or 0.0) if op == "allreduce" else 0.0)
    return GIB / bound_us / 1e3


def seconds_target(ranks: int, order: int) -> float | None:
    """Return the CPU seconds that a synthesis may take."""
    if ranks > LARGEST_TIMED:
        return None
    return SYMMETRIC_S if order >= SYMMETRIC_ORDER else OTHER_S


def _add(made: Table, one: Measured) -> None:
    (name, op), (large, small) = one.case, one.values[:2]
    best = optimum(name, op, large)
    most_s, what = seconds_target(large["ranks"], large["order"]), f"{name} {op}"
    ratio = best * 1e3 * large["schedule_us"] / GIB
    made.rows.append(
        [
            name,
            op,
            str(large["ranks"]),
            str(large["order"]),
            f"{best:.2f}",
            made.check(f"{what} 1GiB: optimum / algbw", ratio, MOST),
            made.check(f"{what} 1GiB: CPU s", large["cpu_s"], most_s),
            number(most_s, "g"),
            number(large["depth"], "d"),
            f"{small['schedule']:.3f}",
            made.check(f"{what} 1MiB: CPU s", small["cpu_s"], most_s),
            number(small["depth"], "d"),
            (_peers().get(name, {}).get("alltoall_peers", "") if op == "alltoall" else "") or "-",
        ]
    )


def _compare(made: Table, one: Measured) -> None:
    name, (large, _, other, whole) = one.case[0], one.values
    best = optimum(name, "allgather", large)
    made.rows.append(
        [
            name,
            str(large["ranks"]),
            f"{best:.2f}",
            f"{GIB / large['schedule_us'] / 1e3:.2f}",
            f"{best * 1e3 * large['schedule_us'] / GIB:.3f}",
            made.check(f"{name} allgather, scrambled: optimum / algbw", best * 1e3 * other["schedule_us"] / GIB, MOST),
            f"{large['cpu_s']:.2f}",
            f"{whole['cpu_s']:.2f}",
            *(_peer(_peers().get(name, {}), peer) for peer in PEERS),
        ]
    )


def _peer(row: dict[str, str], name: str) -> str:
    cells = [row.get(f"{name}_{field}", "") for field in ("ratio", "s")]
    return ", ".join(cell for cell in cells if cell) or "-"


PART = Part("bench", _cases, _rows, _tables)
