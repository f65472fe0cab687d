"""What bound tells."""

from __future__ import annotations

import pytest

from syccl.bounds import Bound, Cut
from syccl.collective import op_named
from syccl.report.bound import BoundAnswer, bound_record, bound_table
from syccl.symmetry import trivial_group
from tests.strategies import ring

RING = ring(4)
BOUND = Bound(2e-5, 1e-6, 3e-5, Cut((0,), (0,), 25_000_000_000), "both together")
ANSWER = BoundAnswer(RING, op_named("broadcast"), 2, 2**20, trivial_group(RING), BOUND)


def test_the_record_holds_every_term_in_microseconds() -> None:
    values = bound_record(ANSWER)
    names = ("bound_us", "bandwidth_bound_us", "latency_bound_us", "combined_bound_us")
    assert [values[name] for name in names] == pytest.approx([30, 20, 1, 30])
    assert (values["root"], values["cut_ranks"], values["cut_links"]) == (2, [0], [RING.link_name(0)])


def test_the_table_names_term_and_root() -> None:
    rows = dict(bound_table(ANSWER).rows)
    assert rows["op"] == "broadcast, root 2"
    assert rows["bound"] == "30 us by both together, a proved formula"
