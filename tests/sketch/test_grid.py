"""Grids that clusters are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from syccl.sketch.grid import Grid, grids
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from tests.problems import ground_of
from tests.strategies import mesh, one_switch, ring, torus, two_servers


def grids_of(topology: Topology) -> tuple[Grid, ...]:
    ground = ground_of(topology)
    return grids(ground.quotient, ground.islands, ground.routed)


def shapes(topology: Topology) -> list[list[int]]:
    return [(grid.coordinates.max(axis=0) + 1).tolist() for grid in grids_of(topology)]


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (one_switch(6), [[6]]),
        (mesh(4), [[4]]),
        (torus(4, 4), [[2, 2, 2, 2]]),
        (torus(3, 2), [[3, 2]]),
        (two_servers(4), [[8], [4, 2]]),
        (ring(5), []),
        (two_servers(2, 3), [[5]]),
    ],
    ids=["switch", "mesh", "torus", "small torus", "servers", "ring", "unlike servers"],
)
def test_grids_of_clusters(topology: Topology, expected: list[list[int]]) -> None:
    assert [sorted(shape, reverse=True) for shape in shapes(topology)] == expected


def test_rails_are_found_by_latency() -> None:
    topology = load_topology("h800x64")
    grid = next(grid for grid in grids_of(topology) if grid.dimensions == 2)
    ground = ground_of(topology)
    latency = ground.quotient.class_latencies_s[ground.quotient.arc_class]
    across = latency[0, 8:].min()
    for u, v in itertools.combinations(range(64), 2):
        if grid.coordinates[u, 0] == grid.coordinates[v, 0]:
            assert latency[u, v] == pytest.approx(across)


@pytest.mark.parametrize("name", ["a100x32", "h800x64", "dgx1-v100", "torus2d-4x4"])
def test_lines_of_a_grid_are_joined_and_points_differ(name: str) -> None:
    topology = load_topology(name)
    routed = ground_of(topology).routed
    found = grids_of(topology)
    assert any(grid.dimensions > 1 for grid in found)
    for grid in found:
        assert len(np.unique(grid.coordinates, axis=0)) == topology.ranks
        assert grid.is_joined(routed)
