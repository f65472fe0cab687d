"""The constraint program over optional intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.optimize.choice import Choice, Way, choose
from syccl.optimize.status import Status


def way(ticks: int, *, on: int = 0, after: int = -1, release: int = 0, delay: int = 0) -> Way:
    return Way(after, release, ((on, ticks),) if ticks else (), delay)


def check(items: Sequence[Sequence[Way]], found: Choice) -> None:
    """Whether the starts of a choice keep to releases, predecessors and resources, and its makespan is theirs."""
    taken = [ways[i] for ways, i in zip(items, found.ways, strict=True)]
    done = [start + w.length for start, w in zip(found.starts, taken, strict=True)]
    for start, w in zip(found.starts, taken, strict=True):
        assert start >= w.release
        assert w.after < 0 or start >= done[w.after]
    spans = [
        (resource, start, start + ticks)
        for start, w in zip(found.starts, taken, strict=True)
        for resource, ticks in w.uses
        if ticks
    ]
    for (r, begin, end), (other, start, stop) in itertools.combinations(spans, 2):
        assert r != other or end <= start or stop <= begin
    assert found.makespan == max(done, default=0)
    assert found.bound <= found.makespan


def least(items: Sequence[Sequence[Way]]) -> int:
    """The least makespan over all ways and all orders of items, each item as early as the ones before it allow."""
    best = 10**9
    for taken in itertools.product(*items):
        for order in itertools.permutations(range(len(items))):
            done: dict[int, int] = {}
            free: dict[int, int] = {}
            for item in order:
                w = taken[item]
                if w.after >= 0 and w.after not in done:
                    break
                start = max([w.release, done.get(w.after, 0), *(free.get(r, 0) for r, _ in w.uses)])
                free.update({r: start + ticks for r, ticks in w.uses})
                done[item] = start + w.length
            else:
                best = min(best, max(done.values(), default=0))
    return best


def test_the_shorter_way_is_taken() -> None:
    items = [[way(7), way(3, on=1), way(4, on=2)]]
    found = choose(items, horizon=10)
    assert (found.status, found.ways, found.makespan, found.bound) == (Status.OPTIMAL, (1,), 3, 3)


def test_one_machine_takes_the_sum_and_two_share_it() -> None:
    one = [[way(3)], [way(4)], [way(5)]]
    both = [[way(3), way(3, on=1)], [way(4), way(4, on=1)], [way(5), way(5, on=1)]]
    assert choose(one, horizon=20).makespan == 12
    assert choose(both, horizon=20).makespan == 7


def test_release_predecessor_and_delay_are_kept() -> None:
    items = [[way(2, release=5, delay=3)], [way(4, on=1, after=0, delay=1)]]
    found = choose(items, horizon=30)
    assert (found.starts, found.makespan) == ((5, 10), 15)
    check(items, found)


@pytest.mark.parametrize(("ranks", "rounds"), [(2, 1), (4, 2), (5, 3), (8, 3)])
def test_a_broadcast_without_latency_doubles_every_round(ranks: int, rounds: int) -> None:
    item = {rank: rank - 1 for rank in range(1, ranks)}
    items = [
        [Way(item.get(src, -1), 0, ((src, 1), (100 + dst, 1)), 0) for src in range(ranks) if src != dst]
        for dst in range(1, ranks)
    ]
    found = choose(items, horizon=ranks, effort=10.0)
    assert (found.status, found.makespan) == (Status.OPTIMAL, rounds)
    check(items, found)


def test_a_horizon_that_is_too_short_is_proved_infeasible() -> None:
    assert choose([[way(3)], [way(3)]], horizon=5) == Choice(Status.INFEASIBLE, (), (), 0, 0)


def test_without_effort_there_is_no_answer_or_the_hint() -> None:
    items = [[way(k % 5 + 1, on=r) for r in range(3)] for k in range(12)]
    found = choose(items, horizon=200, effort=0.0)
    assert found.status in {Status.GAVE_UP, Status.FEASIBLE}


def test_nothing_to_do_takes_no_time() -> None:
    assert choose([], horizon=0) == Choice(Status.OPTIMAL, (), (), 0, 0)


@st.composite
def problems(draw: st.DrawFn) -> list[list[Way]]:
    small = st.integers(0, 4)
    items = []
    for i in range(draw(st.integers(1, 4))):
        ways = []
        for _ in range(draw(st.integers(1, 2))):
            uses = tuple(sorted(draw(st.dictionaries(st.integers(0, 2), small, max_size=2)).items()))
            ways.append(Way(draw(st.integers(-1, i - 1)), draw(small), uses, draw(st.integers(1, 3))))
        items.append(ways)
    return items


@settings(max_examples=20)
@given(problems(), st.booleans())
def test_the_answer_is_the_best_of_all(items: list[list[Way]], hinted: bool) -> None:
    horizon = sum(max(w.release + w.length for w in ways) for ways in items)
    found = choose(items, horizon=horizon, hint=[(0, 0)] * len(items) if hinted else None, effort=10.0)
    assert found.status is Status.OPTIMAL
    assert found.makespan == found.bound == least(items)
    check(items, found)
