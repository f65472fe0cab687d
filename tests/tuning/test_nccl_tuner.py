"""Lines for NCCL's tuner plugin."""

from __future__ import annotations

import functools
import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given

from syccl.collective import op_named
from syccl.errors import InputError
from syccl.prepare import prepare
from syccl.topology.catalog import load_topology
from syccl.tuning.nccl_tuner import (
    HEADER,
    LONGEST_LINE,
    RANGE_END,
    TUNABLE,
    Way,
    best_way,
    handshakes_us,
    refined,
    tuner_lines,
)
from tests.strategies import one_switch

SIZES = tuple(1 << power for power in range(10, 28, 4))
ALGORITHMS, KNOWN_PROTOCOLS = {"ring", "tree"}, {"ll", "ll128", "simple"}


@functools.cache
def lines(name: str, op: str) -> list[list[str]]:
    text = list(tuner_lines(prepare(load_topology(name), op_named(op)), SIZES))
    assert text[0] == f"{HEADER}\n"
    assert all(len(line) <= LONGEST_LINE and " " not in line for line in text[1:])
    return [line.rstrip("\n").split(",") for line in text[1:]]


def choice(found: list[list[str]], op: str, size: int, nodes: str, ranks: str) -> list[str]:
    """What the plugin does: the first line that matches."""
    return next(
        line
        for line in found
        if line[0] == op
        and int(line[1]) <= size <= int(line[2])
        and line[6] in {nodes, "-1"}
        and line[7] in {ranks, "-1"}
    )


@pytest.mark.parametrize(("name", "op"), [("a100x16", "allreduce"), ("a100x8", "allgather")])
def test_every_size_has_one_line_with_known_words_and_channels(name: str, op: str) -> None:
    found = lines(name, op)
    for line in found:
        assert line[0] in TUNABLE
        assert line[3] in ALGORITHMS
        assert line[4] in KNOWN_PROTOCOLS
        assert 1 <= int(line[5]) <= 32
    own = [line for line in found if line[6] != "-1"]
    assert own[0][1] == "0"
    assert [int(after[1]) - int(before[2]) for before, after in itertools.pairwise(own)] == [1] * (len(own) - 1)
    assert [line[0] for line in found if line[6] == "-1"] == list(TUNABLE)


def test_a_call_gets_the_way_that_the_simulation_finds_fastest() -> None:
    prepared = prepare(load_topology("a100x16"), op_named("allreduce"))
    found = lines("a100x16", "allreduce")
    for size in SIZES:
        way = best_way(prepared, op_named("allreduce"), size)
        taken = choice(found, "allreduce", size, "2", "16")
        assert taken[3:6] == [way.algorithm, way.protocol.lower(), str(way.channels)]
    assert choice(found, "broadcast", 1 << 20, "2", "16")[3:5] == ["ring", "simple"]
    assert choice(found, "allreduce", 1 << 40, "9", "72")[3] in ALGORITHMS


@given(ends=st.lists(st.integers(1000, 1 << 30), min_size=1, max_size=4, unique=True).map(sorted))
def test_a_line_ends_where_another_way_becomes_the_best(ends: list[int]) -> None:
    def best_at(size: int) -> tuple[int, Way]:
        return size, Way("ring", "Simple", 1 + sum(end < size for end in ends))

    low, high = best_at(1000), best_at(1 << 30)
    found = [low, *refined(best_at, low, high)]
    assert found == sorted(found, key=lambda pair: pair[0])
    assert found[-1] == high
    for (small, before), (large, after) in itertools.pairwise(found):
        assert before == after or large <= RANGE_END * small


def test_small_calls_take_a_low_latency_protocol_and_large_ones_simple() -> None:
    found = lines("a100x8", "allgather")
    assert choice(found, "allgather", 1024, "1", "8")[4] == "ll"
    assert choice(found, "allgather", 1 << 26, "1", "8")[4] == "simple"


def test_handshakes_are_those_of_nccl() -> None:
    one, two = (prepare(load_topology(name), op_named("allreduce")) for name in ("a100x8", "a100x16"))
    allreduce, gather = op_named("allreduce"), op_named("allgather")
    assert handshakes_us(one, allreduce, Way("ring", "LL", 1)) == pytest.approx(6.6 + 14 * 0.6)
    assert handshakes_us(one, gather, Way("ring", "Simple", 1)) == pytest.approx(8.4 + 7 * 3.4)
    assert handshakes_us(two, allreduce, Way("ring", "LL128", 1)) == pytest.approx(14 + 28 * 1.9 + 2 * 4.0)
    assert handshakes_us(two, allreduce, Way("tree", "Simple", 1)) == pytest.approx(8.4 + 2 * (7 * 4.0 + 14.0))


def test_what_the_plugin_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="does not know alltoall"):
        list(tuner_lines(prepare(one_switch(3), op_named("alltoall")), (1024,)))
