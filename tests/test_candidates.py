"""Why the winner won, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.candidates import BASELINE, Candidate, Lowering, why_program, why_schedule

STAR = Candidate("routed trees", "star", 4, 32, cheap_s=9e-6)
CHAIN = Candidate("routed trees", "chain", 1, 8, cheap_s=8e-6)
RING = Candidate(BASELINE, "ring", 2, 64)


def lowered(candidate: Candidate, *seconds: float | None, limit: str | None = None, won: bool = False) -> Candidate:
    ways = tuple(Lowering(str(i + 1), value, limit) for i, value in enumerate(seconds))
    return replace(candidate, lowerings=ways, won=won)


@pytest.mark.parametrize(
    ("candidates", "why"),
    [
        ([lowered(STAR, 1e-5, won=True), CHAIN], "the only plan that was lowered"),
        (
            [lowered(STAR, 1e-5, won=True), lowered(CHAIN, 9e-6, limit="65 channels, tiny allows 2")],
            "the only one of 2 that fits the runtime",
        ),
        (
            [lowered(STAR, 2e-5, 1e-5, won=True), lowered(CHAIN, 1.2e-5)],
            "the fastest of 2 programs: 10 us; the next, chain (1 piece), takes 12 us",
        ),
        (
            [lowered(STAR, 1e-5), lowered(CHAIN, 1.005e-5, won=True)],
            "within 1 % of the fastest program (10.05 us against 10 us of star (4 pieces)), with fewer chunks "
            "(8 against 32)",
        ),
        (
            [lowered(replace(STAR, chunks=8), 1e-5), lowered(CHAIN, 1.005e-5, won=True)],
            "within 1 % of the fastest program (10.05 us against 10 us of star (4 pieces)), with as many chunks and "
            "the faster schedule",
        ),
        (
            [lowered(STAR, 1.5e-3), lowered(RING, 1.25e-3, won=True)],
            "the fastest of 2 programs: 1250.0 us; the next, star (4 pieces), takes 1500.0 us",
        ),
        (
            [lowered(STAR, 1e-3, won=True), lowered(RING, 2e-3)],
            "the fastest of 2 programs: 1000.0 us; the next, ring (2 lanes), takes 2000.0 us",
        ),
    ],
)
def test_one_sentence_says_why_a_program_won(candidates: list[Candidate], why: str) -> None:
    assert why_program(candidates) == why


@pytest.mark.parametrize(
    ("candidates", "why"),
    [
        ([replace(STAR, schedule_s=9e-6, won=True)], "the only plan"),
        ([CHAIN, replace(STAR, schedule_s=9e-6, won=True)], "the fastest list schedule of 2 plans"),
        (
            [replace(STAR, schedule_s=9e-6, won=True), replace(CHAIN, schedule_s=1e-5)],
            "the fastest of 2 schedules: 9 us; the next, chain (1 piece), takes 10 us",
        ),
    ],
)
def test_one_sentence_says_why_a_schedule_won(candidates: list[Candidate], why: str) -> None:
    assert why_schedule(candidates) == why


def test_a_record_has_the_best_program_and_all_that_were_made() -> None:
    ways = (Lowering("1", None, "deadlock in the dry run"), Lowering("2", 3e-6, None), Lowering("4", 2e-6, None))
    made = replace(STAR, lowerings=ways, schedule_s=1e-6, status="optimal", won=True).record()
    assert made == {
        "source": "routed trees", "status": "optimal", "plan": "star", "pieces": 4, "chunks": 32,
        "cheap_us": pytest.approx(9.0), "went_on": True, "schedule_us": pytest.approx(1.0),
        "program_us": pytest.approx(2.0), "channels": "4", "limit": None, "won": True,
        "lowerings": [
            {"channels": "1", "program_us": None, "limit": "deadlock in the dry run"},
            {"channels": "2", "program_us": pytest.approx(3.0), "limit": None},
            {"channels": "4", "program_us": pytest.approx(2.0), "limit": None},
        ],
    }  # fmt: skip


def test_the_limit_that_excluded_it_is_told() -> None:
    assert lowered(STAR, 1e-6, limit="too wide").record()["limit"] == "too wide"
    assert replace(STAR, limit="too many steps for a program").record()["limit"] == "too many steps for a program"
    assert (STAR.excluded_by, STAR.went_on) == (None, False)
