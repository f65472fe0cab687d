"""``syccl topo``: the bundled topologies, one topology in words, the format of topology files."""

from __future__ import annotations

import click

from syccl.cli.common import json_option, show


@click.group("topo")
def command() -> None:
    """List and show topologies."""


@command.command("list")
@json_option
def list_bundled(*, as_json: bool) -> int:
    """List the bundled topologies."""
    from syccl.report.synthesis import to_json
    from syccl.report.topology import bundle_records, bundle_table
    from syccl.topology.catalog import bundled_topologies, load_topology

    topologies = [load_topology(name) for name in bundled_topologies()]
    if as_json:
        click.echo(to_json({"topologies": bundle_records(topologies)}))
    else:
        show(bundle_table(topologies))
    return 0


@command.command("show", short_help="Show one topology in words.")
@click.argument("topology", metavar="FILE|NAME")
@json_option
def show_one(*, topology: str, as_json: bool) -> int:
    """Show a topology: nodes, ranks, sorts of links, symmetry, islands of GPUs."""
    from syccl.report.synthesis import to_json
    from syccl.report.topology import links_table, topology_record, topology_table
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands
    from syccl.topology.catalog import load_topology
    from syccl.topology.check import disconnected_parts

    loaded = load_topology(topology)
    group, parts = find_group(loaded), islands(loaded)
    if as_json:
        click.echo(to_json(topology_record(loaded, group, parts)))
    else:
        show(topology_table(loaded, group, parts))
        click.echo()
        show(links_table(loaded))
    if disconnected_parts(loaded):
        click.echo("warning: not every GPU reaches every GPU", err=True)
    return 0


@command.command("schema")
def schema() -> int:
    """Print the JSON Schema of topology files in YAML."""
    from syccl.report.synthesis import to_json
    from syccl.topology.yaml_format import topology_schema

    click.echo(to_json(topology_schema()))
    return 0
