"""``syccl lower``: a program for a runtime from a schedule, or from a program for another runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import (
    datatype_option,
    json_option,
    protocol_option,
    show,
    show_findings,
    size_option,
    target_option,
)
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.cli.files import PlanFile
    from syccl.report.lowering import Lowering
    from syccl.schedule import Schedule


@click.command("lower", short_help="Make a program of a schedule.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--topo", metavar="FILE|NAME", help="Topology that a program in XML runs on; a schedule has its own.")
@size_option
@datatype_option
@protocol_option
@target_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write. Default: FILE.TARGET.xml, or FILE.mscclpp.json.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    file: Path,
    topo: str | None,
    size: str,
    datatype: str,
    protocol: str,
    target_name: str,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Make a program of FILE for a runtime: the fastest of several wirings that fits its limits, proved right.

    FILE is a schedule in JSON, or a program in XML for another runtime, which is lifted first (then --topo says what it
    runs on). A file that is wrong is not lowered: what is wrong is listed, and the exit code is 1.

    For example: syccl lower allreduce.json --target rccl --size 64MiB
    """
    from syccl.cli.common import read_protocol, read_size, read_target
    from syccl.cli.execution_plan import check_asked, is_mscclpp, plan_lines, planned, show_planned
    from syccl.cli.files import describe_plan, read_plan
    from syccl.cli.matrices import own_size
    from syccl.cli.outputs import PROGRAM, SCHEDULE, checked_output, write_all
    from syccl.cli.timing import wrong_in
    from syccl.program.msccl_xml import xml_lines
    from syccl.report import lowering as report
    from syccl.report.synthesis import to_json

    protocol, size_bytes = read_protocol(protocol), read_size(size, datatype)
    read = read_plan(file)
    findings = wrong_in(read.plan)
    if findings:
        show_findings(str(file), describe_plan(read.plan), findings, as_json=as_json)
        return 1
    schedule = _schedule(read, topo, size_bytes)
    if is_mscclpp(target_name):
        check_asked(protocol, schedule.demand.op.name)
        path = output or file.with_name(f"{file.stem}.mscclpp{SCHEDULE}")
        checked_output(path, suffixes=(SCHEDULE,), force=force)
        made_plan = planned(schedule, size_bytes=size_bytes, output=path)
        write_all({path: plan_lines(made_plan.plan)}, force=force)
        show_planned(made_plan, as_json=as_json)
        return 0
    target, size_bytes = read_target(target_name, schedule.demand.op), own_size(schedule, size_bytes)
    path = output or file.with_name(f"{file.stem}.{target.name}{PROGRAM}")
    checked_output(path, suffixes=(PROGRAM,), force=force)
    made = _lowered(schedule, size_bytes=size_bytes, options=(protocol, target_name, datatype), path=path)
    write_all({path: xml_lines(made.program, target)}, force=force)
    if as_json:
        click.echo(to_json(report.record(made)))
    else:
        show(report.table(made))
        click.echo("\n".join(report.next_steps(made)))
    return 0


def _schedule(read: PlanFile, topo: str | None, size_bytes: int) -> Schedule:
    from syccl.lowering.lift import lift
    from syccl.program import Program
    from syccl.topology.catalog import load_topology

    if not isinstance(read.plan, Program):
        if topo is not None:
            msg = "--topo is for programs in XML; a schedule says which topology it is for"
            raise InputError(msg)
        return read.plan
    if topo is None:
        msg = "a program does not say which topology it runs on; give one with --topo"
        raise InputError(msg)
    return lift(read.plan, load_topology(topo), size_bytes=size_bytes)


def _lowered(schedule: Schedule, *, size_bytes: int, options: tuple[str, str, str], path: Path) -> Lowering:
    from syccl.lowering.finish import finished, program_name
    from syccl.lowering.lower import fastest
    from syccl.program.targets import target_named
    from syccl.report.lowering import Lowering
    from syccl.simulate.cost import protocol_named
    from syccl.simulate.program_time import simulate_program
    from syccl.simulate.schedule_time import schedule_time

    protocol, target, datatype = protocol_named(options[0]), target_named(options[1]), options[2]
    best = fastest(schedule, protocol, target, size_bytes=size_bytes)
    name = program_name(schedule.demand.op, schedule.topology)
    program = finished(best, protocol, name=name, size_bytes=size_bytes)
    group = None if schedule.symmetry is None else schedule.symmetry.group
    took = simulate_program(program, schedule.topology, size_bytes=size_bytes, group=group)
    return Lowering(
        schedule=schedule,
        program=program,
        target=target,
        datatype=datatype,
        size_bytes=size_bytes,
        schedule_time_s=schedule_time(schedule, size_bytes=size_bytes).seconds,
        program_time_s=took.seconds,
        output=path,
    )
