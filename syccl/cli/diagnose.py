"""``syccl diagnose``: which part of a cluster is slow or hangs."""

from __future__ import annotations

from pathlib import Path

import click

from syccl.cli.common import json_option, show, topology_options
from syccl.errors import InputError

FAULTY = 1


@click.command("diagnose", short_help="Find the slow or hanging part of a cluster.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@topology_options
@click.option(
    "--paths",
    "paths_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Paths of connections, as syccl paths -o writes them. Default: the default routes of the topology.",
)
@click.option(
    "--healthy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Times of the same connections when all was well. Default: connections are compared with each other.",
)
@click.option(
    "--persist",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Windows (and operations) in which slowness must show; all, where there are fewer.",
)
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    files: tuple[Path, ...],
    topo: str,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    paths_path: Path | None,
    healthy: Path | None,
    persist: int,
    as_json: bool,
) -> int:
    """Find what is slow or hangs, from times of connections and of operations.

    FILE is a CSV with a header: src,dst,bytes,time_us and optionally window, channel, queue_pair, posted, completed for
    connections; rank,sequence,start_us,end_us for operations; or JSON lines of NCCL's inspector. At most one of each.
    The exit code is 1 where something is at fault.

    For example: syccl diagnose times.csv --topo a100x32
    """
    from syccl.cli.files import read_text
    from syccl.report.diagnosis import diagnosis_lines, diagnosis_record, diagnosis_table
    from syccl.report.synthesis import to_json
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import degraded
    from syccl.topology.parallel import joined_ways
    from syccl.traffic.c4d import Timings, diagnose, read_records, ways_joined
    from syccl.traffic.c4d.paths_file import read_paths

    stated = degraded(find_topology(topo), without=without, halved=halve)
    topology, ways = stated, None
    if paths_path is None:
        joined = joined_ways(stated)
        topology, ways = joined.topology, ways_joined(stated, joined)
    paths = None
    if paths_path is not None:
        paths = read_paths(read_text(paths_path), source=str(paths_path), topology=topology)
    records = [read_records(read_text(file), source=str(file), ranks=topology.ranks) for file in files]
    usual = None
    if healthy is not None:
        known = read_records(read_text(healthy), source=str(healthy), ranks=topology.ranks)
        if not isinstance(known, Timings):
            msg = f"--healthy {healthy}: times of connections are needed, not of operations"
            raise InputError(msg)
        usual = known
    found = diagnose(topology, records, paths=paths, persist=persist, healthy=usual, ways=ways)
    if as_json:
        click.echo(to_json(diagnosis_record(topology, found)))
    elif not found.faults:
        click.echo("nothing is at fault")
    else:
        show(diagnosis_table(found))
        click.echo("\n".join(diagnosis_lines(topology, found, hashed=topology is not stated)))
    return FAULTY if found.faults else 0
