"""What a generator makes: a topology file in YAML, short because it repeats templates, and its declared symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.errors import InputError

PORT_LATENCY = "0.35us"
"""NIC to leaf and leaf to spine: 1.7 us from GPU to GPU over a leaf; measured between NICs of one rail: 1.66-2.0 us
(pair matrix of rouge3877/ns3-msccl-data), and 0.3 to 0.35 us more a link over a spine."""


@dataclass(frozen=True)
class Wanted:
    """What a user asks a generator for; None where the generator's own number is to be taken.

    Parameters
    ----------
    servers
        Servers, or racks where a rack is one NVLink domain.
    dims
        Lengths of a grid, or the parameters of a graph.
    block
        Servers on one leaf, or in one group of rails.
    oversubscription
        Bandwidth below a leaf over that above it.
    """

    servers: int | None = None
    dims: tuple[int, ...] | None = None
    block: int | None = None
    oversubscription: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """A topology file, and the order of a group of symmetries that moves every GPU, which it declares to have."""

    text: str
    order: int


def head(name: str, *comments: str) -> list[str]:
    """Return the first lines of a file: where its numbers come from, and its name."""
    return [*(f"# {comment}" for comment in comments), "", f"name: {name}", ""]


def cables(one: str, other: str, bandwidth: str, latency: str, *, pairs: str = "", indent: int = 2) -> list[str]:
    """Return one entry of ``links``, both directions."""
    more = f", pairs: {pairs}" if pairs else ""
    pad = " " * indent
    return [f"{pad}- {{between: [{one}, {other}], bandwidth: {bandwidth}, latency: {latency}{more}}}"]


def listed(names: Sequence[str]) -> str:
    """Return a YAML list of names."""
    return f"[{', '.join(names)}]"


def span(prefix: str, count: int) -> str:
    """Return the pattern of ``count`` numbered names."""
    return f"{prefix}0" if count == 1 else f"{prefix}0..{count - 1}"


def gigabytes(value: float) -> str:
    """Return a bandwidth in GB/s for a file, exactly."""
    return f"{value:.6f}".rstrip("0").rstrip(".") + "GB/s"


def whole(value: int | None, default: int, *, what: str, most: int) -> int:
    """Return a number that was asked for, or its default.

    Raises
    ------
    InputError
        When it is not from 1 to ``most``.
    """
    chosen = default if value is None else value
    if not 1 <= chosen <= most:
        msg = f"{what} {chosen} is out of range; choose 1..{most}"
        raise InputError(msg)
    return chosen
