"""The files in schedules/ are what they claim to be, judged from the files alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from syccl.bounds import lower_bound
from syccl.collective import op_named
from syccl.program.msccl_xml import read_xml
from syccl.program.replay import replay_findings
from syccl.program.verify import verify_program
from syccl.schedule.json_file import read_json
from syccl.schedule.verify import verify_schedule
from syccl.simulate.program_time import simulate_program
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology.catalog import load_topology
from syccl.units import parse_size
from tests.bundled import FOLDER, listed

FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in {".json", ".xml"})
LARGEST_BYTES = 1_500_000
WORST = {".json": 1.1, ".xml": 2.0}
"""Most that a time may be over the bound: of a schedule, and of a program, which is small here and rules by latency."""


def stated(path: Path) -> tuple[str, str, int]:
    """Collective, topology and size of a file's name."""
    op, topology, size = path.stem.split(".")
    return op, topology, parse_size(size)


def test_every_file_is_listed_with_the_command_that_makes_it() -> None:
    assert sorted(listed()) == [path.name for path in FILES]
    for name, command in listed().items():
        op, topology, size = Path(name).stem.split(".")
        assert command == f"syccl synth --topo {topology} --op {op} --size {size}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST_BYTES


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.name)
def test_schedules_are_correct_and_near_the_bound(path: Path) -> None:
    op, name, size_bytes = stated(path)
    topology = load_topology(name)
    schedule = read_json(path.read_text(encoding="utf-8"), source=path.name, topology=topology)
    assert schedule.demand.op.name == op
    assert verify_schedule(schedule) == ()
    assert over_bound(path, schedule_time(schedule, size_bytes=size_bytes).seconds) <= WORST[path.suffix]


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".xml"], ids=lambda path: path.name)
def test_programs_are_correct_compute_right_numbers_and_are_near_the_bound(path: Path) -> None:
    op, name, size_bytes = stated(path)
    topology = load_topology(name)
    program = read_xml(path.read_text(encoding="utf-8"), source=path.name)
    assert (program.collective, len(program.ranks)) == (op, topology.ranks)
    assert [finding for finding in verify_program(program, size_bytes=size_bytes) if finding.severity != "note"] == []
    assert replay_findings(program, seed=1) == ()
    assert over_bound(path, simulate_program(program, topology, size_bytes=size_bytes).seconds) <= WORST[path.suffix]


def over_bound(path: Path, seconds: float) -> float:
    op, name, size_bytes = stated(path)
    topology = load_topology(name)
    bound = lower_bound(
        topology, op_named(op), size_bytes=size_bytes, group=find_group(topology), islands=islands(topology)
    )
    assert seconds >= bound.seconds * (1 - 1e-9)
    return seconds / bound.seconds
