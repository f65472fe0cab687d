"""Write ``docs/cli.md`` from the command line itself: ``python -m tests.cli.reference``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from syccl.cli.main import root

PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"

HEAD = """\
# Command line

This page is generated: `python -m tests.cli.reference` writes it anew, and a test compares it.

Results go to standard output, messages to standard error. `--json` prints everything with units in the names. Progress
shows after two seconds, on a terminal only.

| exit code | meaning |
|---|---|
| 0 | The file asked for was written and verified, or the thing asked about holds. |
| 1 | It does not hold; what was found is listed. |
| 2 | Wrong command line. |
| 3 | An input is wrong; the message names file, line or field. |
| 4 | No schedule exists, and that is proved. |
| 5 | A limit was reached before an answer was found. |
| 70 | A bug in syccl: its own output failed verification. `SYCCL_DEBUG=1` shows where. |
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every verb with its full name, groups before their members."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            member = command.get_command(context, verb)
            assert member is not None
            yield from commands(member, f"{name} {verb}")
    else:
        yield name, command


def section(name: str, command: click.Command) -> str:
    """One verb: how it is written, what it does, its options."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option)]
    usage = " ".join([name, "[OPTIONS]", *(param.metavar or str(param.name).upper() for param in arguments)])
    text = inspect.cleandoc(command.help or "")
    lines = [f"## {name}", "", f"    {usage}", "", text, ""]
    if options:
        lines += ["| option | meaning |", "|---|---|", *(option_row(option) for option in options), ""]
    return "\n".join(lines)


def option_row(option: click.Option) -> str:
    """One option as a row of a table."""
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    notes = " Required." if option.required else ""
    if option.show_default:
        notes += f" Default: {option.default}."
    names = ", ".join(f"`{name}{value}`" for name in option.opts).replace("|", "\\|")
    return f"| {names} | {option.help}{notes} |"


def page() -> str:
    """The whole page."""
    sections = [section(name, command) for name, command in commands(root, "syccl")]
    return "\n".join([HEAD, *sections]).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
