"""Segments against all ways there are, and the bytes between them."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.program.selection import Selection
from syccl.tuning.segments import ByteRange, Segment, best_times, byte_ranges, fewest_segments

Table = list[list[float | None]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Times of up to four candidates at up to six sizes; many within 2 % of each other, some missing."""
    candidates, sizes = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    cell = st.one_of(st.none(), st.sampled_from([1.0, 1.0, 1.01, 1.015, 1.02, 1.021, 1.5, 3.0]))
    return [draw(st.lists(cell, min_size=sizes, max_size=sizes)) for _ in range(candidates)]


def cheapest(times: Table) -> tuple[int, float]:
    """Fewest segments and least sum of ratios, over every choice of a candidate for every size."""
    best = best_times(times)
    served = [i for i, time in enumerate(best) if time is not None]
    found = []
    for choice in product(range(len(times)), repeat=len(served)):
        ratios = []
        for i, c in zip(served, choice, strict=True):
            time, least = times[c][i], best[i]
            if time is None or least is None or time > 1.02 * least:
                break
            ratios.append(time / least)
        else:
            found.append((sum(a != b for a, b in pairwise(choice)) + bool(choice), round(sum(ratios), 6)))
    return min(found)


@given(tables())
def test_segments_are_the_fewest_and_then_the_fastest(times: Table) -> None:
    segments, best = fewest_segments(times), best_times(times)
    total = 0.0
    for segment in segments:
        for i in range(segment.first, segment.last + 1):
            time, least = times[segment.candidate][i], best[i]
            if least is not None:
                assert time is not None
                total += time / least
    assert (len(segments), round(total, 6)) == cheapest(times)


@given(tables())
def test_every_served_size_is_in_one_segment_within_two_percent(times: Table) -> None:
    segments, best = fewest_segments(times), best_times(times)
    assert all(one.last < other.first for one, other in pairwise(segments))
    for i, least in enumerate(best):
        owners = [segment for segment in segments if segment.first <= i <= segment.last]
        assert len(owners) == 1 or least is None
        if least is not None:
            time = times[owners[0].candidate][i]
            assert time is not None
            assert least <= time <= 1.02 * least


def test_one_program_for_all_beats_the_best_at_every_size() -> None:
    assert fewest_segments([[1.0, 2.0], [1.01, 1.0]]) == (Segment(0, 1, 1),)


def test_of_equally_many_the_fastest_is_taken_then_the_first() -> None:
    assert fewest_segments([[1.01, 1.01], [1.0, 1.0], [1.0, 1.0]]) == (Segment(0, 1, 1),)


def test_a_program_may_come_back() -> None:
    assert [s.candidate for s in fewest_segments([[1.0, 9.0, 1.0], [9.0, 1.0, 9.0]])] == [0, 1, 0]


def test_nothing_to_send_takes_no_time_and_one_program() -> None:
    assert fewest_segments([[0.0, 0.0], [0.0, 0.0]]) == (Segment(0, 1, 0),)


def test_where_nothing_is_selected_there_are_no_segments() -> None:
    assert fewest_segments([[None, None]]) == ()
    assert byte_ranges((), (4, 8), (4,), [[None, None]]) == ()


SIZES = (64, 128, 256)
TWO = (Segment(0, 0, 0), Segment(1, 2, 1))


@pytest.mark.parametrize(
    ("units", "border"),
    [((4, 32), 127), ((32, 4), 64)],
    ids=["to the program before", "to the program after"],
)
def test_sizes_in_between_go_to_the_program_selected_for_more(units: tuple[int, int], border: int) -> None:
    times = [[1.0, 5.0, 9.0], [3.0, 4.0, 5.0]]
    assert byte_ranges(TWO, SIZES, units, times) == (ByteRange(64, border), ByteRange(border + 1, 256))


@pytest.mark.parametrize(
    ("at_low", "at_high", "border"),
    [((1.0, 3.0), (5.0, 4.0), 64 + 42), ((1.0, 2.0), (3.0, 2.0), 64 + 32), ((1.0, 1.0), (1.0, 1.0), 127)],
)
def test_between_equal_units_the_border_is_where_the_lines_cross(
    at_low: tuple[float, float], at_high: tuple[float, float], border: int
) -> None:
    times = [[at_low[0], at_high[0], 9.0], [at_low[1], at_high[1], 5.0]]
    assert byte_ranges(TWO, SIZES, (4, 4), times)[0] == ByteRange(64, border)


def test_a_program_that_never_ends_at_the_next_size_gets_nothing_in_between() -> None:
    assert byte_ranges(TWO, SIZES, (4, 32), [[1.0, None, None], [3.0, 4.0, 5.0]])[0] == ByteRange(64, 64)


@given(tables(), st.data())
def test_ranges_touch_and_runtimes_select_every_size_once(times: Table, data: st.DataObject) -> None:
    sizes = [32 << i for i in range(len(times[0]))]
    units = [data.draw(st.sampled_from([4, 8, 32])) for _ in times]
    segments = fewest_segments(times)
    ranges = byte_ranges(segments, sizes, units, times)
    assert all(one.max_bytes + 1 == other.min_bytes for one, other in pairwise(ranges))
    assert all(limits.min_bytes <= limits.max_bytes for limits in ranges)
    for segment, limits in zip(segments, ranges, strict=True):
        chosen = Selection(units[segment.candidate], limits.min_bytes, limits.max_bytes)
        taken = {i for i, size in enumerate(sizes) if chosen.takes(size)}
        inside = set(range(segment.first, segment.last + 1))
        assert (
            {segment.first, segment.last}
            <= taken
            <= inside | {i for i, time in enumerate(best_times(times)) if time is None}
        )
