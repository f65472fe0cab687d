"""Proves that a program computes its collective on every rank, always ends and has no race; or says why not.

Everything follows from the program itself: nothing that made it is asked. In order: structure, messages and
dependences, deadlock with bounded FIFOs, then for every kind of call (in place, out of place) races and the values
that each chunk ends up with. A stage with errors ends the check, since later stages would only repeat them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from syccl.findings import Finding, capped, errors
from syccl.program.columns import BUFFERS, READS_SOURCE, TYPES, WRITES_TARGET, Columns, columns, indices
from syccl.program.dataflow import Flow, Values, likely_root, run, wrong_outputs
from syccl.program.deadlock import legal_order
from syccl.program.ir import Buffer, Program, StepType
from syccl.program.matching import match
from syccl.program.memory import Memory, Operands, memory, operands
from syccl.program.order import Parts
from syccl.program.races import Clocks, clocks, races
from syccl.program.semantics import ROOTED, states_result
from syccl.program.structure import block_findings, header_findings, step_findings
from syccl.program.targets import Target

MOST: Final = 8
"""Findings of one rule that are listed one by one."""


def verify_program(
    program: Program, *, size_bytes: int | None = None, target: Target | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with a program, what limits its use, and what is worth knowing.

    Parameters
    ----------
    program
        The program.
    size_bytes
        Size of the call in nccl-tests' sense. With it a program that hangs at this size is wrong; without it the
        sizes up to which it runs are a warning.
    target
        The runtime that the program is for, if it is for one.

    Returns
    -------
    tuple of Finding
        No errors: the program is right for every timing. Of each rule the first few are listed.
    """
    return tuple(capped(_stages(program, size_bytes, target), MOST))


def _blocks(found: list[Finding]) -> bool:
    """Return whether later stages cannot be run: limits are overstepped by programs that are otherwise right."""
    return any(finding.rule != "limit" for finding in errors(found))


def _stages(program: Program, size_bytes: int | None, target: Target | None) -> Iterator[Finding]:
    header = list(header_findings(program))
    yield from header
    if _blocks(header):
        return
    table = columns(program)
    structure = [*block_findings(program, target), *step_findings(program, table)]
    yield from structure
    if _blocks(structure):
        return
    matching, unmatched = match(program, table)
    yield from unmatched
    if unmatched:
        return
    run_order, stuck = legal_order(program, table, matching, size_bytes=size_bytes)
    yield from stuck
    if run_order is not None:
        yield from _meaning(program, table, run_order)


def _meaning(program: Program, table: Columns, run_order: tuple[Parts, list[int]]) -> Iterator[Finding]:
    """Check what depends on how a call passes its buffers; equal findings of both kinds of call are told once.

    Callers of a custom collective pass buffers as they like, so what is wrong in one kind of call only is a warning.
    """
    parts, order = run_order
    timings = [clocks(table, parts, order, messages=False)]
    custom = program.collective == "custom"
    kinds = [kind for kind, wanted in ((False, program.out_of_place), (True, program.in_place)) if wanted or custom]
    told: dict[Finding, list[str]] = {}
    root = -1
    for kind in kinds:
        where = memory(program, in_place=kind)
        touched = operands(table, parts, where)
        flow = run(program, where, touched, order)
        root = likely_root(program, where, flow.memory) if root < 0 else root
        for finding in (
            *_race_findings(program, touched, order, timings),
            *_flow_findings(program, touched, flow),
            *_output_findings(program, where, flow, root),
            *(() if kind else _input_findings(table)),
        ):
            told.setdefault(finding, []).append(where.name)
    for finding, names in told.items():
        severity = "warning" if custom and len(names) < len(kinds) else finding.severity
        only = f" ({names[0]})" if len(names) < len(kinds) else ""
        yield replace(finding, severity=severity, message=finding.message + only)
    if program.collective in ROOTED:
        yield from _root_findings(program, table, root)


