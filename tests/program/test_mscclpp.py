"""Execution plans of MSCCL++: made, proved, run on numbers, and found out where they are wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from syccl.collective import Demand, op_named
from syccl.errors import GaveUpError, InputError
from syccl.findings import errors
from syccl.lowering.mscclpp import plan_of
from syccl.pipeline import Options, synthesize
from syccl.program.ir import Buffer
from syccl.program.mscclpp.ir import MAX_OPERATIONS, Op, Plan, PlanBlock
from syccl.program.mscclpp.json_file import read_plan_json, write_plan_json
from syccl.program.mscclpp.lint import lint_plan
from syccl.program.mscclpp.verify import verify_plan
from tests.program.plan_replay import is_right
from tests.schedule.tiny import schedule_of, shared_nic_topology, switch_topology

SIZE = 4096
OPS = ("allreduce", "allgather", "reducescatter", "alltoall")
CASES = [(op, in_place) for op in OPS for in_place in (True, False) if op != "alltoall" or not in_place]
TRIALS = 150


@cache
def made(op: str, *, in_place: bool = False, servers: int = 2) -> Plan:
    topology = shared_nic_topology() if servers == 2 else switch_topology(4)
    options = Options(size_bytes=SIZE, want_program=True)
    schedule = synthesize(topology, op_named(op), options).schedule
    return plan_of(schedule, size_bytes=SIZE - SIZE % (16 * schedule.demand.buffer_chunks), in_place=in_place)


def with_block(plan: Plan, place: tuple[int, int], change: Callable[[PlanBlock], PlanBlock]) -> Plan:
    rank, number = place
    blocks = list(plan.ranks[rank].blocks)
    blocks[number] = change(blocks[number])
    ranks = list(plan.ranks)
    ranks[rank] = replace(ranks[rank], blocks=tuple(blocks))
    return replace(plan, ranks=tuple(ranks))


def with_ops(plan: Plan, place: tuple[int, int], change: Callable[[list[Op]], list[Op]]) -> Plan:
    return with_block(plan, place, lambda block: replace(block, ops=tuple(change(list(block.ops)))))


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize(("op", "in_place"), CASES)
def test_plans_are_proved_and_right_on_numbers(op: str, servers: int, *, in_place: bool) -> None:
    plan = made(op, in_place=in_place, servers=servers)
    assert verify_plan(plan) == ()
    assert all(is_right(plan, seed) for seed in range(5))
    kinds = {kind for rank in plan.ranks for kind in rank.channels}
    assert "port" in kinds if servers == 2 else kinds == {"memory"}


@pytest.mark.parametrize("op", OPS)
def test_a_file_holds_the_whole_plan(op: str) -> None:
    text = write_plan_json(made(op))
    assert write_plan_json(read_plan_json(text, source="x")) == text


def _changed(op: Op, kind: str, dice: random.Random) -> Op | None:
    refs = {"offset": "start", "size": "size"}
    if kind in refs:
        side = dice.choice([side for side in ("src", "dst") if getattr(op, side)] or [""])
        if not side or op.name == "flush":
            return None
        ref, *rest = getattr(op, side)
        value = getattr(ref, refs[kind])
        return op._replace(**{side: (ref._replace(**{refs[kind]: max(0, value + dice.choice((-1, 1)))}), *rest)})
    if kind == "buffer":
        local = [ref for ref in op.src if ref.buffer is not None]
        other = dice.choice(list(Buffer))
        return op._replace(src=(op.src[0]._replace(buffer=other), *op.src[1:])) if local else None
    if kind == "channel" and op.channels:
        return op._replace(channels=(op.channels[0] + dice.choice((-1, 1)), *op.channels[1:]))
    return None


KINDS = ("drop", "double", "swap", "offset", "size", "buffer", "channel")


def mutant(plan: Plan, kind: str, dice: random.Random) -> Plan | None:
    place = dice.choice([(rank.rank, block.id) for rank in plan.ranks for block in rank.blocks if block.ops])
    ops = list(plan.ranks[place[0]].blocks[place[1]].ops)
    at = dice.randrange(len(ops))
    if kind == "drop":
        new = [*ops[:at], *ops[at + 1 :]]
    elif kind == "double":
        new = [*ops[: at + 1], *ops[at:]]
    elif kind == "swap":
        new = [*ops[:at], *reversed(ops[at : at + 2]), *ops[at + 2 :]]
    else:
        changed = _changed(ops[at], kind, dice)
        if changed is None or min(changed.channels, default=0) < 0:
            return None
        new = [*ops[:at], changed, *ops[at + 1 :]]
    return None if new == ops else with_ops(plan, place, lambda _: new)


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("op", OPS)
def test_small_faults_are_found_or_shown_to_do_no_harm(op: str, servers: int) -> None:
    plan, found = made(op, servers=servers), Counter[str]()
    for seed in range(TRIALS):
        dice = random.Random(seed)
        kind = KINDS[seed % len(KINDS)]
        wrong = mutant(plan, kind, dice)
        if wrong is None:
            continue
        if errors(verify_plan(wrong)):
            found[kind] += 1
            continue
        assert all(is_right(wrong, run) for run in range(8)), (kind, seed)
    assert set(found) >= {"drop", "double", "offset", "size", "channel"}


def _rules(plan: Plan) -> set[str]:
    return {finding.rule for finding in errors(verify_plan(plan))}


def test_a_signal_less_is_a_deadlock_and_a_wait_less_is_unmatched() -> None:
    plan = made("allgather")
    for name, rule in (("signal", "deadlock"), ("wait", "unmatched")):
        ops = plan.ranks[0].blocks[0].ops
        at = max(i for i, op in enumerate(ops) if op.name == name)
        assert rule in _rules(with_ops(plan, (0, 0), lambda ops, at=at: [*ops[:at], *ops[at + 1 :]]))


def test_what_is_beyond_a_table_is_told_with_its_limit() -> None:
    many = with_ops(made("allgather"), (0, 0), lambda ops: [*ops, *[Op("nop")] * MAX_OPERATIONS])
    assert any(f"room for {MAX_OPERATIONS}" in finding.message for finding in lint_plan(many))


def test_ranks_out_of_order_are_refused() -> None:
    plan = made("allgather")
    assert {f.rule for f in errors(lint_plan(replace(plan, ranks=plan.ranks[::-1])))} == {"rank"}


@pytest.mark.parametrize("text", ['{"gpus": []}', '{"name": "a", "gpus": 1}', '{"gpus": [', '{"name": 1, "gpus": []}'])
def test_what_is_no_plan_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError):
        read_plan_json(text, source="x.json")


def test_a_schedule_that_fits_no_thread_block_is_told_with_the_limit() -> None:
    ranks = 24
    rows = [(0, src, src + 1, False, src, src) for src in range(ranks - 1)]
    fan = [(0, 0, dst, False, 0, dst) for dst in range(1, ranks)]
    demand = Demand(op_named("broadcast"), ranks, 1)
    assert plan_of(schedule_of(switch_topology(ranks), demand, rows), size_bytes=SIZE)
    with pytest.raises(GaveUpError, match="23 memory channels; a thread block has 16"):
        plan_of(schedule_of(switch_topology(ranks), demand, fan), size_bytes=SIZE)
