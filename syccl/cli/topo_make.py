"""The verbs of ``syccl topo`` that make topology files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import damage_options
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.topology import Topology
    from syccl.topology.importers import Imported

_YAML = (".yaml", ".yml")

output_option = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="YAML file to write."
)
force_option = click.option("--force", is_flag=True, help="Replace an existing output.")


@click.command("import", short_help="Make a topology from another tool's file.")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@output_option
@click.option("--kind", metavar="KIND", help="What the file is, where its content does not tell.")
@click.option(
    "--gpu", metavar="NAME", help="Product of the GPUs, such as A100: its bandwidths fill what is not stated."
)
@click.option("--nvlink", metavar="RATE", help="Bandwidth of one NVLink and direction, where not stated.")
@click.option("--pcie", metavar="RATE", help="Bandwidth of a GPU's PCIe port and direction, where not stated.")
@click.option("--nic", metavar="RATE", help="Bandwidth of a NIC's port and direction.")
@click.option("--servers", type=click.IntRange(min=1), metavar="N", help="Make a cluster of N such servers.")
@click.option("--fabric", metavar="KIND", help="How the servers are joined: switch, rail or leaf.")
@click.option("--servers-per-leaf", type=click.IntRange(min=1), metavar="N", help="Servers on a leaf; default: all.")
@click.option(
    "--oversubscription",
    type=click.FloatRange(min=1, max=1000),
    default=1.0,
    show_default=True,
    metavar="R",
    help="Bandwidth below a leaf over that above it.",
)
@force_option
def import_file(  # noqa: PLR0913  one parameter an option
    *,
    source: Path,
    output: Path,
    kind: str | None,
    gpu: str | None,
    nvlink: str | None,
    pcie: str | None,
    nic: str | None,
    servers: int | None,
    fabric: str | None,
    servers_per_leaf: int | None,
    oversubscription: float,
    force: bool,
) -> int:
    """Read a topology from `nvidia-smi topo -m`, NCCL's XML, SimAI, ASTRA-sim, TE-CCL, TACCL, CSV, ...

    What the file does not state, and what was assumed in its place, is told on standard error. One server's file and a
    fabric make a cluster: --servers 4 --fabric rail.
    """
    from syccl.cli.files import read_text
    from syccl.topology.cluster import FABRICS, Fabric, joined
    from syccl.topology.importers import KINDS, Assumed, import_text
    from syccl.topology.importers.hardware import PRODUCT_NAMES, product_named
    from syccl.units import parse_rate

    _known(kind, KINDS, "--kind")
    _known(fabric, FABRICS, "--fabric")
    if gpu is not None and product_named(gpu) is None:
        msg = (
            f"--gpu {gpu!r} is not known; choose one of {', '.join(PRODUCT_NAMES)}, or state --nvlink, --pcie and --nic"
        )
        raise InputError(msg)
    if (servers is None) != (fabric is None):
        msg = "--servers and --fabric go together: --servers 4 --fabric rail"
        raise InputError(msg)
    _check_output(output, force=force)
    rates = [None if text is None else parse_rate(text) for text in (nvlink, pcie, nic)]
    found = import_text(read_text(source), source=str(source), kind=kind, assumed=Assumed(gpu, *rates))
    topology = found.topology
    if servers is not None and fabric is not None:
        topology = joined(topology, found.ports, servers, Fabric(fabric, servers_per_leaf or 0, oversubscription))
    _tell_notes(found, source)
    _write(topology, output, force=force)
    return 0


def _known(name: str | None, known: dict[str, str], option: str) -> None:
    if name is not None and name not in known:
        each = "; ".join(f"{one}: {what}" for one, what in known.items())
        msg = f"{option} {name!r} is not known; choose from {each}"
        raise InputError(msg)


def _tell_notes(found: Imported, source: Path) -> None:
    for note in found.notes:
        place = f"{source}:{note.line}" if note.line else str(source)
        click.echo(f"note: {place}: {note.text}", err=True)


@click.command("generate", short_help="Make the topology of a well-known cluster.")
@click.argument("name", metavar="NAME", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="YAML file to write.")
@click.option("--servers", type=int, metavar="N", help="Servers, or racks of GB200 NVL72.")
@click.option("--block", type=int, metavar="N", help="Servers on one leaf, or in one group of rails.")
@click.option("--dims", metavar="AxB", help="Lengths of a grid, or parameters of a graph.")
@click.option(
    "--oversubscription",
    type=float,
    default=1.0,
    show_default=True,
    metavar="R",
    help="Bandwidth below a leaf over that above it.",
)
@force_option
def generate_one(
    *,
    name: str | None,
    output: Path | None,
    servers: int | None,
    block: int | None,
    dims: str | None,
    oversubscription: float,
    force: bool,
) -> int:
    """Write the topology file of a well-known cluster, with where its numbers come from; without NAME, list them.

    For example: syccl topo generate h100-superpod --servers 16 -o x.yaml
    """
    from syccl.cli.common import show
    from syccl.cli.outputs import write_all
    from syccl.report.tables import Table
    from syccl.topology.catalog import read_topology
    from syccl.topology.generate import GENERATORS, Wanted, generate

    if name is None:
        show(
            Table(
                [(key, made.summary, ", ".join(made.takes)) for key, made in GENERATORS.items()],
                ("name", "what", "options"),
            )
        )
        return 0
    recipe = generate(name, Wanted(servers, _dims(dims), block, oversubscription))
    if output is None:
        click.echo(recipe.text, nl=False)
        return 0
    _check_output(output, force=force)
    topology = read_topology(recipe.text, source=str(output))
    write_all({output: recipe.text}, force=force)
    _tell_written(topology, output)
    return 0


def _dims(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    if not all(part.isdigit() and len(part) < 7 for part in parts):
        msg = f"--dims {text!r} is not of the form 4x4x8"
        raise InputError(msg)
    return tuple(map(int, parts))


@click.command("subset", short_help="Keep some GPUs of a topology.")
@click.argument("topology", metavar="FILE|NAME")
@click.argument("ranks", metavar="RANKS|best:K")
@output_option
@force_option
def cut_down(*, topology: str, ranks: str, output: Path, force: bool) -> int:
    """Keep the GPUs of some ranks, such as 0,1,2,3,7 or 0-3, or with best:4 the four that gather fastest.

    Fastest means the least lower bound of an allgather among them.
    """
    from syccl.bounds.subset import best_subset
    from syccl.cli.common import read_ranks
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import subset

    loaded = find_topology(topology)
    _check_output(output, force=force)
    if ranks.startswith("best:"):
        count = ranks.removeprefix("best:")
        if not count.isdigit() or not 1 <= int(count) <= loaded.ranks:
            msg = f"{ranks!r}: choose best:1 to best:{loaded.ranks}"
            raise InputError(msg)
        chosen = best_subset(loaded, int(count))
        how = "all were compared" if chosen.is_proven else "found by exchanging one at a time; there may be better ones"
        click.echo(f"ranks {','.join(map(str, chosen.ranks))} ({how})")
        wanted = list(chosen.ranks)
    else:
        wanted = read_ranks(ranks, loaded.ranks)
    _write(subset(loaded, wanted), output, force=force)
    return 0


@click.command("degrade", short_help="Remove or halve parts of a topology.")
@click.argument("topology", metavar="FILE|NAME")
@damage_options
@output_option
@force_option
def degrade(*, topology: str, without: tuple[str, ...], halve: tuple[str, ...], output: Path, force: bool) -> int:
    """Write a topology without some parts, or with half of their bandwidth, to see what happens when they die."""
    from syccl.topology.catalog import find_topology
    from syccl.topology.damage import degraded

    if not without and not halve:
        msg = "nothing to change: give --without PART or --halve PART"
        raise InputError(msg)
    _check_output(output, force=force)
    _write(degraded(find_topology(topology), without=without, halved=halve), output, force=force)
    return 0


def _check_output(path: Path, *, force: bool) -> None:
    from syccl.cli.outputs import checked_output

    checked_output(path, suffixes=_YAML, force=force)


def _write(topology: Topology, path: Path, *, force: bool) -> None:
    from syccl.cli.outputs import write_all
    from syccl.topology.yaml_file import write_yaml

    write_all({path: write_yaml(topology)}, force=force)
    _tell_written(topology, path)


def _tell_written(topology: Topology, path: Path) -> None:
    from syccl.report.tables import counted

    click.echo(f"wrote {path}: {counted(topology.ranks, 'GPU')}, {len(topology.links)} directed links")
