"""Answers to sub-demands that were found before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.optimize.choice import Choice
from syccl.optimize.status import Status
from syccl.solve import remember
from syccl.solve.remember import Solution, question_of, solve
from syccl.solve.subdemand import Arc, SubDemand, key_of
from syccl.store import Store
from tests.solve.test_subdemand import renamed, switch

EFFORT = 1.0


@st.composite
def demands(draw: st.DrawFn) -> SubDemand:
    """Small groups in which every member reaches every other one over a ring, and over some more arcs."""
    n = draw(st.integers(2, 4))
    pairs = {(v, (v + 1) % n) for v in range(n)}
    pairs |= set(draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1]))))
    times = st.sampled_from([1e-6, 2e-6, 5e-6])
    arcs = [
        Arc(u, v, tuple(sorted(draw(st.dictionaries(st.integers(0, 3), times, max_size=2)).items())), draw(times))
        for u, v in sorted(pairs)
    ]
    held = st.dictionaries(st.integers(0, n - 1), st.sampled_from([0.0, 3e-6]), min_size=1, max_size=n)
    return SubDemand(n, tuple(arcs), tuple(draw(st.lists(held, min_size=1, max_size=3))))


class Forgetful(Store):
    """Counts what is asked and told, and forgets it."""

    def __init__(self, answers: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.answers = dict(answers or {})
        self.written: dict[str, str] = {}

    def read(self, question: str) -> str | None:
        return self.answers.get(question)

    def write(self, question: str, answer: str) -> None:
        self.written[question] = answer


def plain(solution: Solution) -> tuple[object, ...]:
    """All of a solution but where it came from."""
    return solution.status, solution.parents, solution.makespan_s, solution.bound_s


@settings(max_examples=15)
@given(demands(), st.integers(0, 99))
def test_the_same_demand_under_other_names_is_found_again_with_the_same_answer(demand: SubDemand, seed: int) -> None:
    other, member, piece = renamed(demand, seed)
    store = Store()
    first = solve(demand, store, effort=EFFORT)
    again = solve(other, store, effort=EFFORT)
    afresh = solve(other, Store(), effort=EFFORT)
    assert (first.is_recalled, again.is_recalled, afresh.is_recalled) == (False, True, False)
    assert plain(again) == plain(afresh)
    assert (again.status, again.makespan_s, again.bound_s) == (first.status, first.makespan_s, first.bound_s)
    for i, held in enumerate(demand.holders):
        tree = again.parents[piece[i]]
        assert set(tree) == {member[v] for v in range(demand.members) if v not in held}
        for child, parent in tree.items():
            assert any((arc.src, arc.dst) == (parent, child) for arc in other.arcs)


@settings(max_examples=15)
@given(demands(), demands())
def test_demands_that_differ_do_not_share_an_answer(one: SubDemand, other: SubDemand) -> None:
    store = Store()
    solve(one, store, effort=EFFORT)
    assert solve(other, store, effort=EFFORT).is_recalled == (key_of(one)[0] == key_of(other)[0])


def test_another_process_finds_it_on_disk(tmp_path: Path) -> None:
    demand = switch(4, [{0: 0.0}, {1: 0.0}])
    first = solve(demand, Store(tmp_path), effort=EFFORT)
    again = solve(demand, Store(tmp_path), effort=EFFORT)
    assert again.is_recalled
    assert plain(again) == plain(first)


def test_the_question_names_all_that_the_answer_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = key_of(switch(3, [{0: 0.0}]))
    questions = [question_of(key, 1.0), question_of(key, 2.0), question_of(key_of(switch(3, [{0: 1e-6}]))[0], 1.0)]
    for name, value in {"__version__": "0.0", "_METHOD": -1, "solver_version": lambda: "1.2.3"}.items():
        with monkeypatch.context() as patch:
            patch.setattr(remember, name, value)
            questions.append(question_of(key, 1.0))
    assert len(set(questions)) == 6
    assert all(json.loads(question) for question in questions)


def wrong_answers() -> list[str]:
    """Answers that do not serve three members of a switch with a piece from member 0, or not as they say."""
    store = Forgetful()
    solve(switch(3, [{0: 0.0}]), store, effort=EFFORT)
    (text,) = store.written.values()
    status, ways, starts, makespan, bound = json.loads(text)
    wrong = [
        ["no such word", ways, starts, makespan, bound],
        [status, ways, starts, makespan - 1, bound - 1],
        [status, ways, starts, makespan + 1, bound],
        [status, ways, starts, makespan, makespan + 1],
        [status, ways[:1], starts[:1], makespan, bound],
        [status, [9, 9], starts, makespan, bound],
        [status, [-1, -1], starts, makespan, bound],
        [status, [1, 1], [0, 0], makespan, bound],
        [status, ways, [0, 0], makespan, bound],
        [status, ways, [-1, -1], makespan, bound],
        ["infeasible", ways, starts, makespan, bound],
        [status, ways, starts, makespan],
        [status, ways, starts, None, bound],
        {"status": status},
        7,
    ]
    return ["", "no JSON", *map(json.dumps, wrong)]


@pytest.mark.parametrize("wrong", wrong_answers())
def test_an_answer_that_does_not_do_what_it_says_is_dropped(wrong: str) -> None:
    demand = switch(3, [{0: 0.0}])
    known = Forgetful()
    right = solve(demand, known, effort=EFFORT)
    store = Forgetful(dict.fromkeys(known.written, wrong))
    found = solve(demand, store, effort=EFFORT)
    assert not found.is_recalled
    assert plain(found) == plain(right)
    assert store.written == known.written


def test_what_a_clock_cut_off_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> Choice:
        return Choice(Status.GAVE_UP, (), (), 0, 0, is_cut=True)

    demand, store = switch(4, [{0: 0.0}]), Forgetful()
    with monkeypatch.context() as patch:
        patch.setattr(remember, "choose", late)
        found = solve(demand, store, effort=EFFORT, limit_s=0.0)
    assert (found.status, found.is_cut, store.written) == (Status.FEASIBLE, True, {})
    assert not solve(demand, store, effort=EFFORT).is_cut
    assert len(store.written) == 1


def test_an_answer_of_the_solver_that_does_not_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "choose", lambda *_, **__: Choice(Status.OPTIMAL, (0, 0), (0, 0), 1, 1))
    found = solve(switch(3, [{0: 0.0}]), Store(), effort=EFFORT)
    assert (found.status, found.parents) == (Status.ERROR, ({},))


def test_a_member_that_nothing_reaches_makes_it_infeasible() -> None:
    one_way = SubDemand(3, (Arc(0, 1, (), 1e-6),), ({0: 0.0},))
    assert solve(one_way, Store(), effort=EFFORT).status is Status.INFEASIBLE
