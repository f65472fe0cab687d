"""Runtime files that others wrote and judged: the simulator must finish on the good ones and hang on the bad ones."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from syccl.errors import FindingsError, InputError
from syccl.program import Program
from syccl.program.msccl_xml import read_xml
from syccl.simulate.cost import PROTOCOLS
from syccl.simulate.program_time import simulate_program
from tests import strategies

MOST_STEPS = 12_000
"""Larger files say nothing new and take long."""


def judged(shared_data: Path, *verdicts: str) -> list[tuple[Program, str]]:
    folder = shared_data / "schedules" / "real"
    rows = csv.DictReader((folder / "EXPECTED.csv").read_text(encoding="utf-8").splitlines())
    found = []
    for row in rows:
        path = folder / row["file"]
        if row["verdict"] in verdicts and path.exists() and path.stat().st_size < 100 * MOST_STEPS:
            try:
                found.append((read_xml(path.read_text(encoding="utf-8"), source=row["file"]), row["why"]))
            except InputError:
                continue
    return found


def seconds(program: Program, size_bytes: int) -> float:
    return simulate_program(program, strategies.one_switch(program.size), size_bytes=size_bytes).seconds


def one_chunk_a_message(program: Program) -> int:
    """Size at which every chunk is a message of its own: the hardest for the FIFOs."""
    return program.chunks * PROTOCOLS[program.protocol].message_bytes


def test_good_programs_finish_even_when_every_chunk_is_a_message(shared_data: Path) -> None:
    programs = judged(shared_data, "OK")
    assert len(programs) > 20
    for program, _ in programs:
        assert seconds(program, one_chunk_a_message(program)) > 0


def test_hanging_programs_hang(shared_data: Path) -> None:
    programs = judged(shared_data, "BAD_DEADLOCK")
    assert len(programs) > 3
    for program, _ in programs:
        with pytest.raises((FindingsError, InputError), match=r"deadlocks|both own"):
            seconds(program, program.chunks * 256)


def test_programs_known_to_hang_above_a_size_hang_just_there(shared_data: Path) -> None:
    programs = judged(shared_data, "OK_SIZE")
    assert len(programs) > 3
    for program, why in programs:
        limit = int(re.findall(r"deadlocks above about (\d+) bytes", why)[0])
        assert seconds(program, limit) > 0
        with pytest.raises(FindingsError, match="deadlocks"):
            seconds(program, 2 * limit)


def test_files_with_one_fault_that_hangs_are_found(shared_data: Path) -> None:
    folder = shared_data / "schedules" / "faulty"
    for number in ("05", "07", "09", "11", "15"):
        (path,) = folder.glob(f"bad{number}_*.xml")
        program = read_xml(path.read_text(encoding="utf-8"), source=path.name)
        with pytest.raises(FindingsError, match="deadlocks"):
            seconds(program, program.chunks * 256)
