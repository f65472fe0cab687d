from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.program import Program, StepType
from syccl.simulate.program_quotient import blocks_of, program_quotient, trivial_quotient
from tests import strategies
from tests.simulate import programs

SWITCH = strategies.one_switch(6)


def changed(program: Program, rank: int, number: int, **values: object) -> Program:
    """The program with the first step of one block changed."""
    part = program.ranks[rank]
    old = next(b for b in part.blocks if b.id == number)
    first = old.steps[0]._replace(**values)  # type: ignore[arg-type]
    new = replace(old, steps=(first, *old.steps[1:]))
    blocks = tuple(new if b is old else b for b in part.blocks)
    ranks = tuple(replace(part, blocks=blocks) if r is part else r for r in program.ranks)
    return replace(program, ranks=ranks)


def test_without_symmetry_everything_stands_for_itself() -> None:
    table = blocks_of(programs.ring_allreduce(6, channels=2))
    quotient = trivial_quotient(table, SWITCH)
    assert quotient.representatives == list(range(12))
    assert quotient.link_orbit_size.tolist() == [1] * 12


def test_a_rotation_leaves_one_block_per_channel_and_two_kinds_of_links() -> None:
    table = blocks_of(programs.ring_allreduce(6, channels=2))
    quotient = program_quotient(table, programs.rotation(SWITCH))
    assert quotient is not None
    assert quotient.representatives == [0, 1]
    assert quotient.block_orbit_size.tolist() == [6] * 12
    assert sorted(set(quotient.link_orbit.tolist())) == [0, 1]
    assert quotient.link_orbit_size.tolist() == [6] * 12


def test_a_smaller_group_leaves_more() -> None:
    table = blocks_of(programs.ring_allreduce(6))
    quotient = program_quotient(table, programs.rotation(SWITCH, 2))
    assert quotient is not None
    assert quotient.representatives == [0, 1]
    assert quotient.block_orbit_size.tolist() == [3] * 6


def test_numbers_of_blocks_do_not_matter() -> None:
    plain = program_quotient(blocks_of(programs.direct_allgather(6)), programs.rotation(SWITCH))
    other = program_quotient(blocks_of(programs.direct_allgather(6, relabel=True)), programs.rotation(SWITCH))
    assert plain is not None
    assert other is not None
    assert len(plain.representatives) == len(other.representatives) == 11


@pytest.mark.parametrize(
    "values",
    [
        {"cnt": 2},
        {"type": StepType.RECV},
        {"has_dependents": True},
        {"depends": (0, 1)},
        {"depends": (2, 0)},
        {"depends": None},
        {"depends": (99, 0)},
    ],
)
def test_one_different_step_breaks_the_symmetry(values: dict[str, object]) -> None:
    program = programs.direct_allgather(6)
    assert program_quotient(blocks_of(program), programs.rotation(SWITCH)) is not None
    assert program_quotient(blocks_of(changed(program, 4, 1, **values)), programs.rotation(SWITCH)) is None


def test_one_more_step_or_block_breaks_the_symmetry() -> None:
    program = programs.ring_allreduce(6)
    first, *rest = program.ranks
    longer = replace(first.blocks[0], steps=(*first.blocks[0].steps, programs.step(StepType.COPY)))
    more = (*first.blocks, programs.block(9, [programs.step(StepType.COPY)], channel=1))
    for blocks in ((longer,), more):
        lopsided = replace(program, ranks=(replace(first, blocks=blocks), *rest))
        assert program_quotient(blocks_of(lopsided), programs.rotation(SWITCH)) is None


def test_a_permutation_that_does_not_keep_the_links_gives_no_quotient() -> None:
    line = strategies.without_links(strategies.ring(6), [0, 1])
    assert program_quotient(blocks_of(programs.ring_allreduce(6)), programs.rotation(line)) is None
