from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.simulate import fair_share
from syccl.simulate.fair_share import FairShare, max_min_rates


def test_a_lone_flow_gets_the_link_or_its_cap() -> None:
    assert max_min_rates([1], [[(0, 1.0)]], [5.0], [20.0]) == [5.0]
    assert max_min_rates([1], [[(0, 1.0)]], [50.0], [20.0]) == [20.0]


def test_flows_share_a_link_evenly() -> None:
    assert max_min_rates([2, 3], [[(0, 1.0)], [(0, 1.0)]], [10.0], [20.0, 20.0]) == pytest.approx([2.0, 2.0])


def test_what_a_capped_flow_leaves_goes_to_the_others() -> None:
    rates = max_min_rates([1, 3], [[(0, 1.0)], [(0, 1.0)]], [10.0], [1.0, 20.0])
    assert rates == pytest.approx([1.0, 3.0])


def test_two_bottlenecks_fill_one_after_the_other() -> None:
    # Textbook case: the long flow and two others share link 0 (9/3); link 1 has 20 - 3 left for its own flow.
    uses = [[(0, 1.0), (1, 1.0)], [(0, 1.0)], [(1, 1.0)]]
    assert max_min_rates([1, 2, 1], uses, [9.0, 20.0], [100.0] * 3) == pytest.approx([3.0, 3.0, 17.0])


def test_a_weight_counts_as_that_many_flows() -> None:
    assert max_min_rates([1, 1], [[(0, 3.0)], [(0, 1.0)]], [8.0], [100.0] * 2) == pytest.approx([2.0, 2.0])


def test_classes_without_flows_take_nothing() -> None:
    assert max_min_rates([0, 1], [[(0, 1.0)], [(0, 1.0)]], [8.0], [100.0] * 2) == pytest.approx([100.0, 8.0])


@st.composite
def shares(draw: st.DrawFn) -> tuple[list[list[tuple[int, float]]], list[float], list[float]]:
    resources, classes = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    weight = st.sampled_from([1.0, 2.0, 0.5])
    uses = [
        [(r, draw(weight)) for r in sorted(draw(st.sets(st.integers(0, resources - 1), min_size=1)))]
        for _ in range(classes)
    ]
    capacities = draw(st.lists(st.floats(1, 100), min_size=resources, max_size=resources))
    caps = draw(st.lists(st.sampled_from([5.0, 20.0]), min_size=classes, max_size=classes))
    return uses, capacities, caps


@given(shares(), st.data())
def test_every_flow_is_capped_or_largest_on_a_full_link(
    share: tuple[list[list[tuple[int, float]]], list[float], list[float]], data: st.DataObject
) -> None:
    uses, capacities, caps = share
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(uses), max_size=len(uses)))
    rates = max_min_rates(counts, uses, capacities, caps)
    loads = [0.0] * len(capacities)
    largest = [0.0] * len(capacities)
    for count, row, rate in zip(counts, uses, rates, strict=True):
        for resource, weight in row:
            loads[resource] += count * weight * rate
            largest[resource] = max(largest[resource], rate if count else 0.0)
    assert all(load <= capacity * (1 + 1e-8) for load, capacity in zip(loads, capacities, strict=True))
    for count, row, rate, cap in zip(counts, uses, rates, caps, strict=True):
        full = [r for r, _ in row if loads[r] >= capacities[r] * (1 - 1e-8) and rate >= largest[r] * (1 - 1e-8)]
        assert not count or full or rate == cap


@given(shares(), st.data())
def test_recomputing_a_part_equals_recomputing_all(
    share: tuple[list[list[tuple[int, float]]], list[float], list[float]], data: st.DataObject
) -> None:
    uses, capacities, caps = share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fair_share, "_SMALL", 0)
        parts = FairShare(capacities, uses, caps)
        for _ in range(6):
            k = data.draw(st.integers(0, len(uses) - 1))
            parts.counts[k] = data.draw(st.integers(0, 3))
            before = list(parts.rates)
            changed = parts.update([k])
            assert {i for i, rate in enumerate(parts.rates) if rate != before[i]} == set(changed)
            flowing = [i for i, count in enumerate(parts.counts) if count]
            patch.setattr(fair_share, "_SMALL", 32)
            whole = max_min_rates(parts.counts, uses, capacities, caps)
            patch.setattr(fair_share, "_SMALL", 0)
            assert [parts.rates[i] for i in flowing] == pytest.approx([whole[i] for i in flowing])
