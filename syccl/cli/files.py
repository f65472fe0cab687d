"""Reading the files that verbs are given: a program in XML or a schedule in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.program import Program
    from syccl.schedule import Schedule


@dataclass(frozen=True)
class PlanFile:
    """What a file holds, and its text."""

    plan: Program | Schedule
    text: str


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises
    ------
    InputError
        When it cannot be read or is no UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror or error}"
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path}: no text in UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
        raise InputError(msg) from error


def read_plan(path: Path) -> PlanFile:
    """Return what a file holds, told by its first character: ``<`` for a program, ``{`` for a schedule.

    Raises
    ------
    InputError
        When it is neither, or faulty.
    """
    return parse_plan(read_text(path), path)


def parse_plan(text: str, path: Path) -> PlanFile:
    """Return what the text of a file holds.

    Raises
    ------
    InputError
        When it is neither a program nor a schedule, or faulty.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        from syccl.program.msccl_xml import read_xml

        return PlanFile(read_xml(text, source=str(path)), text)
    if start == "{":
        from syccl.program.mscclpp.json_file import is_plan

        if is_plan(text):
            msg = f"{path}: an execution plan of MSCCL++: for syccl verify and syccl lint; its time is not simulated"
            raise InputError(msg)
        from syccl.schedule.json_file import read_json

        return PlanFile(read_json(text, source=str(path)), text)
    found = f"it starts with {start!r}" if start else "it is empty"
    msg = f"{path}: neither a program in XML nor a schedule in JSON; {found}"
    raise InputError(msg)


def describe_plan(plan: Program | Schedule) -> str:
    """Return in words what a file holds."""
    from syccl.program import Program
    from syccl.report.tables import counted

    if isinstance(plan, Program):
        return f"program, {plan.collective} over {counted(plan.size, 'rank')}, {counted(plan.chunks, 'chunk')}"
    demand = plan.demand
    ranks = f"{counted(demand.ranks, 'rank')} of {plan.topology.name}"
    return f"schedule, {demand.op.name} over {ranks}, {counted(demand.chunks, 'chunk')}"
