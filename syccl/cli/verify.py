"""``syccl verify``: check a program, a schedule or the proof of a bound from the file alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import datatype_option, json_option, show_findings
from syccl.cli.matrices import matrix_option, unit_option
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.cli.files import PlanFile
    from syccl.findings import Finding


@click.command("verify", short_help="Check a program, a schedule or a proof.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--size", metavar="BYTES", help="Total size for which a program must not deadlock. Default: any.")
@matrix_option
@unit_option
@datatype_option
@json_option
def command(
    *, file: Path, size: str | None, matrix_file: Path | None, matrix_unit: str, datatype: str, as_json: bool
) -> int:
    """Check FILE, a program in XML or a schedule in JSON: right result on every rank, no deadlock, no race.

    Or FILE is an execution plan of MSCCL++ in JSON, of which the same is checked, signals and barriers included.

    Or FILE is the proof of a lower bound that `syccl bound --certificate` wrote: its claim is checked in exact numbers.

    With --matrix, a schedule or program of alltoallv must move what the matrix says. The file of a program does not say
    it: without a matrix its result is not checked.

    Nothing is known but what the file says. Findings go to standard output, one a line; the exit code is 1 when there
    is an error among them.
    """
    from syccl.cli.execution_plan import is_plan
    from syccl.cli.files import describe_plan, parse_plan, read_text
    from syccl.cli.matrices import load_matrix, proof_findings, with_matrix
    from syccl.findings import errors
    from syccl.proof.json_file import is_certificate, read_certificate
    from syccl.units import parse_size

    size_bytes = None if size is None else parse_size(size)
    text = read_text(file)
    if is_certificate(text):
        what, findings = _check_proof(text, str(file))
        if matrix_file is not None:
            matrix = load_matrix(matrix_file, matrix_unit, datatype)
            findings += proof_findings(read_certificate(text, source=str(file)), matrix, source=str(matrix_file))
    elif is_plan(text):
        what, findings = _check_execution_plan(text, str(file))
        if matrix_file is not None:
            msg = "--matrix is for schedules and programs of alltoallv; execution plans have none"
            raise InputError(msg)
    else:
        read = parse_plan(text, file)
        what, findings = describe_plan(read.plan), ()
        if matrix_file is not None:
            matrix = load_matrix(matrix_file, matrix_unit, datatype)
            plan, findings = with_matrix(read.plan, matrix, source=str(matrix_file))
            read, size_bytes = replace(read, plan=plan), size_bytes or matrix.size_bytes
        findings = (*findings, *_check(read, size_bytes))
    show_findings(str(file), what, findings, as_json=as_json)
    return 1 if errors(findings) else 0


def _check_proof(text: str, source: str) -> tuple[str, tuple[Finding, ...]]:
    from syccl.proof import verify_certificate
    from syccl.proof.json_file import claim, read_certificate
    from syccl.units import format_size

    stated = read_certificate(text, source=source)
    size = format_size(stated.size_bytes)
    what = f"proof for {stated.op.name} of {size} over {stated.topology.ranks} ranks: {claim(stated)}"
    return what, verify_certificate(stated)


def _check_execution_plan(text: str, source: str) -> tuple[str, tuple[Finding, ...]]:
    from syccl.cli.execution_plan import described_plan, read_plan_json
    from syccl.program.mscclpp.verify import verify_plan

    plan = read_plan_json(text, source=source)
    return described_plan(plan), verify_plan(plan)


def _check(read: PlanFile, size_bytes: int | None) -> tuple[Finding, ...]:
    from syccl.program import Program
    from syccl.report.findings import UNCHECKED

    if isinstance(read.plan, Program):
        from syccl.program.msccl_dialect import dialect_findings
        from syccl.program.semantics import states_result
        from syccl.program.verify import verify_program

        found = (*dialect_findings(read.text), *verify_program(read.plan, size_bytes=size_bytes))
        return found if states_result(read.plan) else (*found, UNCHECKED)
    from syccl.schedule.verify import verify_schedule

    return verify_schedule(read.plan)
