"""``syccl bound``."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import run

Capsys = pytest.CaptureFixture[str]


def test_the_cut_is_told_in_words(capsys: Capsys) -> None:
    result = run(capsys, "bound", "--topo", "a100x32", "--op", "allgather")
    assert (result.code, result.err) == (0, "")
    cut = next(line for line in result.out.splitlines() if line.startswith("cut"))
    assert "ranks 0-7" in cut
    assert "4 links" in cut


def test_the_bandwidth_term_is_the_data_over_the_nics_of_a_server(capsys: Capsys) -> None:
    args = ("--topo", "a100x32", "--op", "allgather", "--size", "1G", "--json")
    values = json.loads(run(capsys, "bound", *args).out)
    assert values["bandwidth_bound_us"] == pytest.approx(2**30 * 24 / 32 / 100e3)
    assert values["bound_us"] == max(values[f"{term}_bound_us"] for term in ("bandwidth", "latency", "combined"))
    assert len(values["cut_links"]) == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--op", "allgather", "--topo", "nowhere"), "neither a file nor a bundled topology"),
        (("--op", "broadcast", "--topo", "a100x8", "--root", "8"), "root 8 is out of range"),
        (("--op", "gatherall", "--topo", "a100x8"), "unknown collective"),
        (("--op", "allgather", "--topo", "a100x8", "--size", "0"), "must be a positive"),
    ],
)
def test_wrong_inputs_are_3(capsys: Capsys, args: tuple[str, ...], message: str) -> None:
    result = run(capsys, "bound", *args)
    assert result.code == 3
    assert message in result.err
