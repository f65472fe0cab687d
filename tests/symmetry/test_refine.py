from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from syccl.symmetry.collapse import Graph, collapse
from syccl.symmetry.refine import Partition, common_divisor, individualised, profile, refine, sharpened
from syccl.topology import Topology
from tests.strategies import ring, scrambled, symmetric_topologies, topologies
from tests.symmetry.clusters import a100x32, dgx1, grid


def stable(graph: Graph) -> Partition:
    partition = Partition(graph.colours)
    refine(graph.arcs, partition)
    return partition


def is_equitable(graph: Graph, partition: Partition) -> bool:
    seen: dict[int, Counter[tuple[int, int]]] = {}
    for vertex, out in enumerate(graph.arcs):
        view = Counter((partition.cell[other], weight) for other, weight in out)
        if seen.setdefault(partition.cell[vertex], view) != view:
            return False
    return True


@given(topologies() | symmetric_topologies())
def test_a_stable_partition_is_equitable_and_no_finer_than_needed(topology: Topology) -> None:
    graph = collapse(topology)
    fast = stable(graph)
    assert is_equitable(graph, fast)
    slow = list(graph.colours)
    for _ in graph.arcs:
        views = [(slow[v], tuple(sorted((slow[u], w) for u, w in out))) for v, out in enumerate(graph.arcs)]
        number = {view: i for i, view in enumerate(sorted(set(views)))}
        slow = [number[view] for view in views]
    assert len(set(slow)) == len(fast.cells())


@given(topologies() | symmetric_topologies(), st.integers(0, 3))
def test_cells_do_not_depend_on_numbering(topology: Topology, seed: int) -> None:
    copy, ranks = scrambled(topology, seed)
    one, two = collapse(topology), collapse(copy)
    first, second = stable(one), stable(two)
    assert [first.cell[v] for v in one.gpus] == [second.cell[two.gpus[ranks[r]]] for r in range(topology.ranks)]
    assert profile(one.arcs, first) == profile(two.arcs, second)


@given(topologies())
def test_setting_a_vertex_apart_stays_equitable(topology: Topology) -> None:
    graph = collapse(topology)
    partition = individualised(graph.arcs, stable(graph), graph.gpus[-1])
    assert is_equitable(graph, partition)
    assert partition.size[partition.cell[graph.gpus[-1]]] == 1


def test_joining_undoes_splitting() -> None:
    partition = Partition([0] * 6)
    first = partition.split(0, [4, 1])
    second = partition.split(first, [4])
    assert (partition.cells(), partition.members(second)) == ([0, 4, 5], [4])
    partition.join(second, first)
    assert sorted(partition.members(first)) == [1, 4]
    partition.join(first, 0)
    assert partition.cells() == [0]
    assert partition.cell == [0] * 6


def test_cell_sizes_bound_the_order_of_a_free_group() -> None:
    graph = collapse(a100x32())
    assert common_divisor(stable(graph), graph.gpus) == 32
    mesh = collapse(grid(4, 4))
    assert common_divisor(stable(mesh), mesh.gpus) == 4


def test_sharpening_sees_two_kinds_of_gpus_in_a_dgx1() -> None:
    graph = collapse(dgx1())
    coarse = stable(graph)
    fine = sharpened(graph.arcs, coarse, {v: v for v in graph.gpus})
    assert common_divisor(coarse, graph.gpus) == 8
    assert common_divisor(fine, graph.gpus) == 4


def test_sharpening_leaves_a_ring_whole() -> None:
    graph = collapse(ring(6))
    fine = sharpened(graph.arcs, stable(graph), {v: v for v in graph.gpus})
    assert common_divisor(fine, graph.gpus) == 6
