"""``syccl synth``: make a schedule, verify it, write it, say how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl import __version__
from syccl.cli.common import (
    DEFAULT_TARGET,
    datatype_option,
    json_option,
    op_option,
    protocol_option,
    quiet_option,
    root_option,
    search_options,
    show,
    size_option,
    target_option,
    topology_options,
)
from syccl.cli.matrices import matrix_option, unit_option
from syccl.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from syccl.collective import Op
    from syccl.pipeline import Options, Synthesis
    from syccl.program.targets import Target
    from syccl.report.synthesis import Outcome
    from syccl.topology import Topology


@click.command("synth", short_help="Make a verified schedule and write it.")
@topology_options
@op_option
@size_option
@datatype_option
@protocol_option
@target_option
@root_option
@matrix_option
@unit_option
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write: .xml is the program, .json the schedule; may be given once for each. "
    "Default: OP.TOPOLOGY.SIZE.xml here, or .json above 128 GPUs.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@search_options("the best found so far is verified and written, and marked as such")
@quiet_option
@click.option("--explain", is_flag=True, help="Also print what was tried and what the solvers did.")
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    topo: str,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    op_name: str,
    size: str,
    datatype: str,
    protocol: str,
    target_name: str,
    root: int,
    matrix_file: Path | None,
    matrix_unit: str,
    outputs: tuple[Path, ...],
    force: bool,
    jobs: int,
    time_limit: float | None,
    cache: Path | None,
    no_cache: bool,
    quiet: bool,
    explain: bool,
    as_json: bool,
) -> int:
    """Make a verified schedule for a collective on a topology and write the file that a runtime loads.

    The file is written only after it passed verification. Standard output tells the predicted time beside a lower
    bound that no schedule can beat.

    For example: syccl synth --topo a100x32 --op allreduce --size 64MiB
    """
    from syccl.clock import Clock

    clock = Clock(time_limit)  # The imports below count.
    from syccl.cli.common import check_root, open_store, read_cluster, read_protocol, read_size, read_target
    from syccl.cli.execution_plan import check_asked, check_outputs, is_mscclpp, plan_lines, planned, show_planned
    from syccl.cli.matrices import asked_matrix
    from syccl.cli.outputs import PROGRAM, checked_outputs, write_all
    from syccl.collective import op_named
    from syccl.collective.datatypes import datatype_named

    store = open_store(cache, no_cache=no_cache)
    op, size_bytes = op_named(op_name), read_size(size, datatype)
    protocol = read_protocol(protocol)
    target = read_target(DEFAULT_TARGET if is_mscclpp(target_name) else target_name, op)
    topology = read_cluster(topo, without, halve)
    check_root(op, root, topology)
    if is_mscclpp(target_name):
        check_asked(protocol, op.name)
        check_outputs(outputs, force=force)
    matrix = asked_matrix(op, matrix_file, matrix_unit, datatype=datatype, topology=topology)
    size_bytes = size_bytes if matrix is None else matrix.size_bytes
    paths = outputs or (_default(topology, op, root, size_bytes),)
    if not is_mscclpp(target_name):
        checked_outputs(paths, force=force)

    from syccl.cli.progress import Progress
    from syccl.pipeline import Options, synthesize
    from syccl.unequal import synthesize_matrix

    options = Options(
        size_bytes=size_bytes,
        datatype=datatype_named(datatype),
        protocol=protocol,
        target=target,
        jobs=jobs,
        time_limit_s=time_limit,
        want_program=is_mscclpp(target_name) or any(path.suffix == PROGRAM for path in paths),
    )
    with Progress(quiet=quiet) as progress:
        if matrix is not None:
            made = synthesize_matrix(topology, matrix, options, progress=progress, clock=clock)
        else:
            made = synthesize(topology, op, options, root=root, progress=progress, store=store, clock=clock)
    if is_mscclpp(target_name):
        plan = planned(made.schedule, size_bytes=size_bytes, output=paths[0])
        write_all({paths[0]: plan_lines(plan.plan)}, force=force)
        if as_json or not quiet:
            show_planned(plan, as_json=as_json)
        return 0
    _write(made, options, paths, force=force)

    from syccl.report.synthesis import Outcome

    _tell(Outcome(made, options, paths), default=not outputs, quiet=quiet, explain=explain, as_json=as_json)
    return 0


def _default(topology: Topology, op: Op, root: int, size_bytes: int) -> Path:
    from syccl.cli.outputs import default_output
    from syccl.collective import ALLTOALLV
    from syccl.pipeline import LARGEST_DEFAULT_PROGRAM

    program = topology.ranks <= LARGEST_DEFAULT_PROGRAM and op != ALLTOALLV
    return default_output(topology.name, op, root=root, size_bytes=size_bytes, program=program)


def _write(made: Synthesis, options: Options, paths: tuple[Path, ...], *, force: bool) -> None:
    from syccl.cli.outputs import PROGRAM, write_all

    texts = {
        path: _program_text(made, options.target) if path.suffix == PROGRAM else _schedule_text(made, options)
        for path in paths
    }
    write_all(texts, force=force)


def _program_text(made: Synthesis, target: Target) -> Iterator[str]:
    from syccl.program.msccl_xml import xml_lines

    if made.program is None:
        msg = f"no program was made for {made.topology.name}"
        raise InternalError(msg)
    return xml_lines(made.program, target)


def _schedule_text(made: Synthesis, options: Options) -> str:
    from syccl.schedule.json_file import write_json

    asked = {name: getattr(options, name) for name in ("size_bytes", "datatype", "protocol")}
    return write_json(made.schedule, made_by={**asked, "seed": 0, "version": __version__})


def _tell(outcome: Outcome, *, default: bool, quiet: bool, explain: bool, as_json: bool) -> None:
    """Print warnings to standard error, and the table or the JSON record to standard output."""
    from syccl.report import synthesis as report

    _warn(outcome, default=default)
    if as_json:
        click.echo(report.to_json(report.record(outcome)))
    elif not quiet:
        show(report.table(outcome))
        for line in report.next_steps(outcome):
            click.echo(line)
    if explain and not as_json and not quiet:
        _explain(outcome.synthesis.explain)


def _explain(account: Mapping[str, object]) -> None:
    """Print why the winner won, what else was tried, and what the search did."""
    from syccl.report.explain import explained

    for title, part in explained(account):
        if isinstance(part, str):
            click.echo(f"\n{title}: {part}")
        else:
            click.echo(f"\n{title}:")
            show(part)


def _warn(outcome: Outcome, *, default: bool) -> None:
    ranks = outcome.synthesis.demand.ranks
    if default and outcome.outputs[0].suffix != ".xml" and not outcome.synthesis.demand.is_unequal:
        click.echo(
            f"note: {ranks} GPUs: the schedule is written, not a program; ask for one with -o FILE.xml", err=True
        )
    if any(path.suffix == ".xml" for path in outcome.outputs):
        from syccl.report.topology import tied_nics_words

        tied = tied_nics_words(outcome.synthesis.topology)
        if tied:
            click.echo(f"warning: {tied}", err=True)
    if outcome.synthesis.hit_time_limit:
        click.echo("warning: stopped at the time limit; the result depends on the speed of this machine", err=True)
