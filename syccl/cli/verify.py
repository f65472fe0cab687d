"""``syccl verify``: check a program or a schedule from the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import json_option, show_findings

if TYPE_CHECKING:
    from syccl.cli.files import PlanFile
    from syccl.findings import Finding


@click.command("verify", short_help="Check a program or a schedule.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--size", metavar="BYTES", help="Total size for which a program must not deadlock. Default: any.")
@json_option
def command(*, file: Path, size: str | None, as_json: bool) -> int:
    """Check FILE, a program in XML or a schedule in JSON: right result on every rank, no deadlock, no race.

    Nothing is known but what the file says. Findings go to standard output, one a line; the exit code is 1 when there
    is an error among them.
    """
    from syccl.cli.files import describe_plan, read_plan
    from syccl.findings import errors
    from syccl.units import parse_size

    size_bytes = None if size is None else parse_size(size)
    read = read_plan(file)
    findings = _check(read, size_bytes)
    show_findings(str(file), describe_plan(read.plan), findings, as_json=as_json)
    return 1 if errors(findings) else 0


def _check(read: PlanFile, size_bytes: int | None) -> tuple[Finding, ...]:
    from syccl.program import Program
    from syccl.report.findings import UNCHECKED

    if isinstance(read.plan, Program):
        from syccl.program.msccl_dialect import dialect_findings
        from syccl.program.verify import verify_program

        found = (*dialect_findings(read.text), *verify_program(read.plan, size_bytes=size_bytes))
        return (*found, UNCHECKED) if read.plan.collective == "custom" else found
    from syccl.schedule.verify import verify_schedule

    return verify_schedule(read.plan)
