"""``syccl bound``: what no schedule can beat, without making one."""

from __future__ import annotations

import click

from syccl.cli.common import json_option, op_option, root_option, show, size_option, topo_option


@click.command("bound", short_help="Print what no schedule can beat.")
@topo_option
@op_option
@size_option
@root_option
@json_option
def command(*, topo: str, op_name: str, size: str, root: int, as_json: bool) -> int:
    """Print a time that no schedule can beat, and the cut of the network that it comes from, in words.

    Nothing is synthesized.
    """
    from syccl.bounds import lower_bound
    from syccl.cli.common import check_root
    from syccl.collective import op_named
    from syccl.report.bound import BoundAnswer, bound_record, bound_table
    from syccl.report.synthesis import to_json
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands
    from syccl.topology.catalog import load_topology
    from syccl.topology.check import require_connected
    from syccl.units import parse_size

    op, size_bytes = op_named(op_name), parse_size(size)
    topology = load_topology(topo)
    check_root(op, root, topology)
    require_connected(topology)
    group = find_group(topology)
    bound = lower_bound(topology, op, size_bytes=size_bytes, group=group, islands=islands(topology), root=root)
    answer = BoundAnswer(topology, op, root, size_bytes, group, bound)
    if as_json:
        click.echo(to_json(bound_record(answer)))
    else:
        show(bound_table(answer))
    return 0
