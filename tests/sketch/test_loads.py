"""Prices of all arcs at once and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.sketch.loads import Loads, Tolls
from tests.problems import ground_of
from tests.strategies import RATE, symmetric_topologies, topologies


@given(topology=st.one_of(symmetric_topologies(), topologies(max_gpus=6)), data=st.data())
def test_tolls_are_the_prices_after_the_same_transfers(topology, data) -> None:
    ground = ground_of(topology)
    quotient = ground.quotient
    most = data.draw(st.none() | st.integers(1, 20), label="most steps")
    one_by_one, together = (Loads(quotient, topology.ranks / RATE, most) for _ in range(2))
    tolls = Tolls(one_by_one)
    arcs = list(zip(*(ends.tolist() for ends in np.nonzero(ground.routed)), strict=True))
    for arc in data.draw(st.lists(st.sampled_from(arcs), max_size=12)):
        tolls.take(int(quotient.arc_class[arc]), 1.0)
        together.add([arc[0]], [arc[1]], 1.0)
    assert one_by_one.load == pytest.approx(together.load)
    assert one_by_one.use == pytest.approx(together.use)
    assert one_by_one.steps == pytest.approx(together.steps)
    prices = together.prices()
    for arc in arcs:
        kind = int(quotient.arc_class[arc])
        assert tolls.of(kind) == pytest.approx(prices[kind])


@given(topology=st.one_of(symmetric_topologies(), topologies(max_gpus=6)), data=st.data())
def test_steps_are_the_sends_and_receives_of_each_rank_under_all_images(topology, data) -> None:
    ground = ground_of(topology)
    loads, group = Loads(ground.quotient, 1 / RATE, 3), ground.quotient.group
    arcs = list(zip(*(ends.tolist() for ends in np.nonzero(ground.routed)), strict=True))
    chosen = data.draw(st.lists(st.sampled_from(arcs), max_size=12))
    before = loads.prices()
    loads.add([src for src, _ in chosen], [dst for _, dst in chosen], 1.0)
    steps = np.bincount(group.ranks[:, [rank for arc in chosen for rank in arc]].ravel(), minlength=topology.ranks)
    for number, orbit in enumerate(group.rank_orbits):
        assert set(steps[list(orbit)].tolist()) == {loads.steps[number]}
    assert (loads.prices() >= before).all()


@given(st.one_of(symmetric_topologies(), topologies(max_gpus=6)), st.booleans(), st.booleans())
def test_neighbours_are_the_arcs_from_parent_to_child(topology, inward, planned) -> None:
    ground = ground_of(topology)
    table = ground.allowed & ~ground.apart if planned else ground.routed
    found = ground.neighbours(inward=inward, planned=planned)
    arcs = {(child, over) if inward else (over, child) for over, near in found.items() for child, _ in near}
    assert arcs == set(zip(*(ends.tolist() for ends in np.nonzero(table)), strict=True))
    kinds = ground.quotient.arc_class
    for over, near in found.items():
        for child, kind in near:
            assert kind == kinds[(child, over) if inward else (over, child)]
