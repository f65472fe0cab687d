"""The whole bound: held against schedules, proved optima, measured tables and laws."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.bounds import lower_bound
from syccl.bounds.window import QUICK
from syccl.collective import OPS
from syccl.errors import InfeasibleError, InputError
from syccl.symmetry.group import trivial_group
from syccl.topology import Link, Topology
from tests.bounds.clusters import Parts, a100, h800, islands_of, rotations
from tests.bounds.plans import random_time
from tests.strategies import gpus, one_switch, ring, scrambled, symmetric_topologies, topologies, two_servers

KIB = 1024
SIZES = (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
BACKWARDS = {"allgather": "reducescatter", "broadcast": "reduce", "scatter": "gather"}


def seconds(
    topology: Topology, op: str, size: int, islands: Parts | None = None, *, root: int = 0, windows: int = 0
) -> float:
    parts = islands or tuple((rank,) for rank in range(topology.ranks))
    group = trivial_group(topology)
    return lower_bound(
        topology, OPS[op], size_bytes=size, group=group, islands=parts, root=root, windows=windows
    ).seconds


def halves(n: int) -> Parts:
    return tuple(range(n // 2)), tuple(range(n // 2, n))


@given(
    topologies(min_gpus=2, max_gpus=5) | symmetric_topologies(),
    st.sampled_from(sorted(OPS)),
    st.sampled_from([100, 10_000, 100_000, 1_000_000]),
    st.booleans(),
    st.integers(0, 99),
)
def test_no_random_schedule_is_faster(topology: Topology, op: str, size: int, halved: bool, seed: int) -> None:
    if topology.ranks > 8:
        return
    rng = random.Random(seed)
    bound = seconds(topology, op, size, halves(topology.ranks) if halved else None, windows=QUICK)
    best = min(random_time(topology, op, size, rng, pieces=pieces) for pieces in (1, 1, 2))
    assert best >= bound * (1 - 1e-12)


@pytest.mark.parametrize("op", sorted(OPS))
@pytest.mark.parametrize("rails", [False, True])
def test_no_random_schedule_is_faster_between_servers(op: str, rails: bool) -> None:
    rng = random.Random(1)
    topology = two_servers(2, nics=2, nvlink_rate=60 * 10**9, nic_rate=25 * 10**9, rails=rails)
    for size in (1000, 30_000, 100_000, 300_000):
        best = min(random_time(topology, op, size, rng, pieces=pieces) for pieces in (1, 2, 3) for _ in range(8))
        assert best >= seconds(topology, op, size, halves(4), windows=QUICK) * (1 - 1e-12)


BEST_A100 = {
    "allgather": [5.06, 5.25, 5.74, 6.13, 7.67, 13.61],
    "allreduce": [5.82, 6.20, 6.78, 8.39, 12.47, 22.3],
    "alltoall": [5.06, 5.25, 5.98, 8.93, 20.73, 67.9],
    "broadcast": [5.75, 6.22, 6.76, 8.41, 13.1, 22.4],
    "scatter": [5.03, 5.12, 5.49, 6.05, 7.54, 13.67],
}
BEST_H800 = {
    "allgather": [6.00, 6.01, 6.05, 6.20, 6.81, 9.50],
    "allreduce": [6.07, 6.30, 7.05, 8.04, 11.66, 16.67],
    "alltoall": [6.01, 6.03, 6.13, 6.52, 9.59, 23.35],
    "broadcast": [6.16, 6.62, 7.29, 8.33, 12.3, 17.5],
    "scatter": [6.00, 6.01, 6.05, 6.22, 6.88, 9.77],
}
RATIO_A100 = {
    "allgather": [1.000, 1.000, 1.001, 1.005, 1.012, 1.010],
    "allreduce": [1.007, 1.003, 1.010, 1.024, 1.086, 1.017],
    "alltoall": [1.000, 1.000, 1.000, 1.000, 1.000, 1.000],
    "broadcast": [1.004, 1.038, 1.020, 1.037, 1.120, 1.147],
    "scatter": [1.000, 1.000, 1.000, 1.005, 1.007, 1.021],
}
RATIO_H800 = {
    "allgather": [1.001, 1.002, 1.008, 1.029, 1.014, 1.003],
    "allreduce": [1.011, 1.009, 1.002, 1.018, 1.088, 1.186],
    "alltoall": [1.000, 1.000, 1.000, 1.002, 1.000, 1.000],
    "broadcast": [1.024, 1.060, 1.037, 1.055, 1.145, 1.360],
    "scatter": [1.001, 1.002, 1.009, 1.032, 1.024, 1.031],
}
"""Best schedules known (us) at 1 KiB to 1 MiB, printed with two decimals, and their ratios to closed bounds."""


@pytest.mark.parametrize("op", sorted(BEST_A100))
@pytest.mark.parametrize("name", ["a100", "h800"])
def test_known_schedules_stand_to_the_bound_as_measured(op: str, name: str) -> None:
    servers, gpus_each, nics = (4, 8, 4) if name == "a100" else (8, 8, 8)
    topology = a100() if name == "a100" else h800()
    best, ratio = (BEST_A100, RATIO_A100) if name == "a100" else (BEST_H800, RATIO_H800)
    group, parts = rotations(topology, servers, gpus_each, nics), islands_of(servers, gpus_each)
    for way in (op, BACKWARDS.get(op, op)):
        for size, time_us, expected in zip(SIZES, best[op], ratio[op], strict=True):
            bound = lower_bound(topology, OPS[way], size_bytes=size, group=group, islands=parts, windows=0)
            found = time_us / (bound.seconds * 1e6)
            assert 0.9985 <= found <= expected + 0.002
            assert found >= expected - 0.006


WINDOWS_A100 = {
    "allgather": [1.000, 1.001, 1.001, 1.004, 1.012, 1.010],
    "allreduce": [1.006, 1.004, 1.009, 1.024, 1.024, 1.016],
    "alltoall": [1.000, 1.001, 1.000, 1.000, 1.000, 1.000],
    "broadcast": [1.004, 1.038, 1.020, 1.038, 1.083, 1.122],
    "scatter": [1.000, 1.000, 1.000, 1.006, 1.007, 1.021],
}
WINDOWS_H800 = {
    "allgather": [1.000, 1.000, 1.001, 1.002, 1.010, 1.003],
    "allreduce": [1.000, 1.002, 1.002, 1.018, 1.045, 1.131],
    "alltoall": [1.000, 1.000, 1.001, 1.003, 1.000, 1.000],
    "broadcast": [1.015, 1.053, 1.036, 1.055, 1.102, 1.187],
    "scatter": [1.000, 1.000, 1.000, 1.003, 1.011, 1.032],
}
"""The same schedules over the whole bound, time windows included."""


@pytest.mark.parametrize("op", sorted(BEST_A100))
@pytest.mark.parametrize("name", ["a100", "h800"])
def test_time_windows_bring_the_bound_to_known_schedules(op: str, name: str) -> None:
    topology = a100() if name == "a100" else h800()
    best, ratio = (BEST_A100, WINDOWS_A100) if name == "a100" else (BEST_H800, WINDOWS_H800)
    servers, gpus_each, nics = (4, 8, 4) if name == "a100" else (8, 8, 8)
    group, parts = rotations(topology, servers, gpus_each, nics), islands_of(servers, gpus_each)
    for size, time_us, expected in zip(SIZES, best[op], ratio[op], strict=True):
        bound = lower_bound(topology, OPS[op], size_bytes=size, group=group, islands=parts)
        assert time_us / (bound.seconds * 1e6) == pytest.approx(expected, abs=0.0015)


PROVED_US = {
    ("a100", "allgather"): [5.656, 6.711, 11.05, 27.11],
    ("a100", "allreduce"): [6.383, 8.93, 17.32, 50.09],
    ("h800", "allgather"): [6.05, 6.205, 6.965, 11.90],
    ("h800", "allreduce"): [6.184, 6.738, 8.967, 20.11],
}
PROVED_RATIO = {
    ("a100", "allgather"): [1.000, 1.008, 1.044, 1.030],
    ("a100", "allreduce"): [1.007, 1.073, 1.070, 1.051],
    ("h800", "allgather"): [1.009, 1.034, 1.023, 1.108],
    ("h800", "allreduce"): [1.031, 1.030, 1.040, 1.220],
}
"""Optima of two servers of two GPUs at 16 KiB to 1 MiB, a few pieces, by constraint programming."""


@pytest.mark.parametrize(("name", "op"), sorted(PROVED_US))
def test_proved_optima_stand_to_the_bound_as_measured(name: str, op: str) -> None:
    topology = a100(2, 2, 1) if name == "a100" else h800(2, 2)
    for size, time_us, expected in zip(SIZES[2:], PROVED_US[name, op], PROVED_RATIO[name, op], strict=True):
        assert time_us / (seconds(topology, op, size, halves(4)) * 1e6) == pytest.approx(expected, abs=0.0012)


def test_direct_exchange_on_one_switch_meets_the_bound() -> None:
    topology = one_switch(4, rate=25 * 10**9, latency_ps=350_000)
    for op in ("allgather", "reducescatter", "alltoall"):
        size = 4_000_000
        assert seconds(topology, op, size) == pytest.approx(0.7e-6 + 3 * size / 4 / 25e9, rel=1e-12)
    small = 2_400
    assert seconds(topology, "allreduce", small) == pytest.approx(0.7e-6 + 3 * small / 25e9, rel=1e-9)


def test_large_sizes_are_bandwidth_and_small_ones_latency() -> None:
    topology = ring(4, one_way=True)
    group, parts = trivial_group(topology), [[0], [1], [2], [3]]
    large = lower_bound(topology, OPS["allgather"], size_bytes=10**12, group=group, islands=parts)
    small = lower_bound(topology, OPS["allgather"], size_bytes=4, group=group, islands=parts)
    assert large.seconds == pytest.approx(large.bandwidth_s, rel=1e-6)
    assert large.bandwidth_s == pytest.approx(10**12 * 3 / 4 / 25e9, rel=1e-12)
    assert small.latency_s == pytest.approx(3 * 0.7e-6)
    assert small.seconds == pytest.approx(small.latency_s, rel=1e-3)


@given(topologies(max_gpus=5), st.sampled_from(sorted(OPS)), st.integers(1, 10**7), st.integers(1, 10**7))
def test_larger_sizes_take_no_less_time(topology: Topology, op: str, size: int, more: int) -> None:
    parts = halves(topology.ranks)
    assert seconds(topology, op, size, parts) <= seconds(topology, op, size + more, parts) * (1 + 1e-12)


@given(symmetric_topologies(), st.sampled_from(["allgather", "reducescatter", "allreduce"]), st.integers(0, 9))
def test_names_and_order_do_not_matter(topology: Topology, op: str, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    parts = halves(topology.ranks)
    moved = tuple(tuple(ranks[rank] for rank in part) for part in parts)
    assert seconds(copy, op, 50_000, moved) == pytest.approx(seconds(topology, op, 50_000, parts), rel=1e-9)


def test_backwards_ops_are_the_same_on_a_graph_that_equals_its_reverse() -> None:
    topology = two_servers(4)
    for op, back in BACKWARDS.items():
        for size in SIZES:
            assert seconds(topology, back, size, halves(8)) == seconds(topology, op, size, halves(8))


def test_one_rank_needs_no_time() -> None:
    topology = Topology("one", gpus(1), ())
    for op in OPS:
        assert seconds(topology, op, KIB) == 0


def test_one_way_graph_still_serves_its_root() -> None:
    topology = Topology("line", gpus(3), (Link(0, 1, 10**9, 10**6), Link(1, 2, 10**9, 10**6)))
    assert seconds(topology, "broadcast", 1000) == pytest.approx(1e-6 + 1e-6 + 1e-6)
    assert seconds(topology, "scatter", 3000) == pytest.approx(2e-6 + 1e-6)
    assert seconds(topology, "reduce", 1000, root=2) == pytest.approx(1e-6 + 1e-6 + 1e-6)
    with pytest.raises(InfeasibleError, match="one direction"):
        seconds(topology, "allgather", 1000)


@pytest.mark.parametrize(
    ("size", "islands", "root", "words"),
    [
        (0, ((0,), (1,)), 0, "size 0 must be a positive number"),
        (8, ((0,),), 0, r"must hold each of the ranks 0\.\.1 once"),
        (8, ((0,), (0, 1)), 0, "must hold each of the ranks"),
        (8, ((0, 1),), 2, r"root 2 is out of range; choose 0\.\.1"),
    ],
)
def test_wrong_input_is_named(size: int, islands: Parts, root: int, words: str) -> None:
    topology = ring(2)
    with pytest.raises(InputError, match=words):
        lower_bound(
            topology, OPS["broadcast"], size_bytes=size, group=trivial_group(topology), islands=islands, root=root
        )
