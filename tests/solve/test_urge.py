"""Orders that are mended by lateness."""

from __future__ import annotations

import pytest

from syccl.solve.list_schedule import JobShop, list_schedule
from syccl.solve.urge import urged

# One link for three short jobs, of which the last has much to follow on a link of its own.
SHOP = JobShop([((0, 1.0),), ((0, 1.0),), ((0, 1.0),), ((1, 5.0),)], [0.0, 0.0, 0.0, 0.0], [[], [], [], [2]])


def test_what_leads_to_something_late_goes_first_in_the_end() -> None:
    priority = [0.5, 0.4, 0.0, 0.0]
    assert list_schedule(SHOP, priority).makespan_s == pytest.approx(8.0)
    assert urged(SHOP, SHOP, priority, due_s=6.0, tries=1).makespan_s == pytest.approx(8.0)
    assert urged(SHOP, SHOP, priority, due_s=6.0, tries=8).makespan_s == pytest.approx(6.0)


def test_links_that_do_not_decide_who_goes_first_still_count() -> None:
    rivals = JobShop([uses if uses[0][0] == 0 else () for uses in SHOP.uses], SHOP.latency_s, SHOP.after)
    assert urged(SHOP, rivals, [0.0, 0.0, 1.0, 0.0], due_s=0.0, tries=3).makespan_s == pytest.approx(6.0)
