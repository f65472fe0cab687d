"""Options that state a sweep over sizes, with nccl-tests' letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syccl.cli.common import Command, finite
from syccl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from syccl.cli.timing import PlanTimer
    from syccl.tuning import Sweep


def sweep_options(first: str | None, last: str | None, factor: float) -> Callable[[Command], Command]:
    """Return what adds ``-b``, ``-e``, ``-f`` and ``-i``: parameters ``first``, ``last``, ``factor`` and ``step``."""
    lowest = click.option(
        "-b",
        "--minbytes",
        "first",
        default=first,
        show_default=first is not None,
        metavar="BYTES",
        help="First size; K, M, G are powers of 1024 as in nccl-tests (1K, 1KB and 1KiB are 1024 bytes).",
    )
    highest = click.option(
        "-e",
        "--maxbytes",
        "last",
        default=last,
        show_default=last is not None,
        metavar="BYTES",
        help="Last size at most.",
    )
    times = click.option(
        "-f",
        "--stepfactor",
        "factor",
        type=click.FloatRange(min=1, min_open=True),
        callback=finite,
        metavar="FACTOR",
        help=f"Each size is the one before times this. Default: {factor:g}.",
    )
    plus = click.option(
        "-i", "--stepbytes", "step", metavar="BYTES", help="Each size is the one before plus this, instead of -f."
    )
    return lambda command: lowest(highest(times(plus(command))))


def read_sweep(limits: tuple[str, str], factor: float | None, step: str | None, *, default_factor: float) -> Sweep:
    """Return the sweep that the options state.

    Raises
    ------
    InputError
        When both kinds of steps are given, or there are no sizes or too many.
    """
    from syccl.tuning import Sweep
    from syccl.units import parse_size

    if factor is not None and step is not None:
        msg = "-f multiplies sizes and -i adds to them; give one of the two"
        raise InputError(msg)
    first, last = limits
    return Sweep(
        parse_size(first), parse_size(last), factor or default_factor, None if step is None else parse_size(step)
    )


def sizes_of(timer: PlanTimer, sweep: Sweep, datatype: str) -> tuple[int, ...]:
    """Return the sizes of a sweep that a program or schedule can move, as nccl-tests rounds them."""
    from syccl.collective import OPS
    from syccl.report.simulation import collective_of
    from syccl.tuning import sweep_sizes

    op = OPS.get(collective_of(timer.plan))
    return tuple(sweep.steps()) if op is None else sweep_sizes(sweep, op, timer.topology.ranks, datatype)
