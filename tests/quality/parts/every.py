"""Every bundled topology and collective at six sizes, beside ring, tree and direct plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syccl.topology.catalog import bundled_topologies
from syccl.units import format_size
from tests.quality.measured.baseline import BASELINES, OPS_OF
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Result, Row
from tests.quality.tables import ABSENT, FAILED, Table, number
from tests.quality.targets import GIB, KIB, MIB, OPS, schedule_target

SIZES = (KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB)
WITHOUT_PROGRAMS = ("h800x512",)
"""Too many ranks for a program by default."""
_QUICK = (("a100x8", "allreduce", MIB), ("torus2d-4x4", "alltoall", 16 * MIB), ("dgx1-v100", "broadcast", GIB))


def _cases(quick: bool) -> list[Case]:
    return (
        list(_QUICK) if quick else [(name, op, size) for name in bundled_topologies() for op in OPS for size in SIZES]
    )


def _baselines(op: str) -> list[str]:
    return [name for name in BASELINES if op in OPS_OF[name]]


def _rows(case: Case) -> list[Row]:
    topology, op, size_bytes = case
    asked = {"topology": topology, "op": op, "size_bytes": size_bytes}
    program = topology not in WITHOUT_PROGRAMS
    rows = [Row.of("synth", **asked, program=False)]
    rows += [Row.of("synth", **asked, program=True)] if program else []
    return rows + [Row.of("baseline", **asked, name=name, program=program) for name in _baselines(op)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    sizes = [format_size(size) for size in SIZES]
    ratios = Table(["topology", "op", *sizes], title="Schedule / bound (at most its target), then program / bound")
    costs = Table(
        ["topology", "op", *sizes], title="CPU seconds of the schedule alone, with the program, and peak MiB of that"
    )
    others = Table(
        ["topology", "op", "plan", *sizes],
        title="Plans of today: schedule / bound, program / bound; CPU seconds, peak MiB",
    )
    by_case = {one.case: one for one in measured}
    ratios.failures += [text for one in measured for text in one.failures(_what(one.case))]
    for topology, op in dict.fromkeys(one.case[:2] for one in measured):
        row = [by_case.get((topology, op, size)) for size in SIZES]
        ratios.rows.append([topology, op, *(_ratio_cell(ratios, one) for one in row)])
        costs.rows.append([topology, op, *(_cost_cell(one) for one in row)])
        for place, name in enumerate(_baselines(op)):
            cells = [_other_cell(one, place - len(_baselines(op))) for one in row]
            if set(cells) - {ABSENT}:
                others.rows.append([topology, op, name, *cells])
    return [ratios, costs, others]


def _what(case: Case) -> str:
    topology, op, size_bytes = case
    return f"{topology} {op} {format_size(size_bytes)}"


def _own(one: Measured) -> tuple[Result, ...]:
    """Results of our own syntheses: alone, and with a program where one is asked for."""
    return one.results[: len(one.results) - len(_baselines(one.case[1]))]


def _ratio_cell(made: Table, one: Measured | None) -> str:
    if one is None:
        return ABSENT
    alone, *rest = (result.value for result in _own(one))
    if alone is None:
        return FAILED
    most = schedule_target(*one.case)
    text = made.check(f"{_what(one.case)}: schedule / bound", alone["schedule"], most)
    text += "" if most is None else f" ≤ {most:g}"
    return f"{text}; {_program(rest[0])}" if rest else text


def _program(value: dict[str, Any] | None) -> str:
    return FAILED if value is None else number(value["program"])


def _cost_cell(one: Measured | None) -> str:
    if one is None:
        return ABSENT
    own = _own(one)
    seconds = [FAILED if result.value is None else f"{result.value['cpu_s']:.1f}" for result in own]
    return f"{', '.join(seconds)}; {own[-1].peak_mib:.0f}"


def _other_cell(one: Measured | None, place: int) -> str:
    """Return schedule and program of a baseline over our bound, then what it took."""
    if one is None or one.values[0] is None or one.values[place] is None:
        return ABSENT
    bound_us, other = one.values[0]["bound_us"], one.values[place]
    program_us = other["program_us"]
    text = f"{other['schedule_us'] / bound_us:.2f}"
    text += "" if program_us is None else f", {program_us / bound_us:.2f}"
    return f"{text}; {other['cpu_s']:.1f}, {one.results[place].peak_mib:.0f}"


PART = Part("every", _cases, _rows, _tables)