def _race_findings(program: Program, touched: Operands, order: list[int], timings: list[Clocks]) -> Iterator[Finding]:
    """Tell races; clocks that know messages too cost much more and are made when dependences do not suffice."""
    suspects = races(touched, timings[0])
    if suspects and len(timings) == 1:
        timings.append(clocks(touched.table, touched.parts, order, messages=True))
    found = races(touched, timings[1]) if suspects else []
    table = touched.table
    for race in found:
        first, second = (int(touched.parts.step[part]) for part in (race.first, race.second))
        message = (
            f"race on rank {table.rank[table.block[second]]} {race.operand}: {table.name(first)} {race.verbs[0]} it, "
            f"{table.name(second)} {race.verbs[1]} it, and neither a dependence nor messages order the two"
        )
        yield Finding("error", "race", table.where(second), message)
    if len(found) < len(suspects) and program.protocol != "Simple":
        message = (
            f"{len(suspects) - len(found)} pairs of accesses are ordered only by messages through other ranks; "
            f"{program.protocol} issues no memory fence for them, a dependence is safer"
        )
        yield Finding("note", "round-trip", "program", message)


def _flow_findings(program: Program, touched: Operands, flow: Flow) -> Iterator[Finding]:
    table, values = touched.table, Values(program)
    for part in _one_per_step(touched, flow.unset):
        step = int(touched.parts.step[part])
        name = touched.name(part, source=True)
        if TYPES[int(table.type[step])] is StepType.REDUCE:
            name = f"{name} or {touched.name(part, source=False)}"
        yield Finding("error", "uninitialised", table.where(step), f"reads {name}, which nothing has written")
    if not states_result(program):
        return
    operands_of = {part: (one, other) for part, one, other in flow.clashes}
    for part in _one_per_step(touched, list(operands_of)):
        step = int(touched.parts.step[part])
        one, other = map(values.describe, operands_of[part])
        yield Finding("error", "reduction", table.where(step), f"adds {other} to {one}")


def _one_per_step(touched: Operands, found: list[int]) -> Iterator[int]:
    seen = -1
    for part in sorted(found):
        step = int(touched.parts.step[part])
        if step != seen:
            yield part
        seen = step


def _output_findings(program: Program, where: Memory, flow: Flow, root: int) -> Iterator[Finding]:
    describe = Values(program).describe
    for rank, group in groupby(wrong_outputs(program, where, flow.memory, root), key=lambda wrong: wrong.rank):
        wrong = list(group)
        listed = [
            f"o[{chunk.output}] holds {describe(chunk.held)}, not {describe(chunk.required)}" for chunk in wrong[:3]
        ]
        more = f"; and {len(wrong) - 3} more chunks" if len(wrong) > 3 else ""
        yield Finding("error", "wrong", f"rank {rank}", f"wrong result: {'; '.join(listed)}{more}")


def _input_findings(table: Columns) -> Iterator[Finding]:
    writes = WRITES_TARGET[table.type] & (table.dst_buffer == BUFFERS.index(Buffer.INPUT)) & (table.count > 0)
    for step in indices(writes):
        message = f"writes the input i[{table.dst[step]}], which out-of-place calls must not change"
        yield Finding("warning", "input", table.where(step), message)


def _root_findings(program: Program, table: Columns, root: int) -> Iterator[Finding]:
    message = f"the root is rank {root}; runtimes do not compare roots and use the file for every root"
    yield Finding("warning", "root", "program", message)
    if program.collective == "broadcast":
        return
    only = Buffer.INPUT if program.collective == "scatter" else Buffer.OUTPUT
    code = BUFFERS.index(only)
    touches = (READS_SOURCE[table.type] & (table.src_buffer == code)) | (
        (WRITES_TARGET[table.type]) & (table.dst_buffer == code)
    )
    for step in indices(touches & (table.rank[table.block] != root)):
        message = f"uses {only.value}, which a caller may leave out on ranks other than the root"
        yield Finding("warning", "root-buffer", table.where(step), message)
