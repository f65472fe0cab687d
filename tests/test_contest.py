"""The contest of plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.baselines import baseline_lanes
from syccl.contest import Choice, Rules, best_program, best_schedule, challenged
from syccl.errors import GaveUpError
from syccl.lowering.targets import EXECUTOR, Target
from syccl.planning import Plan, Problem, find_plans
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import PROTOCOLS
from syccl.topology import Topology
from tests.problems import problem_of
from tests.strategies import one_switch, two_servers

FEW_WAYS = 4 * 15 * 1001 * 16
"""Bytes that only few powers of two cut evenly, so that few plans are made."""


def found(topology: Topology, op: str, size_bytes: int) -> tuple[Problem, list[Plan]]:
    problem, pricing = problem_of(topology, op, size_bytes, most_hops=EXECUTOR.nodes - topology.ranks)
    return problem, find_plans(problem, pricing).plans


def program(problem: Problem, plans: list[Plan], target: Target = EXECUTOR, *, over: bool = False) -> Choice:
    return best_program(problem, plans, Rules(PROTOCOLS["Simple"], target, 1, lambda: over), lambda _: None)


@pytest.mark.parametrize("op", ["allgather", "allreduce"])
@pytest.mark.parametrize("size_bytes", [1 << 14, FEW_WAYS])
def test_the_fastest_program_wins_and_of_near_ones_that_of_fewest_chunks(op: str, size_bytes: int) -> None:
    problem, plans = found(two_servers(2), op, size_bytes)
    choice = program(problem, plans)
    assert choice.lowered is not None
    assert choice.lowered.excess is None
    tried = [float(t["program_us"]) for t in choice.trials if t["limit"] is None]  # type: ignore[arg-type]
    assert choice.lowered.seconds * 1e6 <= min(tried) * 1.01 * (1 + 1e-9)
    near = [t for t in choice.trials if t["limit"] is None and float(t["program_us"]) <= min(tried) * 1.01]
    assert choice.plan.count == min(int(t["pieces"]) for t in near)


def test_every_trial_tells_what_was_tried() -> None:
    choice = program(*found(one_switch(4), "allgather", 1 << 14))
    for trial in choice.trials:
        assert set(trial) == {"plan", "pieces", "schedule_us", "channels", "program_us", "limit"}
        assert float(trial["schedule_us"]) > 0  # type: ignore[arg-type]


def test_programs_that_break_a_limit_do_not_win() -> None:
    problem, plans = found(one_switch(4), "allgather", FEW_WAYS)
    free = program(problem, plans)
    most = max(plan.count for plan in plans)
    assert free.plan.count > 2
    tight = program(problem, plans, replace(EXECUTOR, name="tiny", chunks=4 * 2))
    assert tight.plan.count <= 2 < most
    assert any("tiny allows 8" in str(trial["limit"]) for trial in tight.trials)


def test_where_nothing_fits_the_limit_is_named() -> None:
    problem, plans = found(one_switch(4), "allgather", 1 << 12)
    with pytest.raises(GaveUpError, match=r"thread blocks, tiny allows 1; ask for a schedule instead"):
        program(problem, plans, replace(EXECUTOR, name="tiny", blocks=1))
    with pytest.raises(GaveUpError, match="every plan has too many steps"):
        program(replace(problem, most_hops=1), plans)


def test_the_first_program_is_taken_when_time_is_over() -> None:
    problem, plans = found(two_servers(2), "allgather", 1 << 16)
    choice = program(problem, plans, over=True)
    assert len({(t["plan"], t["pieces"]) for t in choice.trials}) == 1


def test_without_a_program_the_fastest_schedule_wins() -> None:
    problem, plans = found(two_servers(2), "allgather", 1 << 16)
    choice = best_schedule(problem, plans)
    assert choice.plan is plans[0]
    assert choice.lowered is None


def test_an_exchange_that_blocks_on_few_channels_is_given_more() -> None:
    problem, plans = found(one_switch(8), "allreduce", 1 << 12)
    exchange = next(plan for plan in plans if plan.name == "all to all")
    choice = program(problem, [exchange])
    stuck = [trial["channels"] for trial in choice.trials if trial["program_us"] is None]
    assert choice.lowered is not None
    assert choice.lowered.wiring.channels > max(int(str(channels)) for channels in stuck)
    assert choice.lowered.seconds <= 1.1 * exchange.seconds


def test_a_ring_takes_the_place_of_a_slower_program_that_it_is_selected_like() -> None:
    topology = one_switch(4)
    problem, plans = found(topology, "allreduce", 64 << 20)
    rules = Rules(PROTOCOLS["Simple"], EXECUTOR, 1, lambda: False)
    choice = program(problem, plans)
    assert choice.lowered is not None
    slow = replace(choice, lowered=replace(choice.lowered, seconds=1.0))
    lanes = list(baseline_lanes(topology, problem.op, problem.islands, size_bytes=problem.size_bytes))
    won = challenged(slow, problem, rules, lanes)
    assert won.lowered is not None
    assert won.winner.startswith(("ring", "tree"))
    assert won.is_baseline
    assert not choice.is_baseline
    assert won.lowered.seconds < 1.0
    assert verify_schedule(won.schedule) == ()
    fast = replace(choice, lowered=replace(choice.lowered, seconds=0.0))
    assert challenged(fast, problem, rules, lanes).winner == choice.winner
