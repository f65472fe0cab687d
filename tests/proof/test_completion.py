"""What an allreduce pays until a first part knows the sum, and afterwards."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.proof import Certificate, Completion, Priced, verify_certificate
from syccl.topology import Topology
from tests.bounds.clusters import a100, h800, islands_of
from tests.bounds.plans import random_time
from tests.proof.made import certificate, sharp_certificate
from tests.strategies import RATE, one_switch, ring, symmetric_topologies, topologies

MIB = 1 << 20


def rules(stated: Certificate) -> set[str]:
    return {finding.rule for finding in verify_certificate(stated)}


def alone(ranks: int) -> tuple[tuple[int, ...], ...]:
    return tuple((rank,) for rank in range(ranks))


def completion(stated: Certificate) -> Completion:
    assert stated.completion is not None
    return stated.completion


def test_large_allreduces_need_two_transfers_for_each_other_rank() -> None:
    """On one switch: alpha for the first hop, then 2 (n - 1) / n of the size; pairs alone know half of that."""
    size = 64 * MIB
    topology = one_switch(4)
    busy_ps = Fraction(2 * 3 * size, 4 * RATE) * 10**12
    sharp = sharp_certificate(topology, size, alone(4))
    assert busy_ps * Fraction(999, 1000) < sharp.time_ps < busy_ps + 2 * 700_000
    assert certificate(topology, "allreduce", size).time_ps < 0.67 * sharp.time_ps


@pytest.mark.parametrize(
    ("topology", "parts", "known_us"), [(a100(), islands_of(4, 8), 21.816), (h800(), alone(64), None)]
)
def test_whole_clusters(topology: Topology, parts: tuple[tuple[int, ...], ...], known_us: float | None) -> None:
    start_ps = 21_700_000 if known_us else 34_500_000
    stated = sharp_certificate(topology, MIB if known_us else 4 * MIB, parts, start_ps=start_ps)
    assert rules(stated) == set()
    assert stated.time_ps / 1e6 == pytest.approx(known_us or 34.83, rel=1e-3)


@given(topologies(min_gpus=2, max_gpus=3) | symmetric_topologies(), st.integers(0, 99))
def test_no_random_schedule_is_faster(topology: Topology, seed: int) -> None:
    if topology.ranks > 3:
        return
    size = 1_000_000
    stated = sharp_certificate(topology, size, alone(topology.ranks))
    assert random_time(topology, "allreduce", size, random.Random(seed), pieces=1 + seed % 3) * 1e12 > stated.time_ps


def test_what_is_shared_is_paid_for_by_links() -> None:
    stated = sharp_certificate(ring(4), MIB, alone(4))
    row = completion(stated).shared[0]
    dear = Priced(row.ids, row.price + (1 << 31))
    more = replace(completion(stated), shared=(dear, *completion(stated).shared[1:]))
    assert rules(replace(stated, completion=more)) == {"price"}
    assert rules(replace(stated, completion=more, families=())) == {"price"}


@pytest.mark.parametrize("side", ["before", "after"])
def test_ranks_pay_out_of_what_is_shared(side: str) -> None:
    stated = sharp_certificate(ring(4), MIB, alone(4))
    shares = getattr(completion(stated), side)
    number = next(i for i, share in enumerate(shares) if share.prices)
    row = shares[number].prices[0]
    dear = replace(shares[number], prices=(Priced(row.ids, row.price + (1 << 31)), *shares[number].prices[1:]))
    changed = replace(completion(stated), **{side: (*shares[:number], dear, *shares[number + 1 :])})
    assert rules(replace(stated, completion=changed)) == {"price"}
    twice = replace(completion(stated), **{side: (*shares, shares[number])})
    assert rules(replace(stated, completion=twice)) == {"flow"}
    without = replace(completion(stated), **{side: ()})
    assert rules(replace(stated, completion=without)) == {"payload"}


def test_classes_cover_the_whole_time() -> None:
    stated = sharp_certificate(ring(4), MIB, alone(4))
    times = completion(stated).times
    for wrong in (times[:-1], times[1:], times[::-1]):
        assert rules(replace(stated, completion=replace(completion(stated), times=wrong))) == {"shape"}


def test_parts_must_be_kept_by_the_symmetries() -> None:
    stated = sharp_certificate(ring(4), MIB, alone(4))
    uneven = replace(completion(stated), part=np.array([0, 0, 0, 1]))
    assert rules(replace(stated, completion=uneven)) == {"symmetry"}
    assert rules(replace(stated, completion=replace(completion(stated), part=np.zeros(4, dtype=np.int64)))) == {"shape"}
    other = certificate(ring(4), "allgather", MIB)
    assert rules(replace(other, completion=completion(stated))) == {"flow"}
