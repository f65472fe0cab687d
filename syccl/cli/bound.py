"""``syccl bound``: what no schedule can beat, without making one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import (
    datatype_option,
    json_option,
    op_option,
    root_option,
    show,
    size_option,
    topology_options,
)
from syccl.cli.matrices import matrix_option, unit_option

if TYPE_CHECKING:
    from syccl.collective import Matrix, Op
    from syccl.report.bound import BoundAnswer
    from syccl.topology import Topology


@click.command("bound", short_help="Print what no schedule can beat.")
@topology_options
@op_option
@size_option
@root_option
@matrix_option
@unit_option
@datatype_option
@click.option(
    "--certificate",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a proof in JSON that `syccl verify` checks without any solver.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    topo: str,
    without: tuple[str, ...],
    halve: tuple[str, ...],
    op_name: str,
    size: str,
    root: int,
    matrix_file: Path | None,
    matrix_unit: str,
    datatype: str,
    certificate: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Print a time that no schedule can beat, and the cut of the network that it comes from, in words.

    Nothing is synthesized. A bound is called certified when a proof in whole numbers, of prices for links over time,
    was checked on the whole topology; else it is a formula that was proved once and for all.
    """
    from syccl.cli.common import check_root, read_cluster
    from syccl.cli.matrices import asked_matrix
    from syccl.cli.outputs import checked_outputs
    from syccl.collective import op_named
    from syccl.report.bound import bound_record, bound_table
    from syccl.report.synthesis import to_json
    from syccl.topology.check import require_connected
    from syccl.units import parse_size

    op, size_bytes = op_named(op_name), parse_size(size)
    if certificate is not None:
        checked_outputs([certificate], force=force)
    topology = read_cluster(topo, without, halve)
    check_root(op, root, topology)
    require_connected(topology)
    matrix = asked_matrix(op, matrix_file, matrix_unit, datatype=datatype, topology=topology)
    answer = _matrix_answer(topology, matrix) if matrix is not None else _answer(topology, op, size_bytes, root=root)
    if certificate is not None:
        answer = _certified(answer, certificate, matrix, force=force)
    if as_json:
        click.echo(to_json(bound_record(answer)))
    else:
        show(bound_table(answer))
    return 0


def _answer(topology: Topology, op: Op, size_bytes: int, *, root: int) -> BoundAnswer:
    from syccl.bounds import THOROUGH, lower_bound
    from syccl.report.bound import BoundAnswer
    from syccl.symmetry.automorphisms import find_group
    from syccl.symmetry.dimensions import islands

    group = find_group(topology)
    bound = lower_bound(
        topology, op, size_bytes=size_bytes, group=group, islands=islands(topology), root=root, windows=THOROUGH
    )
    return BoundAnswer(topology, op, root, size_bytes, group, bound)


def _matrix_answer(topology: Topology, matrix: Matrix) -> BoundAnswer:
    from syccl.bounds.matrix import matrix_bound
    from syccl.collective import ALLTOALLV
    from syccl.report.bound import BoundAnswer
    from syccl.symmetry import trivial_group
    from syccl.symmetry.dimensions import islands

    bound = matrix_bound(topology, matrix, islands=islands(topology))
    return BoundAnswer(topology, ALLTOALLV, 0, matrix.size_bytes, trivial_group(topology), bound)


def _certified(answer: BoundAnswer, path: Path, matrix: Matrix | None, *, force: bool) -> BoundAnswer:
    """Return a bound with its proof, which is written to a file."""
    from dataclasses import replace

    from syccl.bounds import best_proof
    from syccl.bounds.matrix_proof import matrix_proof
    from syccl.cli.outputs import write_all
    from syccl.proof.json_file import write_certificate
    from syccl.symmetry.dimensions import islands

    if matrix is None:
        proof = best_proof(answer.bound, answer.topology, answer.op, size_bytes=answer.size_bytes, root=answer.root)
    else:
        proof = matrix_proof(answer.topology, matrix, islands=islands(answer.topology))
    write_all({path: write_certificate(proof)}, force=force)
    bound = replace(answer.bound, proof=proof)
    if bound.proven_s > bound.seconds:
        bound = replace(bound, window_s=bound.proven_s, why="time windows")
    return replace(answer, bound=bound)
