"""Options and steps that several verbs share."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from syccl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from syccl.collective import Op
    from syccl.findings import Finding
    from syccl.program.targets import Target
    from syccl.report.tables import Table
    from syccl.store import Store
    from syccl.topology import Topology

PROTOCOLS = ("Simple", "LL", "LL128")
DEFAULT_SIZE = "64MiB"
DEFAULT_DATATYPE = "float32"
DEFAULT_TARGET = "msccl-executor-nccl"

topo_option = click.option(
    "--topo", required=True, metavar="FILE|NAME", help="Topology: a YAML or JSON file, or the name of a bundled one."
)
op_option = click.option(
    "--op",
    "op_name",
    required=True,
    metavar="OP",
    help="Collective: allreduce, allgather, reducescatter, alltoall, alltoallv, broadcast, reduce, gather or scatter.",
)
root_option = click.option(
    "--root",
    type=int,
    default=0,
    show_default=True,
    metavar="RANK",
    help="Root rank, for broadcast, reduce, gather and scatter.",
)
size_option = click.option(
    "--size",
    default=DEFAULT_SIZE,
    show_default=True,
    metavar="BYTES",
    help="Size as nccl-tests counts it (the larger buffer of one rank), with K, M, G for powers of 1024.",
)
datatype_option = click.option(
    "--datatype",
    default=DEFAULT_DATATYPE,
    show_default=True,
    metavar="TYPE",
    help="Element type: float32, float16, bfloat16, int8, ...",
)
protocol_option = click.option(
    "--protocol",
    default="Simple",
    show_default=True,
    metavar="NAME",
    help="Wire protocol of the program: Simple, LL or LL128.",
)
target_option = click.option(
    "--target",
    "target_name",
    default=DEFAULT_TARGET,
    show_default=True,
    metavar="NAME",
    help="Runtime that is to load the program: msccl-executor-nccl (the one most used today), msccl or rccl; for synth "
    "and lower also mscclpp, whose execution plan is a .json.",
)
quiet_option = click.option("--quiet", is_flag=True, help="No table and no progress; warnings and errors still show.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")


Command = TypeVar("Command", bound="Callable[..., object] | click.Command")


def cache_options(command: Command) -> Command:
    """Add ``--cache`` and ``--no-cache``: parameters ``cache`` and ``no_cache``, for `open_store`."""
    choose = click.option(
        "--cache",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder where answers of the solvers are kept for the next run. Default: the platform's cache folder, "
        "such as ~/.cache/syccl.",
    )
    leave = click.option("--no-cache", is_flag=True, help="Neither read nor keep such answers.")
    return choose(leave(command))


def finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse what ``float`` reads but no clock shows, as click's callbacks do."""
    if value is not None and not math.isfinite(value):
        msg = f"{value} is no number of seconds"
        raise click.BadParameter(msg, ctx=ctx, param=param)
    return value


