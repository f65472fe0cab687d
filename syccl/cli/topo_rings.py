"""``syccl topo rings``: the rings of a server, and the file that makes NCCL use them."""

from __future__ import annotations

from pathlib import Path

import click

from syccl.cli.common import json_option, show

_XML = (".xml",)


@click.command("rings", short_help="Find ring orders and write them for NCCL.")
@click.argument("topology", metavar="FILE|NAME")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Graph file of NCCL to write.")
@click.option(
    "--link",
    default="NVL",
    show_default=True,
    metavar="KIND",
    help="How the GPUs reach each other, as NCCL names it: NVL, NVB, PIX, PXB, PHB or SYS.",
)
@click.option("--force", is_flag=True, help="Replace an existing output.")
@json_option
def rings(*, topology: str, output: Path | None, link: str, force: bool, as_json: bool) -> int:
    """Find the rings that carry most on a topology, and write them as a graph file that NCCL reads.

    A graph file is about one server. NCCL takes the orders of its rings from it when NCCL_GRAPH_FILE names it.

    For example: syccl topo rings dgx1-v100 -o rings.xml
    """
    from syccl.baselines.graph_file import LINKS, ring_graph, write_graph
    from syccl.baselines.rings import find_rings
    from syccl.cli.outputs import checked_output, write_all
    from syccl.errors import InputError
    from syccl.report.rings import ring_record, ring_table
    from syccl.report.synthesis import to_json
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands
    from syccl.topology.catalog import load_topology

    if link.upper() not in LINKS:
        msg = f"unknown --link {link!r}; choose one of {', '.join(LINKS)}"
        raise InputError(msg)
    loaded = load_topology(topology)
    if output is not None:
        checked_output(output, suffixes=_XML, force=force)
    found = find_rings(loaded, islands(loaded), find_group(loaded))
    if found is None:
        msg = f"{loaded.name}: no ring visits all GPUs"
        raise InputError(msg)
    if output is not None:
        write_all({output: write_graph(ring_graph(loaded, found, link=link.upper()))}, force=force)
    if as_json:
        click.echo(to_json(ring_record(loaded, found, output)))
        return 0
    show(ring_table(loaded, found))
    if output is not None:
        click.echo(f"wrote {output}; to use it:\n  export NCCL_GRAPH_FILE={output} NCCL_ALGO=RING")
    return 0
