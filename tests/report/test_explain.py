"""The account that ``--explain`` prints."""

from __future__ import annotations

from typing import Any

from syccl.report.explain import explained
from syccl.report.tables import Table, render


def candidate(plan: str, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "source": "routed trees", "plan": plan, "pieces": 4, "chunks": 32, "cheap_us": 1.0, "went_on": False,
        "schedule_us": None, "program_us": None, "channels": None, "limit": None, "won": False, "lowerings": [],
    }  # fmt: skip
    return made | changes


def shown(account: dict[str, Any]) -> dict[str, str]:
    return {title: part if isinstance(part, str) else render(part) for title, part in explained(account)}


def test_the_sentence_comes_first_and_single_values_last() -> None:
    account = {"plans": 3, "candidates": [candidate("star", won=True)], "why": "the only plan", "winner": "star"}
    assert list(shown(account)) == ["why", "candidates", "search"]
    assert shown(account)["why"] == "star: the only plan"
    assert shown(account)["search"] == "plans  3"


def test_the_winner_leads_then_programs_by_time_then_what_came_less_far() -> None:
    account = {
        "candidates": [
            candidate("cheap", cheap_us=0.5),
            candidate("slow", went_on=True, schedule_us=1.0, program_us=20.0, channels="2"),
            candidate("broken", went_on=True, schedule_us=1.0, limit="9 channels, tiny allows 8"),
            candidate("near", went_on=True, schedule_us=1.0, program_us=9.95, channels="2"),
            candidate("best", went_on=True, schedule_us=1.25, program_us=10.0, channels="1+1", won=True),
        ]
    }
    lines = shown(account)["candidates"].splitlines()
    assert lines[0].split("  ")[0] == "plan"
    assert [line.split()[0] for line in lines[1:]] == ["best", "near", "slow", "broken", "cheap"]
    assert lines[1].split()[-5:] == ["1.00", "1.25", "10.00", "1+1", "won"]
    assert lines[4].endswith("9 channels, tiny allows 8")
    assert lines[5].endswith("not tried further")


def test_columns_without_a_value_are_left_out() -> None:
    lines = shown({"candidates": [candidate("star", schedule_us=1.0, went_on=True, won=True)]})["candidates"]
    assert lines.splitlines()[0].split() == [
        "plan", "made", "by", "pieces", "chunks", "cheap", "us", "schedule", "us", "outcome",
    ]  # fmt: skip


def test_of_many_candidates_the_rest_is_counted() -> None:
    lines = shown({"candidates": [candidate(f"p{i}", cheap_us=float(i)) for i in range(20)]})["candidates"]
    assert len(lines.splitlines()) == 1 + 12 + 1
    assert lines.splitlines()[-1] == "8 more plans (--json lists all)"


def test_what_the_solvers_did_is_counted_in_words() -> None:
    account = {"sub_demands_cp_sat": 3, "sub_demands_ended": {"optimal": 2, "gave up": 1}, "lp_value_s_per_byte": None}
    assert shown(account)["search"].splitlines() == [
        "sub-demands by CP-SAT   3",
        "how these ended         2 optimal, 1 gave up",
        "best mix of trees, s/B  -",
    ]


def test_without_an_account_there_is_nothing_to_print() -> None:
    assert explained({}) == []
    assert isinstance(explained({"plans": 1})[0][1], Table)
