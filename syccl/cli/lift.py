"""``syccl lift``: the schedule that a program carries out."""

from __future__ import annotations

from pathlib import Path

import click

from syccl import __version__
from syccl.cli.common import show_findings, size_option, topo_option
from syccl.errors import InputError


@click.command("lift", short_help="Make a schedule of a program.")
@click.argument("file", type=click.Path(path_type=Path))
@topo_option
@size_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="File to write. Default: FILE with .json."
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
def command(*, file: Path, topo: str, size: str, output: Path | None, force: bool) -> int:
    """Make a schedule in JSON of FILE, a program in XML: who sends what to whom, without thread blocks and channels.

    Transfers keep the order in which the program makes them at --size. The schedule can be verified, simulated and
    lowered again for another runtime. A program that is wrong is not lifted: what is wrong is listed, and the exit code
    is 1.

    For example: syccl lift allgather.xml --topo a100x32 -o allgather.json
    """
    from syccl.cli.files import describe_plan, read_plan
    from syccl.cli.outputs import SCHEDULE, checked_output, write_all
    from syccl.cli.timing import wrong_in
    from syccl.lowering.lift import lift
    from syccl.program import Program
    from syccl.schedule.json_file import write_json
    from syccl.schedule.verify import verify_schedule
    from syccl.topology.catalog import load_topology
    from syccl.units import parse_size

    read = read_plan(file)
    if not isinstance(read.plan, Program):
        msg = f"{file} is a schedule already; lift makes one of a program in XML"
        raise InputError(msg)
    path = output or file.with_suffix(SCHEDULE)
    checked_output(path, suffixes=(SCHEDULE,), force=force)
    topology = load_topology(topo)
    findings = wrong_in(read.plan)
    if not findings:
        schedule = lift(read.plan, topology, size_bytes=parse_size(size))
        findings = verify_schedule(schedule)
    if findings:
        show_findings(str(file), describe_plan(read.plan), findings, as_json=False)
        return 1
    write_all({path: write_json(schedule, made_by={"version": __version__, "lifted_from": file.name})}, force=force)
    click.echo(f"{file}: {describe_plan(schedule)}, {len(schedule.transfers)} transfers: wrote {path}")
    return 0
