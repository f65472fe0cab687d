"""Quantities with units: parsed from text, kept as exact integers, printed for people.

Bytes and rates are integers (bytes, bytes per second); latencies are integer picoseconds, so that
symmetry and bounds compare exact values. Simulated times are ``float`` seconds.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from syccl.errors import InputError

PS_PER_SECOND = 10**12
LARGEST_RATE = 10**18
"""Largest bandwidth taken, bytes per second; sums of a few still fit 64 bits."""
LARGEST_LATENCY_PS = 1000 * PS_PER_SECOND
"""Largest latency taken, picoseconds."""
LARGEST_SIZE = 2**60
"""Largest size taken, bytes."""
LONGEST_S = 1e8
"""Longest time taken, seconds; about three years."""

_LONGEST_NUMBER = 40
_LONGEST_SHOWN = 60
_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-zµ/]*)\s*\Z")

_RATES = {
    "B/s": Fraction(1),
    "kB/s": Fraction(10**3),
    "KB/s": Fraction(10**3),
    "MB/s": Fraction(10**6),
    "GB/s": Fraction(10**9),
    "TB/s": Fraction(10**12),
    "KiB/s": Fraction(2**10),
    "MiB/s": Fraction(2**20),
    "GiB/s": Fraction(2**30),
    "b/s": Fraction(1, 8),
    "kb/s": Fraction(10**3, 8),
    "Kb/s": Fraction(10**3, 8),
    "Mb/s": Fraction(10**6, 8),
    "Gb/s": Fraction(10**9, 8),
    "Tb/s": Fraction(10**12, 8),
    "bps": Fraction(1, 8),
    "Mbps": Fraction(10**6, 8),
    "Gbps": Fraction(10**9, 8),
    "Tbps": Fraction(10**12, 8),
    "Mbit/s": Fraction(10**6, 8),
    "Gbit/s": Fraction(10**9, 8),
    "Tbit/s": Fraction(10**12, 8),
}
_RATES |= {unit.replace("/s", "ps"): factor for unit, factor in _RATES.items() if unit.endswith("B/s")}
_TIMES_PS = {"s": 10**12, "ms": 10**9, "us": 10**6, "µs": 10**6, "ns": 10**3, "ps": 1}
_TIMES_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?) *(us|ms|s|min|h)")
RATE_UNITS = tuple(_RATES)
"""Units that a bandwidth may carry."""
LATENCY_UNITS = tuple(_TIMES_PS)
"""Units that a latency may carry."""
_SIZE_FACTORS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def clipped(value: object) -> str:
    """Return ``repr(value)`` for a message, its middle left out where it is long."""
    text = repr(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[: _LONGEST_SHOWN // 2]}...{text[-_LONGEST_SHOWN // 4 :]}"


def _split(text: object, what: str, example: str) -> tuple[Fraction, str]:
    match = _NUMBER.match(text) if isinstance(text, str) else None
    if match is None:
        msg = f"{what} {clipped(text)} is not a number with a unit; write for example {example}"
        raise InputError(msg)
    if len(match.group(1)) > _LONGEST_NUMBER:
        msg = f"{what} {clipped(text)} has a number of more than {_LONGEST_NUMBER} characters; write it shorter"
        raise InputError(msg)
    return Fraction(match.group(1)), match.group(2)


def parse_rate(text: object) -> int:
    """Return the bandwidth in bytes per second that ``text`` states.

    Parameters
    ----------
    text
        A number with a unit, such as ``25GB/s``, ``200Gb/s`` or ``400Gbps``. ``B`` is bytes, ``b`` bits.

    Raises
    ------
    InputError
        When the unit is missing or unknown, or the value is not from 1 B/s to ``LARGEST_RATE``.
    """
    number, unit = _split(text, "bandwidth", "25GB/s or 200Gb/s")
    if unit not in _RATES:
        msg = f"bandwidth {text!r} has {'no' if not unit else 'an unknown'} unit; write for example 25GB/s or 200Gb/s"
        raise InputError(msg)
    rate = number * _RATES[unit]
    if rate <= 0:
        msg = f"bandwidth {text!r} must be positive; write for example 25GB/s"
        raise InputError(msg)
    if not 1 <= rate <= LARGEST_RATE:
        side = "below 1 B/s" if rate < 1 else f"above {LARGEST_RATE:.0e} B/s"
        msg = f"bandwidth {text!r} is {side}; write for example 25GB/s"
        raise InputError(msg)
    return round(rate)


def parse_latency(text: object) -> int:
    """Return the latency in picoseconds that ``text`` states, such as ``0.7us`` or ``350ns``.

    Raises
    ------
    InputError
        When the unit is missing or unknown, or the value is negative, above ``LARGEST_LATENCY_PS``, or would be
        rounded to 0.
    """
    number, unit = _split(text, "latency", "0.7us or 350ns")
    if unit not in _TIMES_PS:
        msg = f"latency {text!r} has {'no' if not unit else 'an unknown'} unit; write for example 0.7us or 350ns"
        raise InputError(msg)
    if number < 0:
        msg = f"latency {text!r} must not be negative; write for example 0.7us"
        raise InputError(msg)
    latency = number * _TIMES_PS[unit]
    if latency > LARGEST_LATENCY_PS or 0 < latency < 1:
        side = "below 1 ps and not 0" if latency < 1 else f"above {LARGEST_LATENCY_PS // PS_PER_SECOND} s"
        msg = f"latency {text!r} is {side}; write for example 0.7us"
        raise InputError(msg)
    return round(latency)


def parse_time(text: object) -> float:
    """Return the seconds that a time such as ``1.5s``, ``300ms`` or ``2h`` states.

    Raises
    ------
    InputError
        When it is no time, or longer than ``LONGEST_S``.
    """
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    seconds = float(match[1]) * _TIMES_S[match[2]] if match else math.inf
    if seconds > LONGEST_S:
        msg = f"{clipped(text)} is no time from 0 s to {LONGEST_S:g} s; write for example 1.5s, 300ms or 2h"
        raise InputError(msg)
    return seconds


def parse_size(text: str) -> int:
    """Return the number of bytes that ``text`` states, as nccl-tests reads sizes.

    ``64M``, ``64MB`` and ``64MiB`` all mean 64 * 2**20; a bare number is bytes. ``B`` is bytes, ``b`` bits.

    Raises
    ------
    InputError
        When the text is not a size, is in bits, is not a whole number of bytes, or is not from 1 to
        ``LARGEST_SIZE``.
    """
    number, unit = _split(text, "size", "64MiB, 64M or 1G")
    if unit.endswith("b"):
        msg = f"size {text!r} is in bits; sizes are in bytes, write for example 64MB or 64MiB"
        raise InputError(msg)
    letter = unit[:1].upper()
    if letter not in _SIZE_FACTORS or unit.upper() not in {letter, letter + "B", letter + "IB", "B"}:
        msg = f"size {text!r} has an unknown unit; write for example 64MiB, 64M or 1G (powers of 1024, as nccl-tests)"
        raise InputError(msg)
    size = number * _SIZE_FACTORS[letter]
    if size.denominator != 1 or size <= 0:
        msg = f"size {text!r} must be a positive whole number of bytes; write for example 64MiB"
        raise InputError(msg)
    if size > LARGEST_SIZE:
        msg = f"size {text!r} is above 2**60 bytes; write for example 64MiB"
        raise InputError(msg)
    return int(size)


def parse_share(text: object) -> int:
    """Return the thousandths that a percentage such as ``50%`` or ``12.5%`` states.

    Raises
    ------
    InputError
        When it is no percentage from 0.1% to 100%.
    """
    match = re.fullmatch(r"([0-9]{1,3})(?:\.([0-9]))?%", text) if isinstance(text, str) else None
    share = int(match[1]) * 10 + int(match[2] or 0) if match else 0
    if not 1 <= share <= 1000:
        msg = f"share {clipped(text)} is no percentage from 0.1% to 100%; write for example 50%"
        raise InputError(msg)
    return share


def format_rate(rate_bytes_per_s: float) -> str:
    """Return a bandwidth for people, in GB/s (1e9 bytes per second)."""
    return f"{rate_bytes_per_s / 1e9:.6g}GB/s"


def format_latency(latency_ps: float) -> str:
    """Return a latency for people, in microseconds."""
    return f"{latency_ps / 1e6:.6g}us"


def format_size(size_bytes: int) -> str:
    """Return a size for people, with a binary suffix where it divides exactly."""
    for suffix, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes % factor == 0 and size_bytes >= factor:
            return f"{size_bytes // factor}{suffix}"
    return f"{size_bytes}B"