class Seconds(click.FloatRange):
    """A time with its unit, or a number of seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        from syccl.units import parse_time

        try:
            seconds = float(value)
        except ValueError:
            try:
                seconds = parse_time(value)
            except InputError as error:
                self.fail(str(error), param, ctx)
        return float(super().convert(seconds, param, ctx))


def search_options(at_limit: str) -> Callable[[Command], Command]:
    """Return what adds ``--jobs``, ``--time-limit``, ``--cache`` and ``--no-cache``; ``at_limit`` says what is kept."""
    jobs = click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Processes for the search; the result does not depend on it.",
    )
    limit = click.option(
        "--time-limit",
        type=Seconds(min=0, min_open=True),
        callback=finite,
        metavar="TIME",
        help=f"Stop the search after about so long, such as 30s or 2min; {at_limit}.",
    )
    return lambda command: jobs(limit(cache_options(command)))


def open_store(cache: Path | None, *, no_cache: bool) -> Store:
    """Return where answers of the solvers are kept; what is wrong with the folder goes to standard error.

    Raises
    ------
    click.UsageError
        When a folder is given and none is wanted.
    """
    from syccl.store import Store, default_folder

    if cache is not None and no_cache:
        msg = "--cache and --no-cache exclude each other"
        raise click.UsageError(msg)
    if no_cache:
        return Store()
    if cache is None:
        try:
            cache = default_folder(os.environ, sys.platform, Path.home())
        except RuntimeError:  # Nobody knows where this user is at home.
            return Store()
    return Store(cache, warn=lambda text: click.echo(f"warning: {text}", err=True))


without_option = click.option(
    "--without",
    multiple=True,
    metavar="PART",
    help="Leave a part out: gpu:NAME, nic:NAME, link:A/B, ...; may be repeated.",
)
halve_option = click.option(
    "--halve", multiple=True, metavar="PART", help="Take a part at half its bandwidth: link:A/B, nic:NAME, ..."
)


def damage_options(command: Command) -> Command:
    """Add ``--without`` and ``--halve``: parameters ``without`` and ``halve``, for `read_cluster`."""
    return without_option(halve_option(command))


def topology_options(command: Command) -> Command:
    """Add ``--topo``, ``--without`` and ``--halve``: parameters of these names, for `read_cluster`."""
    return topo_option(damage_options(command))


def read_cluster(topo: str, without: Sequence[str], halve: Sequence[str]) -> Topology:
    """Return the topology that the options name; what plans leave aside of it is told on standard error.

    Raises
    ------
    InputError
        When there is no such topology or part, or the file does not state one.
    """
    from syccl.topology.catalog import load_topology
    from syccl.topology.features import unused_features

    topology = load_topology(topo, without=without, halved=halve)
    for sentence in unused_features(topology):
        click.echo(f"note: {sentence}", err=True)
    return topology


def read_size(text: str, datatype: str) -> int:
    """Return the bytes that ``--size`` states.

    Raises
    ------
    InputError
        When it is no size, or no multiple of the element's bytes.
    """
    from syccl.collective.datatypes import element_bytes
    from syccl.units import parse_size

    size, element = parse_size(text), element_bytes(datatype)
    if size % element:
        near = " or ".join(str(n) for n in (size // element * element, (size // element + 1) * element) if n)
        msg = f"size {text!r} is no multiple of the {element} bytes of {datatype}; write for example {near}"
        raise InputError(msg)
    return size


def read_ranks(text: str, ranks: int) -> list[int]:
    """Return the ranks that a list such as ``0,1,4-7`` names, ascending.

    Raises
    ------
    InputError
        When an entry is no rank or range, or out of range.
    """
    import re

    found: set[int] = set()
    for entry in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,7})(?:-([0-9]{1,7}))?\s*", entry)
        last = -1 if match is None else int(match[2] or match[1])
        if match is None or not int(match[1]) <= last < ranks:
            msg = f"ranks {text!r}: {entry!r} is no rank or range of 0..{ranks - 1}; write for example 0,1,4-7"
            raise InputError(msg)
        found.update(range(int(match[1]), last + 1))
    return sorted(found)


def read_protocol(text: str) -> str:
    """Return the protocol as runtimes spell it.

    Raises
    ------
    InputError
        When there is no such protocol.
    """
    for name in PROTOCOLS:
        if text.lower() == name.lower():
            return name
    msg = f"unknown protocol {text!r}; choose one of {', '.join(PROTOCOLS)}"
    raise InputError(msg)


def read_target(name: str, op: Op) -> Target:
    """Return the runtime of that name.

    Raises
    ------
    InputError
        When there is no such runtime, or it does not know the collective.
    """
    from syccl.program.targets import target_named

    target = target_named(name)
    if target.spelling(op.name) is None:
        msg = f"{target.name} knows no {op.name}; choose another --target"
        raise InputError(msg)
    return target


def check_root(op: Op, root: int, topology: Topology) -> None:
    """Check the root rank before any work.

    Raises
    ------
    InputError
        When it is out of range, or the collective has none.
    """
    if op.rooted and not 0 <= root < topology.ranks:
        msg = f"root {root} is out of range; {topology.name} has ranks 0..{topology.ranks - 1}"
        raise InputError(msg)
    if not op.rooted and root:
        msg = f"{op.name} has no root; leave --root out"
        raise InputError(msg)


def show(table: Table) -> None:
    """Print a table to standard output, with colour on a terminal."""
    import shutil

    from syccl.report.tables import render

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns
    click.echo(render(table, terminal=terminal, width=width))


def show_findings(name: str, what: str, findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print what a check of a file found to standard output."""
    from syccl.report.findings import findings_lines, findings_record
    from syccl.report.synthesis import to_json

    if as_json:
        click.echo(to_json(findings_record(name, what, findings)))
    else:
        click.echo("\n".join(findings_lines(name, what, findings)))
