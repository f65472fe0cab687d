from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from syccl.findings import errors
from syccl.program.columns import columns
from syccl.program.ir import Program
from syccl.program.matching import match
from syccl.program.memory import Operands, memory, operands
from syccl.program.order import Parts, execute, split
from syccl.program.races import clocks, races
from syccl.program.structure import block_findings, header_findings, step_findings
from tests.program.programs import allpairs_allreduce, ring_allreduce
from tests.program.test_verify import changed_programs


def before(parts: Parts, order: list[int]) -> dict[int, int]:
    """For every part the set of parts, as bits, that are surely done before it: plain reachability."""
    done: dict[int, int] = {}
    for part in order:
        first = int(parts.first[parts.block[part]])
        reasons = [int(parts.depends[part]), int(parts.takes[part])] + ([part - 1] if part > first else [])
        done[part] = 0
        for reason in reasons:
            if reason >= 0:
                done[part] |= done[reason] | 1 << reason
    return done


def reference_races(touched: Operands, order: list[int]) -> set[tuple[int, int]]:
    """All pairs of parts that touch one location, one of them writing, without order."""
    accesses: dict[int, list[tuple[int, bool]]] = {}
    for part in order:
        if touched.reads_source[part]:
            accesses.setdefault(int(touched.source[part]), []).append((part, False))
        if touched.writes_target[part]:
            accesses.setdefault(int(touched.target[part]), []).append((part, True))
    done = before(touched.parts, order)
    return {
        (a, b)
        for there in accesses.values()
        for k, (b, writes_b) in enumerate(there)
        for a, writes_a in there[:k]
        if (writes_a or writes_b) and a != b and not done[b] >> a & 1
    }


def sound(program: Program) -> bool:
    if errors(header_findings(program)):
        return False
    table = columns(program)
    return not errors([*block_findings(program), *step_findings(program, table), *match(program, table)[1]])


@given(changed_programs(), st.booleans())
def test_clocks_agree_with_plain_reachability(program: Program, in_place: bool) -> None:
    assume(sound(program))
    table = columns(program)
    matching, _ = match(program, table)
    parts = split(table, matching, chunks=1, depth=None)
    order, stuck = execute(parts)
    assume(not stuck)
    touched = operands(table, parts, memory(program, in_place=in_place))
    expected = reference_races(touched, order)
    found = {(race.first, race.second) for race in races(touched, clocks(table, parts, order, messages=True))}
    assert bool(found) == bool(expected)
    assert found <= expected
    local = {(race.first, race.second) for race in races(touched, clocks(table, parts, order, messages=False))}
    steps = [{(int(parts.step[a]), int(parts.step[b])) for a, b in pairs} for pairs in (found, local)]
    assert steps[0] <= steps[1]


def test_dependences_alone_order_an_allpairs_allreduce_but_not_clocks_without_them() -> None:
    for program, in_place in ((allpairs_allreduce(4), False), (ring_allreduce(3), True)):
        table = columns(program)
        matching, _ = match(program, table)
        parts = split(table, matching, chunks=1, depth=2)
        order, _ = execute(parts)
        touched = operands(table, parts, memory(program, in_place=in_place))
        assert races(touched, clocks(table, parts, order, messages=False)) == []
