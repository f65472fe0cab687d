"""``syccl simulate``: how long a program or a schedule takes on a topology."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import DEFAULT_DATATYPE, datatype_option, json_option, show, show_findings, size_option
from syccl.cli.matrices import matrix_option, unit_option
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.findings import Finding
    from syccl.program import Program
    from syccl.report.simulation import Timing
    from syccl.schedule import Schedule


@click.command("simulate", short_help="Predict the time of a program or a schedule.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--topo", metavar="FILE|NAME", help="Topology to run on; a schedule knows its own.")
@size_option
@matrix_option
@unit_option
@datatype_option
@json_option
def command(
    *,
    file: Path,
    topo: str | None,
    size: str,
    matrix_file: Path | None,
    matrix_unit: str,
    datatype: str,
    as_json: bool,
) -> int:
    """Predict the time of FILE, a program in XML or a schedule in JSON.

    A program is run as a runtime does: thread blocks in sequence, bounded connections, links shared fairly. A schedule
    is timed with each link serving its transfers in order. A program that is wrong is not run: what is wrong is listed,
    as verify lists it, and the exit code is 1.
    """
    from syccl.cli.files import describe_plan, read_plan
    from syccl.cli.matrices import load_matrix, own_size, refuse_size, with_matrix
    from syccl.findings import errors
    from syccl.program import Program
    from syccl.report.simulation import simulation_record, simulation_table
    from syccl.report.synthesis import to_json
    from syccl.units import parse_size

    size_bytes = parse_size(size)
    plan = read_plan(file).plan
    what = describe_plan(plan)
    found: tuple[Finding, ...] = ()
    if matrix_file is not None:
        matrix = load_matrix(matrix_file, matrix_unit, datatype)
        plan, found = with_matrix(plan, matrix, source=str(matrix_file))
        if isinstance(plan, Program):
            refuse_size("the matrix says how much there is to move")
            size_bytes = matrix.size_bytes
    timing = found if errors(found) else _time(plan, topo, own_size(plan, size_bytes))
    if isinstance(timing, tuple):
        show_findings(str(file), what, timing, as_json=as_json)
        return 1
    if as_json:
        click.echo(to_json(simulation_record(str(file), what, timing)))
    else:
        show(simulation_table(str(file), what, timing))
    return 0


def _time(plan: Program | Schedule, topo: str | None, size_bytes: int) -> Timing | tuple[Finding, ...]:
    """Return the predicted time, or what is wrong with a program that must not be run."""
    from syccl.program import Program

    return _program_timing(plan, topo, size_bytes) if isinstance(plan, Program) else _timing(plan, topo, size_bytes)


def _program_timing(program: Program, topo: str | None, size_bytes: int) -> Timing | tuple[Finding, ...]:
    from syccl.findings import errors
    from syccl.program.verify import verify_program
    from syccl.report.simulation import Timing
    from syccl.simulate.program_time import simulate_program
    from syccl.topology.catalog import load_topology

    if topo is None:
        msg = "a program does not say which topology it runs on; give one with --topo"
        raise InputError(msg)
    topology = load_topology(topo)
    findings = verify_program(program, size_bytes=size_bytes)
    if errors(findings):
        return findings
    _tell_selection(program, size_bytes)
    run = simulate_program(program, topology, size_bytes=size_bytes)
    return Timing(topology, program.collective, size_bytes, run.seconds, run.bottleneck)


def _tell_selection(program: Program, size_bytes: int) -> None:
    """Say so on standard error when a runtime would not take the file for that size of the default element type."""
    from syccl.program.selection import selection
    from syccl.report.selection import unselected_words

    words = unselected_words(selection(program, DEFAULT_DATATYPE), size_bytes)
    if words:
        click.echo(f"note: with {DEFAULT_DATATYPE} a runtime would not use this file: {words}", err=True)


def _timing(schedule: Schedule, topo: str | None, size_bytes: int) -> Timing:
    from syccl.report.simulation import Timing
    from syccl.simulate.schedule_time import schedule_time
    from syccl.topology.catalog import load_topology
    from syccl.topology.identity import topology_hash

    topology = schedule.topology
    if topo is not None and topology_hash(load_topology(topo)) != topology_hash(topology):
        msg = f"the schedule was made for {topology.name!r}, and --topo {topo!r} differs; leave --topo out"
        raise InputError(msg)
    run = schedule_time(schedule, size_bytes=size_bytes)
    return Timing(topology, schedule.demand.op.name, size_bytes, run.seconds, run.bottleneck)
