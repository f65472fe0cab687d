"""Families of pieces under symmetry."""

from __future__ import annotations

import pytest

from syccl.sketch.families import summing_family
from syccl.sketch.grid import grids
from syccl.sketch.words import hops_of, spelled, summing_words
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from tests.problems import ground_of
from tests.strategies import one_switch, torus, two_servers

CASES = {"servers": two_servers(4), "switch": one_switch(8), "torus": torus(4, 4)}


def word_families(topology: Topology, *, even: bool = False, symmetric: bool = True) -> dict[str, tuple[int, int, int]]:
    """Chunks, rows and pieces of the family of every word over the last grid."""
    ground = ground_of(topology, symmetric=symmetric)
    grid = grids(ground.quotient, ground.islands, ground.routed)[-1]
    made = {}
    for word in summing_words(grid.dimensions):
        family = summing_family(ground.quotient, "", lambda root, w=word: hops_of(w, grid, root), even=even)  # type: ignore[misc]
        made[spelled(word)] = (family.chunks, family.rows, len(family.pieces))
    return made


def test_a_piece_has_as_many_chunks_as_it_has_owners_to_choose() -> None:
    made = word_families(load_topology("a100x32"))
    assert made["exchange 0, exchange 1"] == (1, 10, 1)
    assert made["gather 0, exchange 1, spread 0"] == (8, 17, 1)
    assert made["gather 0, gather 1, spread 1, spread 0"] == (32, 62, 1)
    assert made["exchange 0x1"] == (1, 31, 1)


@pytest.mark.parametrize("name", CASES)
def test_images_of_the_rows_are_all_hops_of_all_chunks(name: str) -> None:
    topology = CASES[name]
    ground = ground_of(topology)
    order = ground.quotient.group.order
    grid = grids(ground.quotient, ground.islands, ground.routed)[-1]
    for word in summing_words(grid.dimensions):
        family = summing_family(ground.quotient, "", lambda root, w=word: hops_of(w, grid, root))  # type: ignore[misc]
        hops = sum(len(piece.hops) * order // piece.symmetries for piece in family.pieces)
        assert family.rows * order == hops, spelled(word)


def test_chunks_are_made_a_power_of_two_where_a_file_must_be_selected() -> None:
    odd = word_families(torus(2, 3), symmetric=False)
    even = word_families(torus(2, 3), symmetric=False, even=True)
    assert any(chunks & (chunks - 1) for chunks, _, _ in odd.values())
    assert all(chunks & (chunks - 1) == 0 for chunks, _, _ in even.values())
