"""``syccl tune``: the fewest programs for a sweep over sizes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import (
    datatype_option,
    json_option,
    op_option,
    protocol_option,
    quiet_option,
    root_option,
    search_options,
    show,
    target_option,
    topology_options,
)
from syccl.cli.sweeps import read_sweep, sweep_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syccl.cli.folder import Folder
    from syccl.collective import Op
    from syccl.report.tuning import Report
    from syccl.topology import Topology
    from syccl.tuning import Sweep, Tuned

DEFAULT_FIRST, DEFAULT_LAST, DEFAULT_FACTOR = "1K", "4G", 2.0


@click.command("tune", short_help="Make the fewest programs for a sweep over sizes.")
@topology_options
@op_option
@sweep_options(DEFAULT_FIRST, DEFAULT_LAST, DEFAULT_FACTOR)
@datatype_option
@protocol_option
@target_option
@root_option
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for index.json and, in msccl-algorithms/, the programs. Default: OP.TOPOLOGY.tuned here.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@click.option(
    "--nccl-tuner",
    "tuner_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write which of NCCL's own rings and trees is best at which size, for NCCL's example tuner plugin.",
)
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), metavar="FILE", help="Also write the table as CSV.")
@search_options("the programs found by then serve all sizes")
@quiet_option
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    topo: str,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    op_name: str,
    first: str,
    last: str,
    factor: float | None,
    step: str | None,
    datatype: str,
    protocol: str,
    target_name: str,
    root: int,
    folder: Path | None,
    force: bool,
    csv_file: Path | None,
    tuner_file: Path | None,
    jobs: int,
    time_limit: float | None,
    cache: Path | None,
    no_cache: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Make the fewest programs that serve a sweep over sizes, each for one range of bytes.

    Every size is served within 2 % of the fastest program made for any size of the sweep, all of them simulated at
    every size that selects them. Files are verified before they are written. Sizes are those that nccl-tests runs with
    the same letters: rounded down to whole elements and, where every rank has a block of the buffer, to a multiple of
    16 bytes a rank.

    For example: syccl tune --topo a100x32 --op allreduce -b 1K -e 4G -f 2
    """
    from syccl.cli.common import check_root, open_store, read_cluster, read_protocol, read_target
    from syccl.cli.progress import Progress
    from syccl.collective import op_named
    from syccl.collective.datatypes import datatype_named
    from syccl.pipeline import Options
    from syccl.tuning import sweep_sizes, tune
    from syccl.tuning.nccl_tuner import require_tunable

    store = open_store(cache, no_cache=no_cache)
    op, sweep = op_named(op_name), read_sweep((first, last), factor, step, default_factor=DEFAULT_FACTOR)
    options = Options(
        0,
        datatype_named(datatype),
        read_protocol(protocol),
        target=read_target(target_name, op),
        jobs=jobs,
        time_limit_s=time_limit,
    )
    topology = read_cluster(topo, without, halve)
    check_root(op, root, topology)
    folder = folder or _default(topology, op, root)
    if tuner_file is not None:
        require_tunable(op)
    _check_outputs(folder, [path for path in (csv_file, tuner_file) if path is not None], force=force)
    sizes = sweep_sizes(sweep, op, topology.ranks, options.datatype)
    with Progress(quiet=quiet) as progress:
        tuned = tune(topology, op, sizes, options, root=root, store=store, progress=progress)

    from syccl.report.tuning import Report

    parts = [
        word for option, names in (("--without", without), ("--halve", halve)) for n in names for word in (option, n)
    ]
    report = Report(tuned, _command(["--topo", topo, *parts], sweep, tuned), folder)
    _write(report, csv_file, force=force, quiet=quiet)
    if tuner_file is not None:
        _write_tuner(report, tuner_file, sizes, force=force, quiet=quiet)
    _tell(report, quiet=quiet, as_json=as_json)
    return 0


def _default(topology: Topology, op: Op, root: int) -> Path:
    from syccl.report.tuning import stem

    return Path(f"{stem(topology, op, root)}.tuned")


def _check_outputs(folder: Path, files: Sequence[Path], *, force: bool) -> None:
    from syccl.cli.outputs import check_output

    _folder(folder).check(force=force)
    for file in files:
        check_output(file, force=force)


def _folder(path: Path) -> Folder:
    from syccl.cli.folder import Folder
    from syccl.report.tuning import ALGORITHMS, INDEX

    return Folder(path, index=INDEX, files=ALGORITHMS)


def _command(cluster: Sequence[str], sweep: Sweep, tuned: Tuned) -> str:
    """Return the command that makes the same files, with all that they depend on."""
    prepared, options = tuned.prepared, tuned.options
    step = ["-f", f"{sweep.factor:.17g}"] if sweep.step_bytes is None else ["-i", str(sweep.step_bytes)]
    root = ["--root", str(prepared.root)] if prepared.op.rooted else []
    limits = ["-b", str(sweep.first_bytes), "-e", str(sweep.last_bytes), *step]
    forms = ["--datatype", options.datatype, "--protocol", options.protocol, "--target", options.target.name]
    return shlex.join(["syccl", "tune", *cluster, "--op", prepared.op.name, *limits, *forms, *root])


def _write(report: Report, csv_file: Path | None, *, force: bool, quiet: bool) -> None:
    from syccl.cli.outputs import write_all
    from syccl.cli.progress import Progress
    from syccl.report.synthesis import to_json
    from syccl.report.tuning import csv_text, index
    from syccl.tuning.tuned import written

    with Progress(quiet=quiet) as progress:
        progress(f"verifying {len(report.files)} programs")
        files = zip(report.files, written(report.tuned), strict=True)
        _folder(report.folder).write(files, to_json(index(report)) + "\n", force=force)
    if csv_file is not None:
        write_all({csv_file: csv_text(report)}, force=force)


def _write_tuner(report: Report, path: Path, sizes: Sequence[int], *, force: bool, quiet: bool) -> None:
    from syccl.cli.outputs import write_all
    from syccl.cli.progress import Progress
    from syccl.tuning.nccl_tuner import tuner_lines

    with Progress(quiet=quiet) as progress:
        text = "".join(tuner_lines(report.tuned.prepared, sizes, progress=progress))
    write_all({path: text}, force=force)


def _tell(report: Report, *, quiet: bool, as_json: bool) -> None:
    """Print warnings to standard error, and the tables or the JSON record to standard output."""
    from syccl.report import tuning
    from syccl.report.synthesis import to_json
    from syccl.report.topology import tied_nics_words

    for note in tuning.notes(report):
        click.echo(f"note: {note}", err=True)
    tied = tied_nics_words(report.tuned.prepared.topology)
    if tied:
        click.echo(f"warning: {tied}", err=True)
    if report.tuned.hit_time_limit:
        click.echo("warning: stopped at the time limit; the result depends on the speed of this machine", err=True)
    if as_json:
        click.echo(to_json(tuning.record(report)))
    elif not quiet:
        for table in (tuning.summary(report), tuning.size_table(report), tuning.schedule_table(report)):
            show(table)
            click.echo()
        click.echo("\n".join(tuning.next_steps(report)))
