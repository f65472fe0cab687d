"""Runtimes as data."""

from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.program.ir import StepType
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.selection import addressed, selection
from syccl.program.targets import EXECUTOR, MSCCL, RCCL, TARGETS, Target, target_named
from tests.program.programs import allpairs_allreduce, direct_allgather

LIMITS = ("steps", "table_blocks", "channels", "peers", "awaited_blocks", "nodes", "chunks", "count", "fused")


@pytest.mark.parametrize(
    ("target", "limits"),
    [
        (EXECUTOR, (64, 1024, 32, 32, 128, 4095, 32768, 71, 16)),
        (MSCCL, (256, 216, 32, 32, 128, 4095, 32768, 71, 16)),
        (RCCL, (64, 64, 128, 32, 64, 4095, 32768, 71, 4095)),
    ],
    ids=lambda value: value.name if isinstance(value, Target) else "",
)
def test_runtimes_have_the_limits_of_their_sources(target: Target, limits: tuple[int, ...]) -> None:
    assert tuple(getattr(target, name) for name in LIMITS) == limits
    assert target.blocks <= target.table_blocks


def test_names_and_aliases_are_unique_and_understood() -> None:
    names = [name for target in TARGETS for name in (target.name, *target.aliases)]
    assert len(names) == len(set(names))
    assert [target_named(name.upper()).name for target in TARGETS for name in (target.name, *target.aliases)] == [
        target.name for target in TARGETS for _ in (target.name, *target.aliases)
    ]
    with pytest.raises(InputError, match=r"unknown target 'nccl'; choose one of msccl-executor-nccl \(or executor"):
        target_named("nccl")


def test_rccl_runs_nothing_that_does_two_things_at_once() -> None:
    assert {step_type.value for step_type in RCCL.step_types} == {"s", "r", "cpy", "re", "nop"}
    assert not any(step_type.sends and step_type.receives for step_type in RCCL.step_types)
    assert EXECUTOR.step_types == MSCCL.step_types == frozenset(StepType)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_last_size_of_a_file_is_taken_and_the_next_one_is_not(target: Target) -> None:
    made = addressed(direct_allgather(4), target, first_bytes=1024, last_bytes=4096)
    taken = selection(made, "float32", target)
    assert [size for size in (512, 1024, 4096, 4112) if taken.takes(size)] == [1024, 4096]
    assert selection(addressed(made, target), "float32", target).takes(2**40)


def test_a_file_for_the_first_runtime_is_for_one_kind_of_call() -> None:
    text = write_xml(addressed(allpairs_allreduce(3), MSCCL), MSCCL)
    assert 'inplace="1" minBytes="0"' in text
    read = read_xml(text, source="a.xml")
    assert read.in_place
    assert not read.out_of_place
    both = read_xml(write_xml(addressed(allpairs_allreduce(3), RCCL), RCCL), source="a.xml")
    assert both.in_place
    assert both.out_of_place


def test_each_runtime_gets_its_own_spelling() -> None:
    text = write_xml(direct_allgather(2)).replace("allgather", "reducescatter")
    program = read_xml(text, source="a.xml")
    spelled = {target.name: write_xml(program, target).split('coll="')[1].split('"')[0] for target in TARGETS}
    assert spelled == {"msccl-executor-nccl": "reducescatter", "msccl": "reduce_scatter", "rccl": "reducescatter"}


def test_what_a_runtime_does_not_know_is_not_written() -> None:
    text = write_xml(direct_allgather(2)).replace("allgather", "gather")
    with pytest.raises(InputError, match="msccl knows no gather; it has allreduce, allgather"):
        write_xml(read_xml(text, source="a.xml"), MSCCL)
