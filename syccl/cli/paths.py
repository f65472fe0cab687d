"""``syccl paths``: a path for every connection of jobs, a program or a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import DEFAULT_SIZE, halve_option, json_option, show, topo_option
from syccl.cli.connections import addresses_of, connection_options
from syccl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syccl.topology import Topology
    from syccl.traffic.c4p import Connection

_JSON = (".json",)
_PLAN_STARTS = ("<", "{")


@click.command("paths", short_help="Plan a path for every connection.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@topo_option
@click.option(
    "--size",
    metavar="BYTES",
    help=f"Size of the collective, for a program or schedule. A jobs file states sizes. Default: {DEFAULT_SIZE}.",
)
@connection_options()
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of the hash, from which each switch's own follows.",
)
@click.option(
    "--most-parts",
    type=click.IntRange(1, 128),
    default=1,
    show_default=True,
    metavar="N",
    help="Parts into which a connection may be split; as few are as make the load even.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="PART",
    help="Replan after this part failed: link:A/B, switch:NAME, ...; may be repeated.",
)
@halve_option
@click.option(
    "--paths-per-connection",
    type=click.IntRange(1, 1024),
    default=128,
    show_default=True,
    metavar="K",
    help="Paths over which packets are sprayed, where that is compared.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON of paths and UDP source ports to write, for a net plugin.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    file: Path,
    topo: str,
    size: str | None,
    queue_pairs: int,
    most_parts: int,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    paths_per_connection: int,
    hash_name: str,
    seed: int,
    addresses: Path | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Plan the paths of all connections of FILE: a jobs file, a program (XML) or a schedule (JSON).

    Connections share the ports of their NICs, the uplinks of leaves and the spines evenly, whatever failed. Told is how
    busy the busiest link is, beside what no choice of paths can beat, what hashing by --hash (ECMP) and what packet
    spray give.

    For example: syccl paths examples/jobs.yaml --topo fabric.yaml --queue-pairs 2 -o paths.json
    """
    from syccl.cli.outputs import checked_output, write_all
    from syccl.report.paths import Study, paths_file, paths_record, paths_table, replan_table
    from syccl.report.synthesis import to_json
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import degraded
    from syccl.traffic.c4p import plan_paths, replan, ways_of
    from syccl.traffic.c4p.hashing import Hashing, hashed_pieces
    from syccl.traffic.c4p.ports import source_ports

    if output is not None:
        checked_output(output, suffixes=_JSON, force=force)
    topology = degraded(find_topology(topo), halved=halve)
    known = addresses_of(topology, addresses)
    connections = _connections(file, topology, size, queue_pairs)
    ways = ways_of(topology, connections)
    plan = plan_paths(topology, connections, ways, most_parts=most_parts)
    hashing = Hashing(hash_name, seed)
    study = Study(
        plan,
        hashed_pieces(topology, connections, ways, hashing),
        hashed_pieces(topology, connections, ways, hashing, paths=paths_per_connection),
        paths_per_connection,
        replan(plan, without, hashing) if without else None,
    )
    if output is not None:
        final, final_ways = (plan, ways) if study.after is None else (study.after.plan, study.after.ways)
        ports = source_ports(final, final_ways, hashing, known)
        write_all({output: to_json(paths_file(final, ports, hashing, known)) + "\n"}, force=force)
    if as_json:
        click.echo(to_json(paths_record(study, output)))
        return 0
    show(paths_table(study))
    if study.after is not None:
        click.echo()
        show(replan_table(study, study.after))
    if output is not None:
        click.echo(f"wrote {output}")
    return 0


def _connections(file: Path, topology: Topology, size: str | None, queue_pairs: int) -> Sequence[Connection]:
    from syccl.cli.files import parse_plan, read_text
    from syccl.cli.job_sends import done_by, file_sends, job_sends
    from syccl.traffic import read_jobs
    from syccl.traffic.c4p import connections_of
    from syccl.units import parse_size

    text = read_text(file)
    if text.lstrip("\ufeff \t\r\n").startswith(_PLAN_STARTS):
        plan = parse_plan(text, file).plan
        ranks = done_by(plan)[1]
        if ranks != topology.ranks:
            msg = f"{file} is over {ranks} ranks, {topology.name} has {topology.ranks} GPUs"
            raise InputError(msg)
        sends = file_sends(plan, file, parse_size(size or DEFAULT_SIZE))
        return connections_of(topology, file.stem, range(ranks), sends, queue_pairs=queue_pairs)
    if size is not None:
        msg = f"--size {size}: {file} is a jobs file, which states its sizes"
        raise InputError(msg)
    jobs = read_jobs(text, source=str(file), topology=topology)
    return [
        each
        for job in jobs
        for each in connections_of(
            topology, job.name, job.ranks, job_sends(job, topology, file), queue_pairs=queue_pairs
        )
    ]
