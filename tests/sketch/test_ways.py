"""Which links of all routes can make a transfer wait."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.sketch.quotient import Quotient
from syccl.sketch.ways import Ways
from syccl.symmetry.group import trivial_group
from syccl.topology.model import Topology
from tests.strategies import damaged, symmetric_topologies, topologies


def binding_ways(topology: Topology, quotient: Quotient) -> tuple[dict[tuple[int, int], list[int]], list[int]]:
    """Route of every pair of ranks, and the links that no other one accompanies everywhere without being faster."""
    routes = {(u, v): list(quotient.route(u, v)) for u in range(topology.ranks) for v in range(topology.ranks)}
    used = {link: [set(route) for route in routes.values() if link in route] for link in range(len(topology.links))}
    rates = topology.link_rates
    kept = []
    for link, passing in used.items():
        mates = set.intersection(*passing) - {link} if passing else set()
        equals = [m for m in mates if rates[m] == rates[link] and len(used[m]) == len(passing)]
        slower = [m for m in mates if rates[m] <= rates[link] and m not in equals]
        if passing and not slower and all(m > link for m in equals):
            kept.append(link)
    return routes, kept


@given(st.one_of(topologies(), symmetric_topologies(), damaged()))
@settings(max_examples=60, deadline=None)
def test_arcs_keep_exactly_the_links_that_can_bind(topology: Topology) -> None:
    quotient = Quotient.of(topology, trivial_group(topology))
    routes, kept = binding_ways(topology, quotient)
    ways = Ways.of(quotient)
    np.testing.assert_array_equal(ways.seconds_per_byte, np.append(1.0 / topology.link_rates[kept], 0.0))
    for (u, v), route in routes.items():
        expected = [kept.index(link) for link in route if link in kept]
        assert [number for number in ways.links[u, v].tolist() if number < len(kept)] == expected
