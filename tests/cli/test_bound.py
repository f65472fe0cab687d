"""``syccl bound``."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert (values["bound_certified"], values["window_bound_us"]) == (False, 0)
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


def test_a_certificate_is_written_and_checked(capsys: Capsys, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    args = ("--topo", "a100x32", "--op", "broadcast", "--size", "64K", "--certificate", str(file))
    result = run(capsys, "bound", *args, "--json")
    values = json.loads(result.out)
    assert (result.code, values["bound_certified"]) == (0, True)
    assert values["bound_us"] == values["window_bound_us"] == values["certified_us"]
    again = run(capsys, "verify", str(file))
    assert (again.code, again.err) == (0, "")
    assert f"no schedule takes {round(values['bound_us'] * 1e6)} ps or less: correct" in again.out
    assert run(capsys, "bound", *args).code == 3
    assert run(capsys, "bound", *args, "--force").code == 0


def test_a_claim_that_does_not_follow_is_wrong(capsys: Capsys, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    run(capsys, "bound", "--topo", "a100x8", "--op", "allgather", "--size", "64K", "--certificate", str(file))
    file.write_text(file.read_text().replace('"size_bytes": 65536', '"size_bytes": 60000'))
    result = run(capsys, "verify", str(file))
    assert result.code == 1
    assert result.out.startswith("error[payload]")
    assert "WRONG" in result.out.splitlines()[-1]


def test_one_rank_leaves_nothing_to_prove(capsys: Capsys, tmp_path: Path) -> None:
    lone = tmp_path / "lone.json"
    lone.write_text(
        '{"name": "lone", "gpus": ["g0"], "switches": ["s"], "links": [["g0", "s", 1, 1], ["s", "g0", 1, 1]]}'
    )
    result = run(capsys, "bound", "--topo", str(lone), "--op", "allgather", "--certificate", str(tmp_path / "p.json"))
    assert (result.code, "nothing has to be sent" in result.err) == (5, True)
    assert not (tmp_path / "p.json").exists()
