"""Channels for connections of unequal work."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.lowering.channels import Work, divided, shared_seconds, work_of
from syccl.lowering.tasks import ends_of
from syccl.lowering.wiring import Wiring
from syccl.schedule import Schedule, expand
from syccl.simulate.cost import PROTOCOLS, THREAD_BLOCK_RATE
from syccl.simulate.profile import costs_of
from tests.schedule.tiny import RATE, chain_broadcast, rail_allreduce, star_allgather

connections = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda pair: pair[0] != pair[1]),
    st.integers(1, 90),
    min_size=1,
)


def seconds(schedule: Schedule) -> dict[tuple[int, int], float]:
    ends = ends_of(schedule, Wiring(1))
    costs = costs_of(schedule.topology, PROTOCOLS["Simple"])
    return shared_seconds(schedule, ends, work_of(schedule, ends), costs)


def work(rows: dict[tuple[int, int], int]) -> Work:
    return Work(Counter(rows), Counter(rows), {(a, b): (b, a) for a, b in rows})


def test_flows_from_one_gpu_share_its_link() -> None:
    whole = expand(star_allgather(4))
    assert seconds(whole) == {(a, b): pytest.approx(3 / RATE) for a in range(4) for b in range(4) if a != b}


def test_what_a_block_moves_is_the_least() -> None:
    schedule = chain_broadcast(3, 5)
    assert 1 / RATE > 1 / THREAD_BLOCK_RATE
    assert seconds(schedule) == {(0, 1): pytest.approx(5 / RATE), (1, 2): pytest.approx(5 / RATE)}


def test_the_quotient_says_the_same_as_the_whole() -> None:
    schedule = rail_allreduce(3, 2)
    whole = seconds(expand(schedule))
    for connection, own in seconds(schedule).items():
        assert whole[connection] == pytest.approx(own)


@given(connections, st.integers(1, 20), st.integers(4, 60))
def test_no_channel_has_more_than_the_limit_where_there_is_room(
    rows: dict[tuple[int, int], int], limit: int, most_rows: int
) -> None:
    found = divided(work(rows), rows, [limit], most_rows=most_rows, room=10**6)
    assert [connection[:2] for connection in found] == sorted(rows)
    for rank, peer, count in found:
        share = rows[rank, peer] / count
        assert share <= min(limit, most_rows)
        assert count == 1 or rows[rank, peer] / (count - 1) > min(limit, most_rows)


@given(connections, st.integers(6, 200))
def test_the_first_limit_that_fits_is_taken(rows: dict[tuple[int, int], int], room: int) -> None:
    limits = [4, 8, 16, 32, 64]

    def blocks(limit: int) -> int:
        needed: Counter[int] = Counter()
        for (rank, peer), count in rows.items():
            needed[rank] += -(-count // limit)
            needed[peer] += -(-count // limit)
        return max(needed.values())

    fitting = next((limit for limit in limits if blocks(limit) <= room), limits[-1])
    found = divided(work(rows), rows, limits, most_rows=90, room=room)
    assert {(rank, peer): count for rank, peer, count in found} == {end: -(-n // fitting) for end, n in rows.items()}


def test_uneven_work_is_told_from_even() -> None:
    assert not work({(0, 1): 5, (1, 0): 6}).is_uneven
    assert work({(0, 1): 4, (1, 0): 6}).is_uneven
