"""Plans no longer than there is time for."""

from __future__ import annotations

import pytest

from syccl.clock import Clock
from syccl.planning import find_plans, hurried, hurry
from tests.problems import problem_of
from tests.strategies import two_servers

SIZE = 1 << 26


def test_without_a_limit_nothing_changes() -> None:
    problem, _ = problem_of(two_servers(4), "allgather", SIZE, most_hops=4000)
    clock = Clock()
    assert hurried(problem, clock) == (problem, clock)


@pytest.mark.parametrize("op", ["allgather", "allreduce"])
@pytest.mark.parametrize("most_hops", [None, 4000])
def test_the_less_time_the_fewer_pieces_and_at_least_the_fewest(
    op: str, most_hops: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hurry, "_LEAST_S", 0.0)
    problem, _ = problem_of(two_servers(4), op, SIZE, most_hops=most_hops)
    longest = []
    for limit_s in (0.0, 0.01, 0.1, 1e4):
        clock = Clock(limit_s)
        short, search = hurried(problem, clock)
        assert short.piece_counts == problem.piece_counts[: len(short.piece_counts)]
        assert clock.hit == (short.piece_counts != problem.piece_counts)
        assert search.began == clock.began
        assert search.limit_s is not None
        assert search.limit_s <= limit_s
        longest.append(short.piece_counts[-1])
    assert longest == sorted(longest)
    assert (longest[0], longest[-1]) == (problem.piece_counts[0], problem.piece_counts[-1])
    assert longest[0] < longest[-1]


def test_without_time_there_is_a_plan_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hurry, "_LEAST_S", 0.0)
    problem, pricing = problem_of(two_servers(4), "allgather", SIZE, most_hops=4000)
    clock = Clock(0.0)
    short, search = hurried(problem, clock)
    (plan,) = find_plans(short, pricing, clock=search).plans
    assert plan.count == 1
    assert clock.hit
