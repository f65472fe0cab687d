"""The contest of plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.baselines import baseline_lanes
from syccl.candidates import Candidate
from syccl.clock import Clock
from syccl.collective import OPS
from syccl.contest import Choice, Rules, best_program, best_schedule, challenged
from syccl.errors import GaveUpError
from syccl.pipeline import Options, synthesize
from syccl.planning import Plan, Problem, find_plans
from syccl.planning.problem import make_plan
from syccl.program.targets import EXECUTOR, Target
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.schedule_time import schedule_time
from syccl.topology import Topology
from tests.problems import problem_of
from tests.strategies import one_switch, two_servers

FEW_WAYS = 4 * 15 * 1001 * 16
"""Bytes that only few powers of two cut evenly, so that few plans are made."""


def found(topology: Topology, op: str, size_bytes: int) -> tuple[Problem, list[Plan]]:
    problem, pricing = problem_of(topology, op, size_bytes, most_hops=EXECUTOR.nodes - topology.ranks)
    return problem, find_plans(problem, pricing).plans


def program(problem: Problem, plans: list[Plan], target: Target = EXECUTOR, *, limit_s: float | None = None) -> Choice:
    return best_program(problem, plans, Rules(PROTOCOLS["Simple"], target, 1, Clock(limit_s)), lambda _: None)


def fitting(choice: Choice) -> list[tuple[float, Candidate]]:
    """Program time in seconds of every candidate that fits."""
    return [(one.best.seconds, one) for one in choice.candidates if one.best is not None and one.best.seconds]


@pytest.mark.parametrize("op", ["allgather", "allreduce"])
@pytest.mark.parametrize("size_bytes", [1 << 14, FEW_WAYS])
def test_the_fastest_program_wins_and_of_near_ones_that_of_fewest_chunks(op: str, size_bytes: int) -> None:
    problem, plans = found(two_servers(2), op, size_bytes)
    choice = program(problem, plans)
    assert choice.lowered is not None
    fastest = min(seconds for seconds, _ in fitting(choice))
    assert choice.lowered.seconds <= fastest * 1.01 * (1 + 1e-9)
    near = [one for seconds, one in fitting(choice) if seconds <= fastest * 1.01]
    assert choice.plan.count == min(one.pieces for one in near)


def test_every_plan_is_told_of_and_the_best_went_on() -> None:
    problem, plans = found(one_switch(4), "allgather", 1 << 14)
    choice = program(problem, plans)
    assert [(one.name, one.pieces, one.cheap_s) for one in choice.candidates] == [
        (plan.name, plan.count, plan.seconds) for plan in plans
    ]
    assert [one.name for one in choice.candidates if one.won] == [choice.winner] == [choice.plan.name]
    for one in choice.candidates:
        assert one.went_on == bool(one.lowerings) == (one.schedule_s is not None)
        assert one.source in {"routed trees", "integer program", "staged sketches", "least latency"}
        if one.schedule_s is not None:
            assert one.schedule_s == pytest.approx(one.cheap_s)


def test_programs_that_break_a_limit_do_not_win() -> None:
    problem, plans = found(one_switch(4), "allgather", FEW_WAYS)
    free = program(problem, plans)
    most = max(plan.count for plan in plans)
    assert free.plan.count > 2
    tight = program(problem, plans, replace(EXECUTOR, name="tiny", chunks=4 * 2))
    assert tight.plan.count <= 2 < most
    assert any("tiny allows 8" in str(one.excluded_by) for one in tight.candidates)
    assert all((one.excluded_by is None) == (one.best is not None) for one in tight.candidates if one.went_on)


def test_where_nothing_fits_the_limit_is_named() -> None:
    problem, plans = found(one_switch(4), "allgather", 1 << 12)
    with pytest.raises(GaveUpError, match=r"thread blocks, tiny allows 1; ask for a schedule instead"):
        program(problem, plans, replace(EXECUTOR, name="tiny", blocks=1))
    with pytest.raises(GaveUpError, match="every plan has too many steps"):
        program(replace(problem, most_hops=1), plans)


def test_the_first_program_is_taken_when_time_is_over() -> None:
    problem, plans = found(two_servers(2), "allgather", 1 << 16)
    choice = program(problem, plans, limit_s=0.0)
    (tried,) = [one for one in choice.candidates if one.went_on]
    assert (tried.won, len(tried.lowerings)) == (True, 1)
    assert choice.why == "the only plan that was lowered"


def test_without_a_program_the_fastest_schedule_wins() -> None:
    problem, plans = found(two_servers(2), "allgather", 1 << 16)
    choice = best_schedule(problem, plans, Clock())
    timed = [one.schedule_s for one in choice.candidates if one.schedule_s is not None]
    assert len(timed) == min(3, len(plans))
    assert schedule_time(choice.schedule, size_bytes=1 << 16).seconds == min(timed)
    assert choice.lowered is None
    assert [one.went_on for one in best_schedule(problem, plans, Clock(0.0)).candidates].count(True) == 1


def test_an_exchange_that_blocks_on_few_channels_is_given_more() -> None:
    problem, plans = found(one_switch(8), "allreduce", 1 << 12)
    alike = next(plan for plan in plans if plan.name == "all to all")
    exchange = make_plan(problem, alike.name, (replace(alike.pieces[0], leaders=()),), 1)
    choice = program(problem, [exchange])
    stuck = [way.channels for one in choice.candidates for way in one.lowerings if way.seconds is None]
    assert choice.lowered is not None
    assert choice.lowered.wiring.channels > max(int(channels) for channels in stuck)
    assert choice.lowered.seconds <= 1.1 * exchange.seconds


def test_a_ring_takes_the_place_of_a_slower_program_that_it_is_selected_like() -> None:
    topology = one_switch(4)
    problem, plans = found(topology, "allreduce", 64 << 20)
    rules = Rules(PROTOCOLS["Simple"], EXECUTOR, 1, Clock())
    choice = program(problem, plans)
    assert choice.lowered is not None
    crawl = tuple(
        replace(one, lowerings=tuple(replace(w, seconds=1.0) for w in one.lowerings)) for one in choice.candidates
    )
    slow = replace(choice, lowered=replace(choice.lowered, seconds=1.0), candidates=crawl)
    lanes = list(baseline_lanes(topology, problem.op, problem.islands, size_bytes=problem.size_bytes))
    won = challenged(slow, problem, rules, lanes)
    assert won.lowered is not None
    assert won.winner.startswith(("ring", "tree"))
    assert won.is_baseline
    assert [one.name for one in won.candidates if one.won] == [won.winner]
    assert won.why.startswith("the fastest of ")
    assert not choice.is_baseline
    assert won.lowered.seconds < 1.0
    assert verify_schedule(won.schedule) == ()
    fast = replace(choice, lowered=replace(choice.lowered, seconds=0.0))
    assert challenged(fast, problem, rules, lanes).winner == choice.winner


def test_of_long_plans_the_one_whose_last_sums_are_short_goes_first() -> None:
    problem, plans = found(one_switch(8), "reducescatter", 1 << 30)
    choice = program(problem, plans)
    lowered = [one for one in choice.candidates if one.lowerings]
    assert len(lowered) >= 2
    left = [one for one in choice.candidates if not one.lowerings and one.limit is None]
    assert max(one.chunks for one in lowered) >= max((one.chunks for one in left), default=0)
    assert choice.lowered is not None
    assert choice.lowered.seconds < 1.06 * choice.plan.seconds


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_of_ops_with_a_root_the_best_plan_of_every_kind_is_lowered(op: str) -> None:
    made = synthesize(two_servers(3), OPS[op], Options(8 << 20, want_program=True))
    candidates = made.explain["candidates"]
    assert isinstance(candidates, list)
    kinds = {one["plan"] for one in candidates}
    assert len({one["plan"] for one in candidates if one["lowerings"]}) >= min(4, len(kinds)) > 1


@pytest.mark.parametrize("op", ["broadcast", "gather"])
def test_large_programs_with_a_root_are_hardly_slower_than_their_schedules(op: str) -> None:
    made = synthesize(one_switch(6), OPS[op], Options(64 << 20, want_program=True))
    assert made.program_time_s is not None
    assert made.program_time_s <= 1.08 * made.schedule_time_s
