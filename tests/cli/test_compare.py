"""``syccl compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import write_xml
from syccl.schedule.json_file import write_json
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.program.programs import allpairs_allreduce, direct_allgather, ring_allreduce
from tests.schedule.tiny import ring_allreduce as ring_schedule
from tests.strategies import mesh

Capsys = pytest.CaptureFixture[str]
SIZES = ("-b", "3K", "-e", "3M", "-f", "32")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mesh.yaml").write_text(write_yaml(mesh(3)))
    Path("ring.xml").write_text(write_xml(ring_allreduce(3)))
    Path("pairs.xml").write_text(write_xml(allpairs_allreduce(3)))
    Path("gather.xml").write_text(write_xml(direct_allgather(3)))
    Path("ring.json").write_text(write_json(ring_schedule(3), made_by={}))
    Path("bad.xml").write_text(write_xml(ring_allreduce(3)).replace('type="rrs"', 'type="rcs"', 1))


def test_two_programs_stand_side_by_side(capsys: Capsys) -> None:
    result = run(capsys, "compare", "ring.xml", "pairs.xml", "--topo", "mesh.yaml", *SIZES)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[1].split() == ["file", "ring.xml", "pairs.xml"]
    assert next(line.split() for line in lines if line.startswith("thread blocks"))[2:] == ["1", "3"]
    assert [line.split()[0] for line in lines if line.split()[:1] in (["3KiB"], ["96KiB"], ["3MiB"])] == [
        "3KiB", "96KiB", "3MiB"
    ]  # fmt: skip


def test_numbers_are_those_of_simulate(capsys: Capsys) -> None:
    record = json.loads(run(capsys, "compare", "ring.xml", "pairs.xml", "--topo", "mesh.yaml", *SIZES, "--json").out)
    assert [row["size_bytes"] for row in record["sizes"]] == [3072, 98304, 3145728]
    for row in record["sizes"]:
        for side, file in (("a", "ring.xml"), ("b", "pairs.xml")):
            alone = run(capsys, "simulate", file, "--topo", "mesh.yaml", "--size", str(row["size_bytes"]), "--json")
            assert json.loads(alone.out)["time_us"] == row[f"{side}_time_us"]
        assert row["ratio"] == pytest.approx(row["b_time_us"] / row["a_time_us"])
    assert record["links_at_bytes"] == 3145728
    assert len(record["links"]) == 6
    differences = [abs(link["a_busy_us"] - link["b_busy_us"]) for link in record["links"]]
    assert differences == sorted(differences, reverse=True)


def test_a_file_is_as_fast_as_itself(capsys: Capsys) -> None:
    record = json.loads(run(capsys, "compare", "ring.xml", "ring.xml", "--topo", "mesh.yaml", *SIZES, "--json").out)
    assert {row["ratio"] for row in record["sizes"]} == {1.0}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("ring.xml", "gather.xml", "--topo", "mesh.yaml"), "A is for allreduce, B for allgather"),
        (("ring.xml", "pairs.xml"), "give one with --topo"),
        (("ring.json", "ring.xml", "--topo", "mesh.yaml"), "was made for"),
        (("ring.xml", "pairs.xml", "--topo", "mesh.yaml", "-f", "2", "-i", "1M"), "give one of the two"),
    ],
)
def test_slips_are_told(capsys: Capsys, args: tuple[str, ...], said: str) -> None:
    result = run(capsys, "compare", *args)
    assert (result.code, result.out) == (3, "")
    assert said in result.err


def test_what_is_wrong_is_not_compared(capsys: Capsys) -> None:
    result = run(capsys, "compare", "ring.xml", "bad.xml", "--topo", "mesh.yaml")
    assert result.code == 1
    assert "bad.xml: program, allreduce over 3 ranks, 3 chunks: WRONG" in result.out
