"""Reading programs and schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

from syccl.cli.files import describe_plan, read_plan
from syccl.errors import InputError
from syccl.program.msccl_xml import write_xml
from syccl.schedule.json_file import write_json
from tests.report.made import allgather_program, allgather_schedule
from tests.strategies import ring


def test_a_program_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_text("\n" + write_xml(allgather_program()))
    assert describe_plan(read_plan(path).plan) == "program, allgather over 2 ranks, 2 chunks"


def test_a_schedule_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_text(write_json(allgather_schedule(ring(2)), made_by={"seed": 0}))
    assert describe_plan(read_plan(path).plan) == "schedule, allgather over 2 ranks of ring2, 2 chunks"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "neither a program in XML nor a schedule in JSON; it is empty"),
        (b"name: a\n", "it starts with 'n'"),
        (b"<algo \xff", "no text in UTF-8: byte 6 is 0xff"),
        (b"<algo", r":1: not well-formed XML"),
        (b"{", "not JSON"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_plan(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot be read: No such file or directory"):
        read_plan(tmp_path / "none")
