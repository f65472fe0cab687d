"""``syccl lint``: what runtimes would refuse, misread or leave out of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import json_option, show

if TYPE_CHECKING:
    from syccl.findings import Finding


@click.command("lint", short_help="Tell whether runtimes load a program.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--target",
    "target_name",
    default="all",
    show_default=True,
    metavar="NAME",
    help="Runtime to ask: msccl-executor-nccl, msccl, rccl or all; an execution plan is for mscclpp alone.",
)
@json_option
def command(*, file: Path, target_name: str, as_json: bool) -> int:
    """Tell what a runtime would refuse, misread or leave out of FILE, a program in XML.

    Each finding has its line, rule and remedy. A table then says for which sizes and element types the file is
    selected: a runtime that does not select it falls back to its own algorithms without a word. Whether the result is
    right is another question: syccl verify FILE.

    Or FILE is an execution plan of MSCCL++ in JSON: what its executor would refuse or run beyond its tables is listed.

    The exit code is 1 when none of the runtimes asked can use the file.
    """
    from syccl.cli.execution_plan import described_plan, is_plan, read_plan_json
    from syccl.cli.files import read_text
    from syccl.program.lint import lint
    from syccl.program.mscclpp.lint import lint_plan
    from syccl.program.targets import TARGETS, target_named
    from syccl.report import lint as report
    from syccl.report.synthesis import to_json

    text = read_text(file)
    if is_plan(text):
        plan = read_plan_json(text, source=str(file))
        return _tell_plan(str(file), described_plan(plan), lint_plan(plan), as_json=as_json)
    targets = TARGETS if target_name.lower() == "all" else (target_named(target_name),)
    found = lint(text, targets, source=str(file))
    if as_json:
        click.echo(to_json(report.record(str(file), found)))
    else:
        for line in report.findings_lines(found):
            click.echo(line)
        show(report.verdict_table(found))
        selected = report.selection_table(found)
        if selected.rows:
            click.echo()
            show(selected)
    return 0 if any(found.verdict(target) == "yes" for target in targets) else 1


def _tell_plan(name: str, what: str, findings: tuple[Finding, ...], *, as_json: bool) -> int:
    from syccl.findings import errors
    from syccl.report.execution_plan import lint_lines, lint_record
    from syccl.report.synthesis import to_json

    if as_json:
        click.echo(to_json(lint_record(name, what, findings)))
    else:
        click.echo("\n".join(lint_lines(name, what, findings)))
    return 1 if errors(findings) else 0
