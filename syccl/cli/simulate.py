"""``syccl simulate``: how long a program or a schedule takes on a topology."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import DEFAULT_DATATYPE, datatype_option, json_option, show, show_findings, size_option
from syccl.cli.matrices import matrix_option, unit_option
from syccl.cli.sweeps import read_sweep, sizes_of, sweep_options
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.cli.timing import PlanTimer
    from syccl.findings import Finding
    from syccl.program import Program
    from syccl.schedule import Schedule
    from syccl.tuning import Sweep

DEFAULT_FACTOR = 2.0


@click.command("simulate", short_help="Predict the time of a program or a schedule.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--topo", metavar="FILE|NAME", help="Topology to run on; a schedule knows its own.")
@size_option
@sweep_options(None, None, DEFAULT_FACTOR)
@matrix_option
@unit_option
@datatype_option
@click.option(
    "--links", type=click.IntRange(min=0), default=0, metavar="N", help="Also list the N links that are busiest."
)
@click.option(
    "--timeline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write when each step of a program runs, as a trace for ui.perfetto.dev or chrome://tracing.",
)
@click.option("--force", is_flag=True, help="Replace an existing timeline.")
@click.option(
    "--apart",
    is_flag=True,
    help="Take every link by itself: twin switches and NICs are not joined, and a connection keeps to one path.",
)
@click.option(
    "--profile", metavar="NAME", help="Cost profile instead of the topology's own: a100, h100, mi300x or generic."
)
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    file: Path,
    topo: str | None,
    size: str,
    first: str | None,
    last: str | None,
    factor: float | None,
    step: str | None,
    matrix_file: Path | None,
    matrix_unit: str,
    datatype: str,
    links: int,
    timeline: Path | None,
    force: bool,
    apart: bool,
    profile: str | None,
    as_json: bool,
) -> int:
    """Predict the time of FILE, a program in XML or a schedule in JSON.

    A program is run as a runtime does: thread blocks in sequence, bounded connections, links shared fairly. A schedule
    is timed with each link serving its transfers in order. A file that is wrong is not timed: what is wrong is listed,
    as verify lists it, and the exit code is 1.

    With -b or -e a table in the form of nccl-tests shows all sizes of the sweep.

    For example: syccl simulate allreduce.xml --topo a100x32 -b 64K -e 1G -f 4
    """
    from syccl.cli.files import describe_plan, read_plan
    from syccl.cli.matrices import own_size
    from syccl.cli.timing import plan_timer, wrong_in
    from syccl.findings import errors
    from syccl.units import parse_size

    size_bytes = parse_size(size)
    sweep = _sweep_asked(first, last, factor, step)
    if timeline is not None:
        _check_timeline(timeline, force=force)
    plan = read_plan(file).plan
    what = describe_plan(plan)
    found: tuple[Finding, ...] = ()
    if matrix_file is not None:
        plan, found, size_bytes = _with_matrix(plan, matrix_file, (matrix_unit, datatype), size_bytes)
    size_bytes = own_size(plan, size_bytes)
    wrong = errors(found) or wrong_in(plan, size_bytes=None if sweep else size_bytes)
    if wrong:
        show_findings(str(file), what, wrong, as_json=as_json)
        return 1
    timer = plan_timer(plan, topo, apart=apart, profile=profile)
    if timeline is not None:
        _write_timeline(timer, timeline, size_bytes, force=force)
    if sweep is not None:
        _tell_sweep(timer, f"{file}: {what}", sizes_of(timer, sweep, datatype), datatype=datatype, as_json=as_json)
    else:
        _tell(timer, (str(file), what), size_bytes, links=links, as_json=as_json)
    return 0


def _sweep_asked(first: str | None, last: str | None, factor: float | None, step: str | None) -> Sweep | None:
    """Return the sweep that the options ask for, None where they name no size."""
    from syccl.cli.matrices import refuse_size

    if first is None and last is None:
        if factor is not None or step is not None:
            msg = "-f and -i are steps of a sweep; give its sizes with -b and -e"
            raise InputError(msg)
        return None
    refuse_size("-b and -e say which sizes")
    limits = (first or last or "", last or first or "")
    return read_sweep(limits, factor, step, default_factor=DEFAULT_FACTOR)


def _with_matrix(
    plan: Program | Schedule, path: Path, form: tuple[str, str], size_bytes: int
) -> tuple[Program | Schedule, tuple[Finding, ...], int]:
    """Return the plan with what a matrix says about it, where it moves something else, and its size."""
    from syccl.cli.matrices import load_matrix, refuse_size, with_matrix
    from syccl.program import Program

    matrix = load_matrix(path, *form)
    plan, found = with_matrix(plan, matrix, source=str(path))
    if isinstance(plan, Program):
        refuse_size("the matrix says how much there is to move")
        size_bytes = matrix.size_bytes
    return plan, found, size_bytes


def _check_timeline(path: Path, *, force: bool) -> None:
    from syccl.cli.outputs import SCHEDULE, checked_output

    checked_output(path, suffixes=(SCHEDULE,), force=force)


def _write_timeline(timer: PlanTimer, path: Path, size_bytes: int, *, force: bool) -> None:
    from syccl.cli.outputs import write_all
    from syccl.program import Program
    from syccl.report.timeline import trace
    from syccl.simulate.timeline import timeline

    if not isinstance(timer.plan, Program):
        msg = "--timeline shows the steps of a program in XML; a schedule has none: lower it first (syccl lower)"
        raise InputError(msg)
    write_all({path: trace(timeline(timer.plan, timer.topology, size_bytes=size_bytes))}, force=force)


def _tell(timer: PlanTimer, said: tuple[str, str], size_bytes: int, *, links: int, as_json: bool) -> None:
    from syccl.report import simulation as report
    from syccl.report.synthesis import to_json

    timing = timer.at(size_bytes)
    _tell_selection(timer.plan, size_bytes)
    if as_json:
        click.echo(to_json(report.simulation_record(*said, timing, links=links)))
        return
    show(report.simulation_table(*said, timing))
    if links:
        click.echo()
        show(report.link_table(timing, links))


def _tell_sweep(timer: PlanTimer, what: str, sizes: tuple[int, ...], *, datatype: str, as_json: bool) -> None:
    from syccl.report import simulation as report
    from syccl.report.synthesis import to_json
    from syccl.simulate.profile import cost_words

    rows = report.sweep_records(timer.plan, timer.topology, timer.times(sizes), datatype)
    if as_json:
        profile = timer.profile or None
        click.echo(to_json({"what": what, "topology": timer.topology.name, "profile": profile, "sizes": rows}))
    else:
        click.echo(f"# {what}, on {timer.topology.name}")
        click.echo(f"# {cost_words(timer.profile)}")
        show(report.sweep_table(rows))


def _tell_selection(plan: Program | Schedule, size_bytes: int) -> None:
    """Say so on standard error when a runtime would not take a program for that size of the default element type."""
    from syccl.program import Program
    from syccl.program.selection import selection
    from syccl.report.selection import unselected_words

    if not isinstance(plan, Program):
        return
    words = unselected_words(selection(plan, DEFAULT_DATATYPE), size_bytes)
    if words:
        click.echo(f"note: with {DEFAULT_DATATYPE} a runtime would not use this file: {words}", err=True)
