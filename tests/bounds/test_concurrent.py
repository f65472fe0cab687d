from __future__ import annotations

import math

import pytest

from syccl.bounds.concurrent import concurrent_rate
from syccl.bounds.network import Network
from syccl.symmetry import find_group, trivial_group
from tests.strategies import mesh, one_switch, ring, torus


def least_seconds_per_pair_byte(topology, group):
    return 1.0 / concurrent_rate(Network.of(topology), group)


def test_one_switch_is_limited_by_its_ports():
    topology = one_switch(4)
    rate = topology.links[0].rate
    assert math.isclose(least_seconds_per_pair_byte(topology, trivial_group(topology)), 3 / rate, rel_tol=1e-6)


def test_a_ring_carries_the_sum_of_all_distances():
    # Five ranks: distances 1, 1, 2, 2 from each, two links a rank.
    topology = ring(5)
    rate = topology.links[0].rate
    assert math.isclose(least_seconds_per_pair_byte(topology, trivial_group(topology)), 3 / rate, rel_tol=1e-6)


@pytest.mark.parametrize("topology", [torus(4, 4), mesh(5), ring(6)], ids=lambda t: t.name)
def test_the_quotient_by_the_symmetry_gives_the_same(topology):
    whole = least_seconds_per_pair_byte(topology, trivial_group(topology))
    assert math.isclose(least_seconds_per_pair_byte(topology, find_group(topology)), whole, rel_tol=1e-6)


def test_a_torus_of_16_is_limited_by_its_bisection():
    # 32 link-steps a source on 4 links: twice what single ranks and rows say.
    topology = torus(4, 4)
    rate = topology.links[0].rate
    found = least_seconds_per_pair_byte(topology, find_group(topology))
    assert math.isclose(found, 8 / rate, rel_tol=1e-6)
