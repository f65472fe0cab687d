"""``syccl bound``: what no schedule can beat, without making one."""

from __future__ import annotations

from pathlib import Path

import click

from syccl.cli.common import json_option, op_option, root_option, show, size_option, topo_option


@click.command("bound", short_help="Print what no schedule can beat.")
@topo_option
@op_option
@size_option
@root_option
@click.option(
    "--certificate",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a proof in JSON that `syccl verify` checks without any solver.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def command(
    *, topo: str, op_name: str, size: str, root: int, certificate: Path | None, force: bool, as_json: bool
) -> int:
    """Print a time that no schedule can beat, and the cut of the network that it comes from, in words.

    Nothing is synthesized. A bound is called certified when a proof in whole numbers, of prices for links over time,
    was checked on the whole topology; else it is a formula that was proved once and for all.
    """
    from dataclasses import replace

    from syccl.bounds import THOROUGH, best_proof, lower_bound
    from syccl.cli.common import check_root
    from syccl.cli.outputs import checked_outputs, write_all
    from syccl.collective import op_named
    from syccl.report.bound import BoundAnswer, bound_record, bound_table
    from syccl.report.synthesis import to_json
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands
    from syccl.topology.catalog import load_topology
    from syccl.topology.check import require_connected
    from syccl.units import parse_size

    op, size_bytes = op_named(op_name), parse_size(size)
    if certificate is not None:
        checked_outputs([certificate], force=force)
    topology = load_topology(topo)
    check_root(op, root, topology)
    require_connected(topology)
    group = find_group(topology)
    bound = lower_bound(
        topology, op, size_bytes=size_bytes, group=group, islands=islands(topology), root=root, windows=THOROUGH
    )
    if certificate is not None:
        from syccl.proof.json_file import write_certificate

        proof = best_proof(bound, topology, op, size_bytes=size_bytes, root=root)
        bound = replace(bound, proof=proof)
        write_all({certificate: write_certificate(proof)}, force=force)
    answer = BoundAnswer(topology, op, root, size_bytes, group, bound)
    if as_json:
        click.echo(to_json(bound_record(answer)))
    else:
        show(bound_table(answer))
    return 0
