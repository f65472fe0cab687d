"""The jobs file."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from syccl.errors import InputError
from syccl.topology import Kind, Node, Topology
from syccl.topology.catalog import load_topology
from syccl.traffic import read_jobs
from syccl.traffic.flows import MOST_ROUTES, flows_of
from tests.strategies import cables

JOBS = """
arrival_gap: {gap}
jobs:
""" + "".join(
    f"  - {{name: j{i}, gpus: 2, compute: 1s, collectives: [{{op: allreduce, size: 1M}}]}}\n" for i in range(200)
)
STATED = "  - {name: late, gpus: 2, compute: 1s, arrival: 7s, collectives: [{op: allreduce, size: 1M}]}\n"


def arrivals_s(gap: str, seed: int) -> list[float]:
    jobs = read_jobs(JOBS.replace("{gap}", gap) + STATED, source="x", topology=load_topology("h800x512"), seed=seed)
    assert jobs[-1].arrival_s == 7.0
    return [job.arrival_s for job in jobs[:-1]]


def test_arrivals_that_are_not_stated_are_drawn_as_far_apart_as_wanted() -> None:
    drawn = arrivals_s("60s", 1)
    assert drawn == sorted(drawn)
    assert np.mean(np.diff([0.0, *drawn])) == pytest.approx(60.0, rel=0.25)
    assert drawn == arrivals_s("60s", 1)
    assert drawn != arrivals_s("60s", 2)
    assert arrivals_s("0s", 1) == [0.0] * 200


def test_arrivals_beyond_the_longest_time_are_refused() -> None:
    with pytest.raises(InputError, match=r"x: arrival_gap: puts the last arrival beyond 1e[+]08 s"):
        arrivals_s("2000h", 0)


@pytest.mark.parametrize("overlap", ["{a: 1}", "[1]", "x"])
def test_an_overlap_that_is_no_share_is_refused(overlap: str) -> None:
    text = (
        f"jobs:\n  - {{name: j, gpus: 2, compute: 1s, overlap: {overlap}, collectives: [{{op: allreduce, size: 1M}}]}}"
    )
    with pytest.raises(InputError, match=r"^x: job 'j': overlap: "):
        read_jobs(text, source="x", topology=load_topology("a100x8"))


def test_flows_between_many_equal_routes_use_all_first_links_alike() -> None:
    fabric = three_tiers(spines=20, cores=20)
    (flow,) = flows_of(fabric, (0, 1), {(0, 1): 1.0})
    assert MOST_ROUTES // 2 < len(flow.candidates) <= MOST_ROUTES
    for hop in (2, 3):
        uses = Counter(route.links[hop] for route in flow.candidates)
        assert max(uses.values()) <= 2 * min(uses.values())


def three_tiers(*, spines: int, cores: int) -> Topology:
    """Two GPUs with a NIC and a leaf each, spines of their own above these, and cores that join all spines."""
    nodes = [Node(f"gpu{i}", Kind.GPU, f"s{i}") for i in range(2)] + [
        Node(f"nic{i}", Kind.NIC, f"s{i}") for i in range(2)
    ]
    nodes += [Node(f"leaf{i}", Kind.SWITCH) for i in range(2)]
    nodes += [Node(f"spine{i}", Kind.SWITCH) for i in range(2 * spines)]
    nodes += [Node(f"core{i}", Kind.SWITCH) for i in range(cores)]
    pairs = [(0, 2), (1, 3), (2, 4), (3, 5)]
    pairs += [(4 + side, 6 + side * spines + i) for side in range(2) for i in range(spines)]
    pairs += [(6 + spine, 6 + 2 * spines + core) for spine in range(2 * spines) for core in range(cores)]
    return Topology("tiers", tuple(nodes), cables(pairs))
