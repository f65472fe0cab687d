"""Column generation against closed forms, enumeration and known optima."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from syccl.collective import op_named
from syccl.errors import InfeasibleError, InternalError
from syccl.optimize.linear import solve_linear
from syccl.sketch.arborescence import minimum_arborescence, tree_cost
from syccl.sketch.combine import bottleneck_program
from syccl.sketch.price import Pricing, mixed_columns, price
from syccl.sketch.quotient import Quotient
from syccl.symmetry.group import Group, trivial_group
from syccl.topology import Link, Topology
from tests.sketch.quotient_cases import (
    bench,
    clos,
    clos_group,
    cube_mesh,
    gpu_mesh,
    rails,
    rails_group,
    two_spines,
)
from tests.strategies import one_switch, reaches_all, ring, topologies

GB = 1e9
FIVE_GPUS = [(0, 1, 20.0), (0, 2, 20.0), (0, 3, 20.0), (1, 2, 20.0), (1, 3, 20.0), (2, 3, 20.0), (3, 4, 20.0)]


def priced(op: str, topology: Topology, group: Group | None = None, **options: float | bool) -> Pricing:
    quotient = Quotient.of(topology, trivial_group(topology) if group is None else group)
    return price(op_named(op), quotient, **options)  # type: ignore[arg-type]


def check_proof(op: str, topology: Topology, found: Pricing) -> None:
    """Check shares, loads, time and bound of a pricing without symmetry, from its trees alone."""
    quotient = Quotient.of(topology, trivial_group(topology))
    groups = np.array([column.group for column in found.columns])
    assert np.bincount(groups, weights=found.shares) == pytest.approx(np.ones(groups.max() + 1))
    assert (found.shares >= 0).all()
    load = np.zeros(quotient.orbits)
    for column, share in zip(found.columns, found.shares, strict=True):
        for tree, view in ((column.outward, quotient), (column.inward, quotient.flipped)):
            if tree is not None:
                load += share * view.tree_loads(tree)
    assert (load / quotient.capacities).max() == pytest.approx(found.lp_value)
    assert found.prices @ quotient.capacities == pytest.approx(1)
    costs = quotient.arc_costs(found.prices)
    out = [tree_cost(costs, minimum_arborescence(costs, root)) for root in range(topology.ranks)]
    into = [tree_cost(costs.T, minimum_arborescence(costs.T, root)) for root in range(topology.ranks)]
    proven = {
        "allgather": sum(out),
        "reducescatter": sum(into),
        "allreduce": min(map(sum, zip(out, into, strict=True))),
    }
    assert found.dual_bound == pytest.approx(proven[op], rel=1e-6)
    assert found.dual_bound <= found.lp_value * (1 + 1e-9)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_on_one_switch_every_rank_receives_all_others(ranks: int) -> None:
    topology = one_switch(ranks, rate=300 * 10**9)
    for op in ("allgather", "reducescatter"):
        assert priced(op, topology).lp_value * 300 * GB == pytest.approx(ranks - 1)
    assert priced("allreduce", topology).lp_value * 300 * GB == pytest.approx(2 * (ranks - 1) / ranks)


def test_five_gpus_reduce_faster_jointly_than_in_two_phases() -> None:
    topology = gpu_mesh(5, FIVE_GPUS)
    gather, reduce, joint = (priced(op, topology, gap=1e-6) for op in ("allgather", "reducescatter", "allreduce"))
    assert 1 / joint.lp_value == pytest.approx(20 * GB, rel=1e-5)
    assert 5 / (gather.lp_value + reduce.lp_value) == pytest.approx(12.5 * GB, rel=1e-5)
    check_proof("allreduce", topology, joint)


@pytest.mark.parametrize(
    ("topology", "group", "per_shard"),
    [
        pytest.param(clos(), clos_group, 24 / 100, id="four servers behind 100 GB/s each"),
        pytest.param(rails(8), lambda t: rails_group(t, 8), 63 / 250, id="eight servers on rails"),
        pytest.param(rails(64), lambda t: rails_group(t, 64), 511 / 250, id="64 servers on rails"),
        pytest.param(cube_mesh(), trivial_group, 7 / 150, id="hybrid cube mesh"),
        pytest.param(clos(dead="nic1.2"), trivial_group, 24 / 75, id="one NIC dead, no symmetry used"),
    ],
)
def test_allgather_meets_the_known_optimum(topology: Topology, group: object, per_shard: float) -> None:
    found = priced("allgather", topology, group(topology))  # type: ignore[operator]
    assert found.lp_value * GB == pytest.approx(per_shard, rel=1e-3)
    assert found.dual_bound * GB == pytest.approx(per_shard, rel=1e-3)
    assert found.gap <= 1e-3


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_the_quotient_changes_no_optimum(op: str) -> None:
    topology = rails(2, per_server=4)
    small = priced(op, topology, rails_group(topology, 2, 4), gap=1e-6)
    whole = priced(op, topology, gap=1e-6)
    assert len(small.columns) < len(whole.columns)
    assert small.lp_value == pytest.approx(whole.lp_value, rel=1e-5)


def test_allreduce_on_a_symmetric_fabric_is_both_halves() -> None:
    topology = clos()
    group = clos_group(topology)
    halves = priced("allgather", topology, group).lp_value + priced("reducescatter", topology, group).lp_value
    assert priced("allreduce", topology, group).lp_value == pytest.approx(halves / 32)


def test_reducescatter_is_allgather_backwards() -> None:
    topology = ring(5, one_way=True)
    links = tuple(Link(link.dst, link.src, (i + 1) * 10**9, 0) for i, link in enumerate(topology.links))
    forward = Topology("forward", topology.nodes, links)
    backward = Topology("backward", topology.nodes, tuple(link._replace(src=link.dst, dst=link.src) for link in links))
    assert priced("reducescatter", forward).lp_value == pytest.approx(priced("allgather", backward).lp_value)


@given(topologies(max_gpus=6))
@settings(max_examples=15)
def test_the_bound_is_proved_and_met_on_random_clusters(topology: Topology) -> None:
    values = {}
    for op in ("allgather", "reducescatter", "allreduce"):
        found = priced(op, topology)
        check_proof(op, topology, found)
        assert found.gap <= 1e-3
        values[op] = found
    halves = (values["allgather"].lp_value + values["reducescatter"].lp_value) / topology.ranks
    assert values["allreduce"].dual_bound <= halves * (1 + 1e-9)


@given(topologies(min_gpus=3, max_gpus=4))
@settings(max_examples=8)
def test_the_optimum_over_all_trees_is_found(topology: Topology) -> None:
    quotient = Quotient.of(topology, trivial_group(topology))
    arcs = np.isfinite(quotient.arc_costs(np.ones(quotient.orbits)))
    loads, groups = [], []
    for root in range(topology.ranks):
        for choice in itertools.product(range(topology.ranks), repeat=topology.ranks):
            parents = np.array(choice, dtype=np.int32)
            parents[root] = -1
            if choice[root] == root and all(arcs[p, v] for v, p in enumerate(choice) if v != root):
                above = list(choice)
                for _ in choice:
                    above = [choice[v] for v in above]
                if above == [root] * topology.ranks:
                    loads.append(quotient.tree_loads(parents))
                    groups.append(root)
    program = bottleneck_program(np.array(loads), np.array(groups, dtype=np.int32), quotient.capacities)
    best = solve_linear(program).objective / quotient.capacities.max()
    found = priced("allgather", topology, gap=1e-5)
    assert found.dual_bound <= best * (1 + 1e-7)
    assert found.lp_value >= best * (1 - 1e-7)
    assert found.gap <= 1e-5


def test_default_routes_share_two_spines() -> None:
    default = priced("allgather", two_spines())
    assert default.lp_value * 25 * GB == pytest.approx(1, rel=1e-3)


def test_free_routes_use_a_spine_that_is_farther_away() -> None:
    near = two_spines()
    spine = max(range(len(near.nodes)), key=lambda node: near.nodes[node].name)
    links = tuple(
        link._replace(latency_ps=2 * link.latency_ps + 1) if spine in link[:2] else link for link in near.links
    )
    topology = replace(near, links=links)
    default = priced("allgather", topology)
    free = priced("allgather", topology, any_route=True)
    assert default.lp_value * 25 * GB == pytest.approx(2, rel=1e-3)
    assert free.lp_value * 25 * GB == pytest.approx(1, rel=1e-3)
    assert free.dual_bound * 25 * GB == pytest.approx(1, rel=1e-3)


def test_a_round_limit_leaves_valid_shares_and_a_valid_bound() -> None:
    topology = cube_mesh()
    found = priced("allgather", topology, round_limit=2)
    assert found.rounds == 2
    check_proof("allgather", topology, found)
    assert found.dual_bound * GB <= 7 / 150 <= found.lp_value * GB


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_one_rank_has_nothing_to_do(op: str) -> None:
    found = priced(op, ring(1))
    assert (found.lp_value, found.dual_bound, found.gap, found.rounds) == (0, 0, 0, 1)


def test_a_one_way_street_is_infeasible() -> None:
    topology = Topology("street", ring(2).nodes, (Link(0, 1, 10**9, 0),))
    assert not reaches_all(topology)
    with pytest.raises(InfeasibleError, match="no tree"):
        priced("allgather", topology)


def test_other_collectives_and_backward_quotients_are_refused() -> None:
    topology = ring(3)
    quotient = Quotient.of(topology, trivial_group(topology))
    with pytest.raises(InternalError, match="alltoall"):
        price(op_named("alltoall"), quotient)
    with pytest.raises(InternalError, match="forward"):
        price(op_named("allgather"), quotient.flipped)


def test_the_same_input_gives_the_same_columns() -> None:
    first, second = (priced("allreduce", cube_mesh()) for _ in range(2))
    assert [column.key for column in first.columns] == [column.key for column in second.columns]
    assert np.array_equal(first.shares, second.shares)


@pytest.mark.parametrize("op", ["allgather", "reducescatter", "allreduce"])
def test_mixed_columns_cost_little_more_and_lie_between_the_extremes(op: str) -> None:
    topology = rails(4)
    quotient = Quotient.of(topology, rails_group(topology, 4))
    found = price(op_named(op), quotient)
    mixed = mixed_columns(op_named(op), quotient, found.prices, count=12)
    assert len(mixed) == 12
    assert all(column.loads @ found.prices <= found.lp_value * 1.03 for column in mixed)
    assert len({column.loads.tobytes() for column in mixed}) > 3
    assert max(column.depth for column in mixed) <= (12 if op == "allreduce" else 6)


OPTIMA_GBPS = {
    "T1_nvswitch8_300": 342.86,
    "T5_dgx1v100": 171.43,
    "T4_mesh4x4": 106.67,
    "T4_torus4x4": 213.33,
    "T2_a100_2x8_flat": 346.67,
    "T2_a100_2x8_nic4": 200.0,
    "T2_a100_4x8_flat": 266.67,
    "T2_a100_4x8_nic4": 133.33,
    "T3_h100_2x8_rail": 533.33,
    "T3_h100_4x8_rail": 516.13,
}


@pytest.mark.parametrize("name", OPTIMA_GBPS)
def test_published_optima_are_met_without_symmetry(name: str, shared_data: Path) -> None:
    topology = bench(shared_data / "topologies" / "bench" / f"{name}.json")
    found = priced("allgather", topology)
    assert topology.ranks / found.lp_value / GB == pytest.approx(OPTIMA_GBPS[name], rel=1e-3)
    assert found.gap <= 1e-3
