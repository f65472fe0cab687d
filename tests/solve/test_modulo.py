from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.solve.list_schedule import JobShop, in_order
from syccl.solve.modulo import modulo_schedule


def chain(hops: int, seconds: float, latency_s: float) -> JobShop:
    """A piece that passes links one after the other, each link its own."""
    return JobShop(
        [((i, seconds),) for i in range(hops)], [latency_s] * hops, [[i - 1] if i else [] for i in range(hops)]
    )


def repeated(shop: JobShop, rounds: int) -> JobShop:
    jobs = len(shop.uses)
    after = [[before + turn * jobs for before in waits] for turn in range(rounds) for waits in shop.after]
    return JobShop(list(shop.uses) * rounds, list(shop.latency_s) * rounds, after)


def test_rounds_on_a_line_follow_one_another_as_soon_as_the_first_link_is_free():
    found = modulo_schedule(chain(4, 3.0, 0.5))
    assert found.period_s == pytest.approx(3.0)
    assert found.makespan_s == pytest.approx(4 * 3.5, rel=1e-5)
    assert found.seconds(10) == pytest.approx(9 * 3.0 + 4 * 3.5, rel=1e-5)


def test_jobs_that_meet_on_two_faces_fill_both_without_a_gap():
    uses = [((s, 1.0), (3 + r, 1.0)) for s in range(3) for r in range(3)]
    found = modulo_schedule(JobShop(uses, [0.0] * 9, [[]] * 9))
    assert found.period_s == pytest.approx(3.0)
    assert found.makespan_s == pytest.approx(3.0, rel=1e-5)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(3, 5), st.integers(1, 4)), min_size=1, max_size=8))
def test_rounds_started_every_period_never_meet_on_a_link(jobs):
    uses = [((out, float(ticks)), (into, float(ticks))) for out, into, ticks in jobs]
    after = [[i - 1] if i % 3 else [] for i in range(len(jobs))]
    shop = JobShop(uses, [0.25] * len(jobs), after)
    found = modulo_schedule(shop)
    rounds, n = 4, len(jobs)
    begins = [found.start_s[i % n] + (i // n) * found.period_s for i in range(rounds * n)]
    for link in range(6):
        spans = sorted((begins[i], begins[i] + s) for i in range(rounds * n) for r, s in uses[i % n] if r == link)
        assert all(a[1] <= b[0] + 1e-4 for a, b in itertools.pairwise(spans))
    order = sorted(range(rounds * n), key=lambda i: (begins[i], i))
    assert in_order(repeated(shop, rounds), order).makespan_s <= found.seconds(rounds) * (1 + 1e-4)
