"""Every collective at every power of two from 1 KiB to 4 GiB, schedule alone, against bound and closed forms."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.units import format_size
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import ABSENT, FAILED, Table
from tests.quality.targets import KIB, OPS, SWEPT, schedule_target

SIZES = tuple(KIB << i for i in range(23))
ROUNDING = 1e-9
"""Relative error of times that are sums of floats in another order."""
_QUICK = (("a100x32", "allgather", 64 * KIB), ("a100x32", "broadcast", 4 * KIB), ("h800x64", "scatter", 1024 * KIB))


def _cases(quick: bool) -> list[Case]:
    return list(_QUICK) if quick else [(name, op, size) for name in SWEPT for op in OPS for size in SIZES]


def _rows(case: Case) -> list[Row]:
    topology, op, size_bytes = case
    return [
        Row.of("synth", topology=topology, op=op, size_bytes=size_bytes, program=False),
        Row.of("closed_forms", topology=topology, op=op, sizes=list(SIZES)),
    ]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    return [_table(name, [one for one in measured if one.case[0] == name]) for name in SWEPT]


def _table(topology: str, measured: Sequence[Measured]) -> Table:
    made = Table(["size", *OPS], title=f"{topology}: schedule / bound, at most the target")
    by_case = {one.case: one for one in measured}
    made.failures += [text for one in measured for text in one.failures(_what(one.case))]
    for size in sorted({one.case[2] for one in measured}):
        cells = [_cell(made, by_case.get((topology, op, size))) for op in OPS]
        made.rows.append([format_size(size), *cells])
    done = [one for one in measured if one.values[0] is not None]
    if done:
        made.rows.append(["CPU s, median and worst", *(_seconds(done, op) for op in OPS)])
    return made


def _what(case: Case) -> str:
    topology, op, size_bytes = case
    return f"{topology} {op} {format_size(size_bytes)}"


def _cell(made: Table, one: Measured | None) -> str:
    if one is None:
        return ABSENT
    what, (value, plans) = _what(one.case), one.values
    if value is None:
        return FAILED
    most = schedule_target(*one.case)
    text = made.check(f"{what}: schedule / bound", value["schedule"], most)
    if plans is not None:
        plan, plan_us = plans[str(one.case[2])]
        made.check(f"{what}: schedule / closed form ({plan})", value["schedule_us"] / plan_us, 1 + ROUNDING)
    return text if most is None else f"{text} ≤ {most:g}"


def _seconds(done: Sequence[Measured], op: str) -> str:
    seconds = sorted(one.values[0]["cpu_s"] for one in done if one.case[1] == op)
    return f"{seconds[len(seconds) // 2]:.1f}, {seconds[-1]:.1f}" if seconds else ABSENT


PART = Part("sweep", _cases, _rows, _tables)
