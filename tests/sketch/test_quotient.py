"""Arc classes, loads and prices on link orbits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from syccl.errors import InternalError
from syccl.sketch.arborescence import minimum_arborescence
from syccl.sketch.quotient import Quotient
from syccl.symmetry.group import Group, trivial_group
from syccl.topology import Topology, default_route
from tests.sketch.quotient_cases import clos, clos_group, rails, rails_group, two_spines
from tests.strategies import one_switch, ring, topologies


def some_prices(quotient: Quotient) -> np.ndarray:
    return np.random.default_rng(7).random(quotient.orbits) + 0.01


def walks(topology: Topology, path: tuple[int, ...], src: int, dst: int) -> bool:
    """Whether links lead from one rank to another without passing a GPU."""
    node = topology.gpus[src]
    for i, link in enumerate(path):
        if topology.links[link].src != node or (i and topology.is_gpu(node)):
            return False
        node = topology.links[link].dst
    return node == topology.gpus[dst]


def test_every_arc_has_the_class_of_its_image_at_a_representative() -> None:
    topology = clos()
    group = clos_group(topology)
    quotient = Quotient.of(topology, group)
    assert group.order == 32
    assert quotient.representatives.tolist() == [0]
    for element in range(group.order):
        moved = group.ranks[element]
        assert np.array_equal(quotient.arc_class[np.ix_(moved, moved)], quotient.arc_class)
    assert np.array_equal(quotient.arc_class[0], np.arange(32))


def test_orbits_of_a_clos_are_its_kinds_of_links() -> None:
    topology = clos()
    quotient = Quotient.of(topology, clos_group(topology))
    kinds = sorted(zip(quotient.orbit_sizes.tolist(), quotient.capacities.tolist(), strict=True))
    assert kinds == [(2, 2e11)] * 2 + [(16, 2.5e10)] * 2 + [(32, 5e10)] * 2 + [(32, 3e11)] * 2


@pytest.mark.parametrize("reverse", [False, True])
def test_tree_loads_are_those_of_all_copies_link_by_link(*, reverse: bool) -> None:
    topology = clos()
    group = clos_group(topology)
    quotient = Quotient.of(topology, group, reverse=reverse)
    parents = minimum_arborescence(quotient.arc_costs(some_prices(quotient)), 0)
    load = np.zeros(len(topology.links))
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0:
            path = quotient.route(child, parent) if reverse else quotient.route(parent, child)
            for element in range(group.order):
                np.add.at(load, group.links[element][list(path)], 1.0)
    assert load == pytest.approx(quotient.tree_loads(parents)[quotient.link_orbit])


def test_what_a_tree_pays_is_its_load_times_the_prices() -> None:
    topology = rails(4)
    quotient = Quotient.of(topology, rails_group(topology, 4))
    prices = some_prices(quotient)
    costs = quotient.arc_costs(prices)
    parents = minimum_arborescence(costs, 0)
    paid = sum(costs[parent, child] for child, parent in enumerate(parents) if parent >= 0)
    assert paid == pytest.approx(quotient.tree_loads(parents) @ prices)
    joined = np.isfinite(quotient.class_costs(prices))
    assert np.allclose((quotient.class_weights @ prices)[joined], quotient.class_costs(prices)[joined])
    assert not (quotient.class_weights[~joined]).any()


@given(topologies())
def test_without_symmetry_costs_are_sums_over_default_routes(topology: Topology) -> None:
    quotient = Quotient.of(topology, trivial_group(topology))
    prices = some_prices(quotient)
    costs = quotient.arc_costs(prices)
    for u in range(topology.ranks):
        for v in range(topology.ranks):
            route = default_route(topology, u, v) if u != v else None
            assert costs[u, v] == pytest.approx(np.inf if route is None else prices[list(route.links)].sum())
            assert quotient.route(u, v) == (() if route is None else route.links)


@given(topologies())
def test_the_cheapest_path_is_no_dearer_than_the_default_and_can_be_had(topology: Topology) -> None:
    quotient = Quotient.of(topology, trivial_group(topology))
    prices = some_prices(quotient)
    rerouted = quotient.rerouted(prices)
    cheapest = rerouted.arc_costs(prices)
    assert (cheapest <= quotient.arc_costs(prices) + 1e-12).all()
    assert np.allclose(quotient.flipped.rerouted(prices).arc_costs(prices), cheapest.T)
    for u in range(topology.ranks):
        for v in range(topology.ranks):
            path = rerouted.route(u, v)
            assert bool(path) == np.isfinite(cheapest[u, v])
            assert not path or walks(topology, path, u, v)


def test_routes_of_a_quotient_lead_from_sender_to_receiver() -> None:
    topology = clos()
    quotient = Quotient.of(topology, clos_group(topology))
    for view in (quotient, quotient.flipped, quotient.rerouted(some_prices(quotient))):
        for u, v in [(0, 31), (17, 3), (9, 8), (30, 14)]:
            assert walks(topology, view.route(u, v), u, v)


def test_prices_move_the_cheapest_path_to_the_other_spine() -> None:
    topology = two_spines()
    quotient = Quotient.of(topology, trivial_group(topology))
    prices = np.ones(quotient.orbits)
    used = [i for i in quotient.route(0, 2) if "spine" in topology.link_name(i)]
    prices[used] = 5.0
    assert quotient.arc_costs(prices)[0, 2] == 12.0
    assert quotient.rerouted(prices).arc_costs(prices)[0, 2] == 4.0
    assert not set(used) & set(quotient.rerouted(prices).route(0, 2))


def test_flipping_transposes_costs_and_keeps_loads() -> None:
    topology = ring(5, one_way=True)
    quotient = Quotient.of(topology, trivial_group(topology))
    prices = some_prices(quotient)
    assert np.array_equal(quotient.flipped.arc_costs(prices), quotient.arc_costs(prices).T)
    assert np.array_equal(quotient.flipped.flipped.arc_class, quotient.arc_class)
    chain_out, chain_in = np.array([-1, 0, 1, 2, 3]), np.array([-1, 2, 3, 4, 0])
    assert quotient.tree_loads(chain_out).tolist() == [1, 1, 1, 1, 0]
    assert quotient.flipped.tree_loads(chain_in).tolist() == [0, 1, 1, 1, 1]


def test_a_group_that_fixes_a_rank_is_refused() -> None:
    topology = one_switch(3)
    swap = np.array([0, 2, 1, 3], dtype=np.int32)
    with pytest.raises(InternalError, match="identity"):
        Quotient.of(topology, Group.generated(topology, (swap,)))


def test_512_ranks_make_one_representative_and_six_orbits() -> None:
    topology = rails(64)
    quotient = Quotient.of(topology, rails_group(topology, 64))
    assert len(quotient.representatives) == 1
    assert quotient.orbit_sizes.tolist() == [512] * 6
    assert np.isfinite(quotient.arc_costs(np.ones(6))[0]).sum() == 7 + 63
