from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.baselines.lanes import lane_wiring
from syccl.baselines.tree import binary_tree, second_tree, tree_lanes, tree_schedule
from syccl.collective import OPS
from syccl.lowering.lower import lower, program_of
from syccl.lowering.lowered import Lowered
from syccl.program.targets import EXECUTOR
from syccl.program.verify import verify_program
from syccl.schedule import expand
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from tests.strategies import LATENCY_PS, RATE, damaged, one_switch, ring, symmetric_topologies, topologies, two_servers
from tests.symmetry.clusters import rail, servers

SIMPLE = PROTOCOLS["Simple"]


def tree_of(topology, size_bytes, instances=1):
    return tree_schedule(
        topology,
        OPS["allreduce"],
        islands(topology),
        size_bytes=size_bytes,
        group=find_group(topology),
        instances=instances,
    )


def test_binary_trees_are_those_of_nccl():
    assert binary_tree(1) == [0]
    assert binary_tree(4) == [0, 2, 0, 2]
    assert binary_tree(8) == [0, 2, 4, 2, 0, 6, 4, 6]
    assert binary_tree(6) == [0, 2, 4, 2, 0, 4]
    assert second_tree(4) == [1, 3, 1, 3]
    assert second_tree(3) == [1, 1, 0]


@pytest.mark.parametrize("count", range(2, 40))
def test_no_node_has_children_in_both_trees_but_the_odd_one_out(count):
    trees = binary_tree(count), second_tree(count)
    for tree in trees:
        assert sum(parent == node for node, parent in enumerate(tree)) == 1
        reached = {node for node in range(count) if tree[node] == node}
        for _ in range(count):
            reached |= {node for node in range(count) if tree[node] in reached}
        assert reached == set(range(count))
    children = [{parent for node, parent in enumerate(tree) if parent != node} for tree in trees]
    assert len(children[0] & children[1]) <= 1 + count % 2


@pytest.mark.parametrize("name", ["a100x32", "h800x64", "h100x8", "dgx1-v100", "torus2d-4x4"])
def test_bundled_clusters_get_trees_that_verify_in_compressed_form(name):
    made = tree_of(load_topology(name), 1 << 20)
    assert made is not None
    assert verify_schedule(made) == ()
    assert made.order_of_symmetry >= 4


def test_compressed_and_explicit_trees_verify_and_take_equally_long():
    made = tree_of(load_topology("a100x16"), 1 << 20, instances=2)
    assert made is not None
    explicit = expand(made)
    assert verify_schedule(explicit) == ()
    times = [schedule_time(form, size_bytes=1 << 20).seconds for form in (made, explicit)]
    assert times[0] == pytest.approx(times[1])


def test_a_chain_of_one_piece_goes_to_its_root_and_back():
    topology, size, n = ring(2), 4096, 2
    made = tree_of(topology, size)
    assert made is not None
    hop_s = size / made.demand.chunks / RATE + LATENCY_PS * 1e-12
    assert schedule_time(made, size_bytes=size).seconds == pytest.approx(2 * (n - 1) * hop_s)


def test_latency_grows_with_the_logarithm_of_the_servers():
    times = []
    for count in (2, 4, 8, 16):
        made = tree_of(rail(count, size=2), 1024)
        assert made is not None
        times.append(schedule_time(made, size_bytes=1024).seconds)
    steps = [b - a for a, b in pairwise(times)]
    assert max(steps) <= 1.5 * min(steps)


@pytest.mark.parametrize(
    "topology",
    [load_topology("a100x16"), load_topology("dgx1-v100"), rail(4, size=2), two_servers(4, 3)],
    ids=["a100", "dgx1", "rails", "4+3"],
)
def test_programs_of_trees_verify_and_run_as_lowered(topology):
    size = 1 << 19
    made = tree_lanes(topology, OPS["allreduce"], islands(topology), size_bytes=size, group=find_group(topology))
    assert made is not None
    assert made.wiring == lane_wiring(made.schedule.demand.chunks, made.lanes)
    lowered = lower(made.schedule, made.wiring, SIMPLE, EXECUTOR, size_bytes=size)
    assert isinstance(lowered, Lowered)
    program = program_of(lowered, SIMPLE, name="tree")
    assert verify_program(program, size_bytes=size) == ()
    assert simulate_program(program, topology, size_bytes=size).seconds == pytest.approx(lowered.seconds)


@given(st.one_of(topologies(max_gpus=6), symmetric_topologies(), damaged()))
def test_trees_verify_on_any_topology(topology):
    made = tree_of(topology, 1 << 16)
    assert made is None or verify_schedule(made) == ()


@pytest.mark.parametrize("topology", [servers([7, 8], [0, 0]), servers([8, 8, 4], [0, 0, 1])], ids=["7+8", "8+8+4"])
def test_uneven_servers_get_trees(topology):
    made = tree_of(topology, 1 << 16)
    assert made is not None
    assert verify_schedule(made) == ()


def test_only_allreduce_has_trees_and_only_where_hops_lead_back():
    assert tree_schedule(one_switch(4), OPS["allgather"], islands(one_switch(4)), size_bytes=1024) is None
    one_way = ring(4, one_way=True)
    assert tree_schedule(one_way, OPS["allreduce"], islands(one_way), size_bytes=1024) is None
