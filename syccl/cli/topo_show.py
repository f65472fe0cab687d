"""The verbs of ``syccl topo`` that look at topologies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import json_option, show, size_option

if TYPE_CHECKING:
    from syccl.topology import Topology


@click.command("list")
@json_option
def list_bundled(*, as_json: bool) -> int:
    """List the bundled topologies."""
    from syccl.report.synthesis import to_json
    from syccl.report.topology import bundle_records, bundle_table
    from syccl.topology.catalog import bundled_topologies, find_topology

    topologies = [find_topology(name) for name in bundled_topologies()]
    if as_json:
        click.echo(to_json({"topologies": bundle_records(topologies)}))
    else:
        show(bundle_table(topologies))
    return 0


@click.command("show", short_help="Show one topology in words.")
@click.argument("topology", metavar="FILE|NAME")
@json_option
def show_one(*, topology: str, as_json: bool) -> int:
    """Show a topology: nodes, ranks, sorts of links, symmetry, groups of GPUs, bandwidths, NICs, bisection."""
    from syccl.report.portrait import portrait_record, portrait_tables
    from syccl.report.synthesis import to_json
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands
    from syccl.topology.catalog import find_topology
    from syccl.topology.check import disconnected_parts

    loaded = find_topology(topology)
    group, parts = find_group(loaded), islands(loaded)
    if as_json:
        click.echo(to_json(portrait_record(loaded, group, parts)))
    else:
        for title, table in portrait_tables(loaded, group, parts):
            click.echo(f"\n{title}:" if title else "", nl=bool(title))
            show(table)
    if disconnected_parts(loaded):
        click.echo("warning: not every GPU reaches every GPU", err=True)
    return 0


@click.command("check", short_help="Say what looks wrong with a topology.")
@click.argument("topology", metavar="FILE|NAME")
@json_option
def check_one(*, topology: str, as_json: bool) -> int:
    """Report one-way and lopsided links, idle NICs, GPUs on slow paths, speeds that cannot be, disconnected parts.

    The exit code is 1 where no collective can work.
    """
    from syccl.cli.common import show_findings
    from syccl.findings import errors
    from syccl.topology.catalog import find_topology
    from syccl.topology.health import health

    loaded = find_topology(topology)
    found = health(loaded)
    show_findings(topology, f"topology, {loaded.ranks} GPUs", found, as_json=as_json)
    return 1 if errors(found) else 0


@click.command("diff", short_help="Compare two topologies.")
@click.argument("before", metavar="FILE|NAME")
@click.argument("after", metavar="FILE|NAME")
@json_option
def compare(*, before: str, after: str, as_json: bool) -> int:
    """Say how the second topology differs from the first: nodes and links by name, bandwidths, ranks.

    The exit code is 1 where they differ.
    """
    from syccl.report.difference import difference_lines, difference_record
    from syccl.report.synthesis import to_json
    from syccl.topology.catalog import find_topology
    from syccl.topology.diff import difference

    found = difference(find_topology(before), find_topology(after))
    if as_json:
        click.echo(to_json(difference_record(found)))
    else:
        click.echo("\n".join(difference_lines(found)))
    return 0 if found.is_empty else 1


@click.command("plot", short_help="Draw a topology.")
@click.argument("topology", metavar="FILE|NAME")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help=".svg, .png or .pdf."
)
@click.option(
    "--schedule", type=click.Path(path_type=Path), metavar="FILE", help="Schedule (JSON) whose load colours links."
)
@size_option
@click.option("--force", is_flag=True, help="Replace an existing output.")
def plot(*, topology: str, output: Path, schedule: Path | None, size: str, force: bool) -> int:
    """Draw servers, switches and links, coloured by bandwidth, or by how busy a schedule keeps them.

    Above 64 GPUs all nodes that are alike under the symmetries found are drawn as one.
    """
    from syccl.cli.outputs import checked_output, write_all
    from syccl.report.layout import layout
    from syccl.report.picture import FORMATS, draw
    from syccl.symmetry.automorphisms import find_group
    from syccl.topology import merged
    from syccl.topology.catalog import find_topology

    checked_output(output, suffixes=FORMATS, force=force)
    loaded = find_topology(topology) if schedule is None else merged(find_topology(topology))
    load = None if schedule is None else _load(loaded, schedule, size)
    picture = draw(layout(loaded, find_group(loaded)), title=loaded.name, form=output.suffix[1:], load=load)
    write_all({output: picture}, force=force)
    click.echo(f"wrote {output}")
    return 0


def _load(topology: Topology, path: Path, size: str) -> list[float]:
    """Return the share of the time that a schedule keeps each link busy."""
    from syccl.cli.files import read_plan
    from syccl.cli.timing import wrong_in
    from syccl.errors import InputError
    from syccl.schedule import Schedule
    from syccl.simulate.schedule_time import schedule_time
    from syccl.topology.identity import topology_hash
    from syccl.units import parse_size

    plan = read_plan(path).plan
    if not isinstance(plan, Schedule):
        msg = f"{path}: a program; give the schedule in JSON (syccl synth -o FILE.json)"
        raise InputError(msg)
    if topology_hash(plan.topology) != topology_hash(topology):
        msg = f"{path}: a schedule for {plan.topology.name}, which is not the same topology as {topology.name}"
        raise InputError(msg)
    wrong = wrong_in(plan)
    if wrong:
        msg = f"{path} is wrong, see syccl verify: {wrong[0]}"
        raise InputError(msg)
    timed = schedule_time(plan, size_bytes=parse_size(size))
    return [float(busy / timed.seconds) if timed.seconds else 0.0 for busy in timed.link_busy_s]


@click.command("schema")
def schema() -> int:
    """Print the JSON Schema of topology files in YAML."""
    from syccl.report.synthesis import to_json
    from syccl.topology.yaml_format import topology_schema

    click.echo(to_json(topology_schema()))
    return 0
