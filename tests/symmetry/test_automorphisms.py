from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.topology import Link, Topology
from syccl.topology.edge_list import read_edge_list
from tests.strategies import cables, gpus, one_switch, ring, scrambled, symmetric_topologies, topologies
from tests.symmetry.clusters import (
    a100x32,
    circulant,
    dgx1,
    grid,
    hypercube,
    rail,
    random_graph,
    servers,
    without,
)

LARGEST: dict[str, tuple[Callable[[], Topology], int]] = {
    "a100x32": (a100x32, 32),
    "a100x32 without a NIC": (lambda: without(a100x32(), "s0n0"), 2),
    "shared NICs on one leaf": (lambda: servers([8] * 4, [0] * 4), 32),
    "one NIC a server": (lambda: servers([8] * 4, [0] * 4, per_nic=8), 32),
    "7 + 8": (lambda: servers([7, 8], [0, 1]), 1),
    "8 + 8 + 4": (lambda: servers([8, 8, 4], [0, 0, 0], per_nic=1), 4),
    "rail 8x8": (lambda: rail(8), 64),
    "rail 5x8": (lambda: rail(5), 40),
    "dgx1": (dgx1, 4),
    "mesh 4x3": (lambda: grid(4, 3), 2),
    "mesh 4x4": (lambda: grid(4, 4), 4),
    "grid 4x4x4": (lambda: grid(4, 4, 4), 8),
    "torus 4x4": (lambda: grid(4, 4, wrap=True), 16),
    "torus 8x8": (lambda: grid(8, 8, wrap=True), 64),
    "torus 4x4x4": (lambda: grid(4, 4, 4, wrap=True), 64),
    "hypercube 4": (lambda: hypercube(4), 16),
    "nvswitch": (lambda: one_switch(8), 8),
    "ring 7": (lambda: ring(7), 7),
    "ring 12": (lambda: ring(12), 12),
    "one-way ring": (lambda: ring(6, one_way=True), 6),
    "circulant": (lambda: circulant(15, [1, 4]), 15),
    "one GPU": (lambda: ring(1), 1),
}

BENCH = {
    "T1_nvswitch8_300": 8,
    "T2_a100_2x8_nic4": 16,
    "T2_a100_4x8_nic4": 32,
    "T2_a100_8x8_flat": 64,
    "T3_h100_8x8_rail": 64,
    "T4_grid4x4x4": 8,
    "T4_mesh4x3": 2,
    "T4_mesh8x8": 4,
    "T4_torus8x8": 64,
    "T5_dgx1v100": 4,
}


def assert_free(group: Group) -> None:
    """Check against the links themselves, not with what the search uses."""
    topology = group.topology
    before = Counter(topology.links)
    for element in group.elements[1:]:
        kinds = [topology.nodes[i].kind for i in element]
        assert kinds == [node.kind for node in topology.nodes]
        moved = Counter(
            link._replace(src=int(element[link.src]), dst=int(element[link.dst])) for link in topology.links
        )
        assert moved == before
        assert all(element[gpu] != gpu for gpu in topology.gpus)
    rows = {element.tobytes() for element in group.elements}
    assert len(rows) == group.order
    assert all(generator[element].tobytes() in rows for generator in group.generators for element in group.elements)


@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_free_group_is_found_in_natural_order(name: str) -> None:
    build, order = LARGEST[name]
    group = find_group(build())
    assert_free(group)
    assert group.order == order


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_free_group_is_found_in_any_order(name: str, seed: int) -> None:
    build, order = LARGEST[name]
    group = find_group(scrambled(build(), seed)[0])
    assert_free(group)
    assert group.order == order


@pytest.mark.parametrize(("name", "order"), BENCH.items())
def test_bench_topologies(shared_data: Path, name: str, order: int) -> None:
    text = (shared_data / "topologies" / "bench" / f"{name}.json").read_text(encoding="utf-8")
    topology = read_edge_list(text, source=name)
    assert find_group(topology).order == order
    assert find_group(scrambled(topology, 7)[0]).order == order


@pytest.mark.parametrize("seed", [-1, 0])
def test_512_gpus_on_rails(seed: int) -> None:
    topology = rail(64) if seed < 0 else scrambled(rail(64), seed)[0]
    group = find_group(topology)
    assert group.order == 512
    assert group.is_semiregular
    assert group.links.shape == (512, len(topology.links))


