"""Proofs of bounds of alltoallv."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.bounds.matrix import matrix_bound
from syccl.bounds.matrix_proof import matrix_proof
from syccl.collective import Matrix
from syccl.errors import GaveUpError
from syccl.pipeline import Options
from syccl.proof import Priced, verify_certificate
from syccl.proof.json_file import read_certificate, write_certificate
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from syccl.unequal import synthesize_matrix
from tests.strategies import one_switch, ring, torus, two_servers

TOPOLOGIES = {"switch": one_switch(4), "ring": ring(4), "servers": two_servers(2), "torus": torus(2, 2)}
MATRICES = (
    st.lists(
        st.lists(st.integers(0, 9).map(lambda k: max(0, k - 3) * 1024), min_size=4, max_size=4), min_size=4, max_size=4
    )
    .map(lambda rows: Matrix(tuple(map(tuple, rows))))
    .filter(lambda matrix: bool(matrix.pairs))
)


def proof_of(topology, matrix):
    return matrix_proof(topology, matrix, islands=islands(topology))


@pytest.mark.parametrize("name", TOPOLOGIES)
@settings(max_examples=8)
@given(matrix=MATRICES)
def test_proofs_hold_and_are_nearly_as_good_as_the_bound(name, matrix):
    topology = TOPOLOGIES[name]
    proof = proof_of(topology, matrix)
    assert verify_certificate(proof) == ()
    bound = matrix_bound(topology, matrix, islands=islands(topology))
    assert proof.time_ps * 1e-12 >= 0.98 * max(bound.bandwidth_s, bound.latency_s / 2)
    made = synthesize_matrix(topology, matrix, Options(matrix.size_bytes))
    assert proof.time_ps * 1e-12 < made.schedule_time_s
    text = write_certificate(proof)
    again = read_certificate(text, source="made")
    assert write_certificate(again) == text
    assert verify_certificate(again) == ()


@pytest.mark.parametrize("name", ["a100x16", "torus2d-4x4", "dgx1-v100"])
def test_large_entries_are_certified(name):
    topology = load_topology(name)
    table = np.random.default_rng(2).integers(0, 9, (topology.ranks, topology.ranks)) << 20
    matrix = Matrix(tuple(map(tuple, table.tolist())))
    bound = matrix_bound(topology, matrix, islands=islands(topology))
    assert replace(bound, proof=proof_of(topology, matrix)).is_certified


def test_what_is_altered_is_noticed():
    topology = TOPOLOGIES["servers"]
    matrix = Matrix(((0, 4096, 8192, 0), (1024, 0, 8192, 4096), (0, 0, 64, 0), (2048, 0, 0, 0)))
    proof = proof_of(topology, matrix)
    less = tuple(tuple(entry // 2 for entry in row) for row in matrix.rows)
    later = proof.grid.copy()
    later[-1] += proof.time_ps // 100
    altered = {
        "half the matrix": replace(proof, matrix=less, size_bytes=Matrix(less).size_bytes),
        "another size": replace(proof, size_bytes=proof.size_bytes + 1),
        "no matrix": replace(proof, matrix=()),
        "a later time": replace(proof, grid=later),
        "free links": replace(proof, links=()),
        "a link that is not there": replace(proof, links=(Priced(np.array([99]), proof.links[0].price),)),
        "a symmetry": replace(proof, symmetry=(np.arange(len(topology.nodes)),)),
    }
    assert verify_certificate(proof) == ()
    for what, certificate in altered.items():
        assert verify_certificate(certificate), what


def test_nothing_to_send_has_no_proof():
    with pytest.raises(GaveUpError, match="nothing has to be sent"):
        proof_of(TOPOLOGIES["ring"], Matrix(((5, 0, 0, 0), (0,) * 4, (0,) * 4, (0,) * 4)))
