"""Options of verbs that give connections paths and source ports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from syccl.topology import Topology
    from syccl.traffic.c4p.addresses import Addresses

MOST_QUEUE_PAIRS = 128
"""Largest ``NCCL_IB_QPS_PER_CONNECTION`` that NCCL takes."""
HASHES = ("crc32", "crc16", "xor")

Command = TypeVar("Command", bound="Callable[..., object] | click.Command")


def connection_options(when: str = "") -> Callable[[Command], Command]:
    """Return what adds ``--queue-pairs``, ``--hash`` and ``--addresses``, the latter for `addresses_of`.

    Parameters
    ----------
    when
        What each help begins with: when the option counts.
    """

    def told(text: str) -> str:
        return f"{when}: {text}" if when else text[0].upper() + text[1:]

    pairs = click.option(
        "--queue-pairs",
        type=click.IntRange(1, MOST_QUEUE_PAIRS),
        default=1,
        show_default=True,
        metavar="N",
        help=told(
            f"queue pairs that share the bytes of a connection (NCCL_IB_QPS_PER_CONNECTION), 1 to {MOST_QUEUE_PAIRS}."
        ),
    )
    hashed = click.option(
        "--hash",
        "hash_name",
        type=click.Choice(HASHES),
        default=HASHES[0],
        show_default=True,
        help=told("how switches hash five-tuples, so which source port leads over which path."),
    )
    addresses = click.option(
        "--addresses",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=told("CSV of NIC,ADDRESS for source ports. Default: 10.0.0.1 and on, in the order of NICs."),
    )
    return lambda command: pairs(hashed(addresses(command)))


def addresses_of(topology: Topology, file: Path | None) -> Addresses:
    """Return the addresses of NICs that a CSV states, or made-up ones where there is none.

    Raises
    ------
    InputError
        When the file cannot be read, or does not state one address for each NIC.
    """
    from syccl.cli.files import read_text
    from syccl.traffic.c4p.addresses import default_addresses, read_addresses

    if file is None:
        return default_addresses(topology)
    return read_addresses(read_text(file), source=str(file), topology=topology)