def test_generators_turn_digits_of_the_natural_order() -> None:
    group = find_group(grid(4, 8, wrap=True))
    along = np.arange(32) - np.arange(32) % 8 + (np.arange(32) + 1) % 8
    across = (np.arange(32) + 8) % 32
    assert [generator.tolist() for generator in group.generators] == [along.tolist(), across.tolist()]


def test_a_hierarchy_is_turned_level_by_level() -> None:
    group = find_group(a100x32())
    images = [int(generator[group.topology.gpus[0]]) for generator in group.generators]
    assert [group.topology.nodes[i].name for i in images] == ["s0g1", "s0g2", "s1g0", "s2g0"]


def graph(edges: nx.Graph) -> Topology:
    plain = nx.convert_node_labels_to_integers(edges)
    return Topology("graph", gpus(len(plain)), cables(sorted(plain.edges())))


@pytest.mark.parametrize(
    ("edges", "order"),
    [
        (nx.petersen_graph(), 5),
        (nx.heawood_graph(), 14),
        (nx.pappus_graph(), 18),
        (nx.dodecahedral_graph(), 10),
        (nx.icosahedral_graph(), 12),
        (nx.random_regular_graph(3, 32, seed=1), 1),
    ],
    ids=["petersen", "heawood", "pappus", "dodecahedron", "icosahedron", "cubic"],
)
def test_known_graphs(edges: nx.Graph, order: int) -> None:
    group = find_group(scrambled(graph(edges), 1)[0])
    assert_free(group)
    assert group.order == order


def cayley(generators: list[tuple[int, ...]]) -> Topology:
    """GPUs are the elements of a permutation group; arcs of one bandwidth for each generator."""
    elements = [tuple(range(len(generators[0])))]
    links = []
    for element in elements:
        for i, generator in enumerate(generators):
            product = tuple(element[j] for j in generator)
            if product not in elements:
                elements.append(product)
            links.append(Link(elements.index(element), elements.index(product), 10 + i, 0))
    return Topology("cayley", gpus(len(elements)), tuple(links))


@pytest.mark.parametrize(
    "generators",
    [
        [(1, 2, 0), (1, 0, 2)],
        [(1, 2, 0, 3), (1, 0, 3, 2)],
        [(1, 2, 3, 0), (1, 0, 2, 3)],
        [(1, 2, 3, 4, 5, 6, 0), tuple(2 * i % 7 for i in range(7))],
        [(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)],
    ],
    ids=["S3", "A4", "S4", "F21", "Q8"],
)
def test_groups_whose_elements_do_not_commute(generators: list[tuple[int, ...]]) -> None:
    topology = scrambled(cayley(generators), 3)[0]
    group = find_group(topology)
    assert_free(group)
    assert group.order == topology.ranks


@given(topologies() | symmetric_topologies(), st.integers(0, 5))
def test_whatever_is_found_is_a_free_group_and_names_and_order_do_not_matter(topology: Topology, seed: int) -> None:
    group = find_group(topology)
    assert_free(group)
    assert find_group(scrambled(topology, seed)[0]).order == group.order


def largest_cyclic(topology: Topology) -> int:
    """Order of the largest cyclic free group of a graph of GPUs only, by trying all permutations."""
    before = Counter(topology.links)
    best = 1
    for image in itertools.permutations(range(topology.ranks)):
        links = Counter(link._replace(src=image[link.src], dst=image[link.dst]) for link in topology.links)
        if links != before:
            continue
        powers, power = [], list(image)
        while power != list(range(topology.ranks)):
            powers.append(power)
            power = [image[i] for i in power]
        if all(p[i] != i for p in powers for i in range(topology.ranks)):
            best = max(best, len(powers) + 1)
    return best


@given(st.integers(3, 6), st.data())
def test_no_cyclic_free_group_is_larger(n: int, data: st.DataObject) -> None:
    pairs = list(itertools.combinations(range(n), 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1, max_size=len(pairs)))
    topology = Topology("graph", gpus(n), cables(chosen))
    assert find_group(topology).order >= largest_cyclic(topology)


def test_graphs_without_symmetry_get_the_identity() -> None:
    for seed in range(20):
        group = find_group(random_graph(12, seed))
        assert_free(group)
        assert group.order == 1


def test_the_same_input_gives_the_same_group() -> None:
    topology = scrambled(dgx1(), 2)[0]
    assert (find_group(topology).elements == find_group(topology).elements).all()


def test_a_disconnected_cluster_still_has_symmetries() -> None:
    pairs = [(0, 1), (2, 3), (4, 5)]
    assert find_group(Topology("pairs", gpus(6), cables(pairs))).order == 6
