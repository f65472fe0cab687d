"""Quantities from text: exact values, and limits that are told."""

from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.units import LARGEST_LATENCY_PS, LARGEST_RATE, LARGEST_SIZE, parse_latency, parse_rate, parse_size


@pytest.mark.parametrize(
    ("text", "rate"),
    [("25GB/s", 25 * 10**9), ("25GBps", 25 * 10**9), ("200Gb/s", 25 * 10**9), ("200Gbps", 25 * 10**9)],
)
def test_bytes_and_bits_a_second_are_read_in_both_spellings(text: str, rate: int) -> None:
    assert parse_rate(text) == rate


def test_the_limits_themselves_are_taken() -> None:
    assert parse_rate("1e9GB/s") == LARGEST_RATE
    assert parse_rate("1B/s") == 1
    assert parse_latency("1000s") == LARGEST_LATENCY_PS
    assert parse_latency("0us") == 0
    assert parse_size("1048576T") == LARGEST_SIZE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1.1e9GB/s", "above 1e\\+18 B/s"),
        ("7b/s", "below 1 B/s"),
        ("0GB/s", "must be positive"),
        ("9" * 41 + "GB/s", "more than 40 characters"),
        ("\u0662GB/s", "not a number"),
    ],
)
def test_absurd_bandwidths_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "problem"), [("1001s", "above 1000 s"), ("1e-9us", "below 1 ps"), ("-1s", "negative")]
)
def test_absurd_latencies_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_latency(text)


@pytest.mark.parametrize("text", ["64Mb", "64mb", "64b", "64Mib", "64kb"])
def test_sizes_in_bits_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="in bits"):
        parse_size(text)


@pytest.mark.parametrize("text", ["1048577T", "1e60", "9" * 5000, "\u0666M", "0", "0.5"])
def test_absurd_sizes_are_refused_in_a_short_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^size ") as caught:
        parse_size(text)
    assert len(str(caught.value)) < 200
