from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.symmetry import canonical as module
from syccl.symmetry.canonical import Digraph, canonical


@st.composite
def digraphs(draw: st.DrawFn, max_vertices: int = 7) -> Digraph:
    n = draw(st.integers(0, max_vertices))
    colours = draw(st.lists(st.sampled_from([(0,), (1, 2)]), min_size=n, max_size=n))
    vertex = st.integers(0, max(0, n - 1))
    label = st.sampled_from([(1,), (1,), (2,), (1, 0)])
    labels = draw(st.dictionaries(st.tuples(vertex, vertex), label, max_size=3 * n if n else 0))
    return Digraph(tuple(colours), labels)


def shuffled(graph: Digraph, seed: int) -> Digraph:
    order = list(range(len(graph.colours)))
    random.Random(seed).shuffle(order)
    return graph.relabelled(tuple(order))


def undirected(edges: nx.Graph) -> Digraph:
    plain = nx.convert_node_labels_to_integers(edges)
    labels = {arc: (1,) for u, v in plain.edges() for arc in ((u, v), (v, u))}
    return Digraph(tuple((0,) for _ in plain), labels)


@given(digraphs(), st.integers(0, 99))
def test_isomorphic_graphs_share_the_key_and_meet_in_one_graph(graph: Digraph, seed: int) -> None:
    other = shuffled(graph, seed)
    (key, mine), (other_key, theirs) = canonical(graph), canonical(other)
    assert key == other_key
    assert sorted(mine) == list(range(len(graph.colours)))
    assert graph.relabelled(mine) == other.relabelled(theirs)
    assert hash(key) == hash(other_key)


@given(digraphs(4), digraphs(4))
def test_graphs_share_the_key_only_when_isomorphic(one: Digraph, two: Digraph) -> None:
    orders = itertools.permutations(range(len(one.colours)))
    same = len(one.colours) == len(two.colours) and any(one.relabelled(order) == two for order in orders)
    assert (canonical(one)[0] == canonical(two)[0]) == same


@given(digraphs(5), st.data())
def test_changing_one_label_changes_the_key(graph: Digraph, data: st.DataObject) -> None:
    if not graph.labels:
        return
    arc = data.draw(st.sampled_from(sorted(graph.labels)))
    changed = Digraph(graph.colours, {**graph.labels, arc: (9, 9)})
    assert canonical(changed)[0] != canonical(graph)[0]


REGULAR = {
    "complete": nx.complete_graph(24),
    "star": nx.star_graph(40),
    "cycle": nx.cycle_graph(32),
    "bipartite": nx.complete_bipartite_graph(12, 12),
    "hypercube": nx.hypercube_graph(5),
    "torus": nx.grid_2d_graph(6, 6, periodic=True),
    "grid": nx.grid_2d_graph(6, 6),
    "petersen": nx.petersen_graph(),
    "cubic": nx.random_regular_graph(3, 30, seed=3),
    "copies": nx.disjoint_union_all([nx.complete_graph(4)] * 6),
    "line graph": nx.line_graph(nx.complete_graph(7)),
}


@pytest.mark.parametrize("name", REGULAR)
def test_regular_graphs_are_settled_within_the_budget(name: str) -> None:
    graph = undirected(REGULAR[name])
    keys = {canonical(shuffled(graph, seed))[0] for seed in range(4)}
    assert len(keys) == 1
    assert keys.pop()[0] == "canonical"


def test_graphs_that_refinement_cannot_tell_apart_differ() -> None:
    hexagon = undirected(nx.cycle_graph(6))
    triangles = undirected(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    assert canonical(hexagon)[0] != canonical(triangles)[0]
    rook, shrikhande = nx.line_graph(nx.complete_bipartite_graph(4, 4)), nx.Graph()
    steps = [(0, 1), (1, 0), (1, 1)]
    for a, b, (da, db) in itertools.product(range(4), range(4), steps):
        shrikhande.add_edge((a, b), ((a + da) % 4, (b + db) % 4))
    assert canonical(undirected(rook))[0] != canonical(undirected(shrikhande))[0]


def test_without_budget_only_equal_graphs_share_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORK", 1)
    path = Digraph(((0,),) * 3, {(0, 1): (1,), (1, 0): (1,), (1, 2): (1,), (2, 1): (1,)})
    key, relabelling = canonical(path)
    assert key[0] == "numbered"
    assert relabelling == (0, 1, 2)
    assert canonical(Digraph(path.colours, dict(path.labels)))[0] == key
    assert canonical(path.relabelled((1, 0, 2)))[0] != key


def test_large_graphs_keep_their_numbers() -> None:
    key, relabelling = canonical(Digraph(((0,),) * 257, {}))
    assert key[0] == "numbered"
    assert relabelling == tuple(range(257))


def test_arcs_outside_the_graph_are_refused() -> None:
    with pytest.raises(InputError, match=r"arc \(0, 2\) must join vertices 0\.\.1"):
        Digraph(((0,), (0,)), {(0, 2): (1,)})
