"""Alltoallv from matrix to schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.bounds.matrix import matrix_bound
from syccl.collective import Matrix, op_named
from syccl.errors import InputError
from syccl.findings import errors
from syccl.pipeline import Options, synthesize
from syccl.program import StepType
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay_findings
from syccl.program.targets import EXECUTOR, MSCCL, RCCL
from syccl.program.unequal import program_for
from syccl.program.verify import verify_program
from syccl.schedule import Transfers
from syccl.schedule.json_file import read_json, write_json
from syccl.schedule.transform import relabel, reverse
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from syccl.unequal import synthesize_matrix
from tests.strategies import one_switch, ring, torus, two_servers

ROUNDING = 1 + 1e-9
TOPOLOGIES = {"switch": one_switch(4), "ring": ring(4), "servers": two_servers(2), "torus": torus(2, 2)}
MATRICES = st.lists(
    st.lists(st.integers(0, 40).map(lambda k: max(0, k - 10) * 1024), min_size=4, max_size=4), min_size=4, max_size=4
).map(lambda rows: Matrix(tuple(map(tuple, rows))))


def made_of(topology, matrix, datatype="float32"):
    return synthesize_matrix(topology, matrix, Options(matrix.size_bytes, datatype))


def uniform(ranks, entry):
    return Matrix(((entry,) * ranks,) * ranks)


@pytest.mark.parametrize("name", TOPOLOGIES)
@settings(max_examples=5)
@given(matrix=MATRICES)
def test_schedules_move_the_matrix_and_no_bound_is_beaten(name, matrix):
    made = made_of(TOPOLOGIES[name], matrix)
    assert verify_schedule(made.schedule) == ()
    assert made.demand.matrix.tolist() == [list(row) for row in matrix.rows]
    assert all(part.size_bytes % 4 == 0 for part in made.demand.parts)
    assert made.bound.seconds <= made.schedule_time_s * ROUNDING


@settings(max_examples=6)
@given(matrix=MATRICES, seed=st.integers(0, 2**16))
def test_every_altered_transfer_is_noticed(matrix, seed):
    schedule = made_of(TOPOLOGIES["servers"], matrix).schedule
    rows = schedule.transfers
    if not len(rows):
        return
    rng = np.random.default_rng(seed)
    row = int(rng.integers(len(rows)))
    kept = np.arange(len(rows)) != row
    lost = Transfers(**{name: getattr(rows, name)[kept] for name in Transfers.__dataclass_fields__})
    assert verify_schedule(replace(schedule, transfers=lost))
    for name, limit in (("src", 4), ("dst", 4), ("chunk", schedule.demand.chunk_ids)):
        column = getattr(rows, name).copy()
        column[row] = (column[row] + 1 + rng.integers(max(1, limit - 1))) % limit
        changed = replace(schedule, transfers=replace(rows, **{name: column}))
        assert column[row] == getattr(rows, name)[row] or verify_schedule(changed)


@pytest.mark.parametrize("name", TOPOLOGIES)
@settings(max_examples=4)
@given(matrix=MATRICES.filter(lambda matrix: matrix.size_bytes), seed=st.integers(0, 2**16))
def test_programs_move_the_matrix_on_real_numbers(name, matrix, seed):
    topology = TOPOLOGIES[name]
    for target in (EXECUTOR, MSCCL, RCCL):
        made = synthesize_matrix(topology, matrix, Options(matrix.size_bytes, want_program=True, target=target))
        assert made.program_time_s * ROUNDING >= made.bound.seconds
        read = read_xml(write_xml(made.program, target), source="made")
        told, found = program_for(read, matrix, source="matrix")
        assert found == ()
        assert not errors(verify_program(told, size_bytes=matrix.size_bytes))
        for most in (1, 71):
            assert replay_findings(told, seed=seed, chunks_per_message=most) == ()


@settings(max_examples=6)
@given(matrix=MATRICES.filter(lambda matrix: matrix.size_bytes), seed=st.integers(0, 2**16))
def test_every_altered_step_is_noticed(matrix, seed):
    program = synthesize_matrix(TOPOLOGIES["torus"], matrix, Options(matrix.size_bytes, want_program=True)).program
    places = [(r, b, s) for r in program.ranks for b in r.blocks for s in b.steps if s.type is not StepType.NOP]
    rank, block, step = places[seed % len(places)]
    name = "src" if step.type is StepType.SEND else "dst"
    used = getattr(step, name)
    other = step._replace(**{name: used._replace(offset=used.offset + 1)})
    steps = tuple(other if one is step else one for one in block.steps)
    blocks = tuple(replace(one, steps=steps) if one is block else one for one in rank.blocks)
    ranks = tuple(replace(one, blocks=blocks) if one is rank else one for one in program.ranks)
    assert errors(verify_program(replace(program, ranks=ranks)))


def test_programs_take_about_as_long_as_schedules():
    rng = np.random.default_rng(3)
    topology = load_topology("a100x16")
    table = rng.integers(0, 9, (16, 16)) ** 2 * (1 << 18)
    matrix = Matrix(tuple(map(tuple, table.tolist())))
    made = synthesize_matrix(topology, matrix, Options(matrix.size_bytes, want_program=True))
    assert made.program_time_s <= 1.08 * made.bound.seconds


@settings(max_examples=4)
@given(matrix=MATRICES)
def test_json_gives_the_schedule_back(matrix):
    schedule = made_of(TOPOLOGIES["torus"], matrix).schedule
    text = write_json(schedule, made_by={"seed": 0})
    again = read_json(text, source="made")
    assert again.demand == schedule.demand
    assert write_json(again, made_by={"seed": 0}) == text
    assert verify_schedule(again) == ()


@settings(max_examples=4)
@given(matrix=MATRICES)
def test_reversed_schedules_move_the_transposed_matrix_as_fast(matrix):
    schedule = made_of(TOPOLOGIES["ring"], matrix).schedule
    back = reverse(schedule)
    assert verify_schedule(back) == ()
    assert back.demand.matrix.tolist() == schedule.demand.matrix.T.tolist()
    assert reverse(back).demand == schedule.demand


@settings(max_examples=4)
@given(matrix=MATRICES, shift=st.integers(1, 3))
def test_relabelling_commutes(matrix, shift):
    topology = TOPOLOGIES["ring"]
    nodes = [(node + shift) % 4 for node in range(4)]
    schedule = made_of(topology, matrix).schedule
    moved = relabel(schedule, topology, nodes)
    assert verify_schedule(moved) == ()
    table = schedule.demand.matrix
    assert all(moved.demand.matrix[nodes[u], nodes[v]] == table[u, v] for u in range(4) for v in range(4))
    size = matrix.size_bytes
    assert schedule_time(moved, size_bytes=size).seconds == schedule_time(schedule, size_bytes=size).seconds


@pytest.mark.parametrize("name", ["dgx1-v100", "torus2d-4x4", "a100x16"])
@pytest.mark.parametrize("size", [1 << 14, 1 << 24])
def test_equal_entries_take_what_alltoall_takes(name, size):
    topology = load_topology(name)
    made = made_of(topology, uniform(topology.ranks, size // topology.ranks))
    other = synthesize(topology, op_named("alltoall"), Options(size, want_program=False))
    # Three pieces of an entry differ by an element.
    assert made.schedule_time_s <= other.schedule_time_s * 1.00001
    assert made.demand.own_size_bytes == size
    assert verify_schedule(made.schedule) == ()


def port_seconds(topology):
    """Seconds per byte, and latency, between two ranks of one switch."""
    rate = topology.links[0].rate
    return 1 / rate, 2 * topology.links[0].latency_ps * 1e-12


def test_right_values_on_one_switch():
    topology = one_switch(4)
    per_byte, alpha = port_seconds(topology)
    m = 1 << 20
    cases = {
        "permutation": ([[0, m, 0, 0], [0, 0, m, 0], [0, 0, 0, m], [m, 0, 0, 0]], m),
        "one row": ([[9, m, 2 * m, m], [0] * 4, [0] * 4, [0] * 4], 4 * m),
        "one column": ([[0, m, 0, 0], [0, 7, 0, 0], [0, 3 * m, 0, 0], [0, m, 0, 0]], 5 * m),
        "blocks": ([[0, m, 0, 0], [m, 0, 0, 0], [0, 0, 0, 2 * m], [0, 0, 2 * m, 0]], 2 * m),
        "diagonal": ([[m, 0, 0, 0], [0, m, 0, 0], [0, 0, 0, 0], [0, 0, 0, m]], 0),
        "nothing": ([[0] * 4] * 4, 0),
    }
    for name, (rows, through) in cases.items():
        made = made_of(topology, Matrix(tuple(map(tuple, rows))), "int8")
        expected = through * per_byte + alpha if through else 0.0
        assert made.schedule_time_s == pytest.approx(expected, rel=1e-6), name
        assert made.bound.seconds == pytest.approx(expected, rel=1e-6), name
        assert verify_schedule(made.schedule) == ()


def test_one_rank_keeps_what_it_has():
    made = made_of(ring(1), Matrix(((64,),)))
    assert made.schedule_time_s == made.bound.seconds == 0.0
    assert verify_schedule(made.schedule) == ()


def test_skewed_entries_of_sixteen_ranks_are_near_the_bound():
    rng = np.random.default_rng(5)
    table = (rng.dirichlet(np.full(16, 0.6), size=16) * (64 << 20)).astype(int) // 4 * 4
    topology, matrix = load_topology("a100x16"), Matrix(tuple(map(tuple, table.tolist())))
    made = made_of(topology, matrix)
    assert made.schedule_time_s <= 1.05 * made.bound.seconds
    assert made.bound.seconds == matrix_bound(topology, matrix, islands=islands(topology)).seconds


def test_sizes_are_not_for_alltoallv():
    with pytest.raises(InputError, match="no sizes but a matrix"):
        synthesize(ring(4), op_named("alltoallv"), Options(1 << 20))
