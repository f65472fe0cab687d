"""``syccl compare``: two programs or schedules for one collective side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from syccl.cli.common import datatype_option, json_option, show, show_findings
from syccl.cli.sweeps import read_sweep, sizes_of, sweep_options
from syccl.errors import InputError

if TYPE_CHECKING:
    from syccl.cli.timing import PlanTimer

DEFAULT_FIRST, DEFAULT_LAST, DEFAULT_FACTOR = "64K", "1G", 16.0


@click.command("compare", short_help="Compare two programs or schedules.")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--topo", metavar="FILE|NAME", help="Topology to run on; a schedule knows its own.")
@sweep_options(DEFAULT_FIRST, DEFAULT_LAST, DEFAULT_FACTOR)
@datatype_option
@click.option(
    "--links",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="N",
    help="Links to list, those whose load differs most.",
)
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    a: Path,
    b: Path,
    topo: str | None,
    first: str,
    last: str,
    factor: float | None,
    step: str | None,
    datatype: str,
    links: int,
    as_json: bool,
) -> int:
    """Compare the files A and B, programs in XML or schedules in JSON for the same collective, at several sizes.

    Tells times, bus bandwidths, what each needs (channels, thread blocks, steps), and which links carry more. A file
    that is wrong is not compared: what is wrong is listed, and the exit code is 1. A schedule of alltoallv is compared
    at the size that it has.

    For example: syccl compare mine.xml theirs.xml --topo a100x32 -b 1M -e 1G -f 4
    """
    from syccl.cli.files import describe_plan, read_plan
    from syccl.cli.timing import plan_timer, wrong_in
    from syccl.report import comparison as report
    from syccl.report.synthesis import to_json

    sweep = read_sweep((first, last), factor, step, default_factor=DEFAULT_FACTOR)
    plans = [read_plan(file).plan for file in (a, b)]
    for file, plan in zip((a, b), plans, strict=True):
        wrong = wrong_in(plan)
        if wrong:
            show_findings(str(file), describe_plan(plan), wrong, as_json=as_json)
            return 1
    timers = _alike(plan_timer(plans[0], topo), plan_timer(plans[1], topo))
    sizes = _own_size(timers) or sizes_of(timers[0], sweep, datatype)
    sides = (
        report.Side(str(a), plans[0], timers[0].times(sizes)),
        report.Side(str(b), plans[1], timers[1].times(sizes)),
    )
    topology = timers[0].topology
    if as_json:
        click.echo(to_json(report.record(sides, topology, links)))
        return 0
    for table in (report.needs_table(sides), report.time_table(sides), report.link_table(sides, topology, links)):
        show(table)
        click.echo()
    return 0


def _own_size(timers: tuple[PlanTimer, ...]) -> tuple[int, ...]:
    """Return the one size of a schedule whose chunks have sizes of their own, unless the command line states sizes."""
    from syccl.cli.matrices import is_given
    from syccl.schedule import Schedule

    if is_given("first", "last"):
        return ()
    demands = [timer.plan.demand for timer in timers if isinstance(timer.plan, Schedule)]
    return tuple(demand.own_size_bytes for demand in demands if demand.is_unequal)[:1]


def _alike(a: PlanTimer, b: PlanTimer) -> tuple[PlanTimer, PlanTimer]:
    """Return both timers if they are for one collective on one topology."""
    from syccl.report.simulation import collective_of
    from syccl.topology.identity import topology_hash

    names = collective_of(a.plan), collective_of(b.plan)
    if names[0] != names[1]:
        msg = f"A is for {names[0]}, B for {names[1]}; compare files for one collective"
        raise InputError(msg)
    if topology_hash(a.topology) != topology_hash(b.topology):
        msg = f"A is for {a.topology.name!r}, B for {b.topology.name!r}; compare files for one topology"
        raise InputError(msg)
    return a, b
