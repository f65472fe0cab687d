"""``--matrix`` of several verbs."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import run

ROWS = [[0, 1024, 0, 8], [512, 64, 0, 0], [0, 0, 0, 0], [16, 0, 4096, 0]]
SIZE = 4112
TOPOLOGY = {"gpus": list("abcd"), "switches": ["s"]} | {
    "links": [link for gpu in "abcd" for link in ([gpu, "s", 10, 0.5], ["s", gpu, 10, 0.5])]
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "four.json").write_text(json.dumps(TOPOLOGY))
    (tmp_path / "m.csv").write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    (tmp_path / "m.json").write_text(json.dumps([[entry // 4 for entry in row] for row in ROWS]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def alltoallv(capsys, verb, *args):
    return run(capsys, verb, "--topo", "four.json", "--op", "alltoallv", *args)


def test_a_schedule_is_made_verified_and_simulated(capsys, folder):
    made = alltoallv(capsys, "synth", "--matrix", "m.csv", "--json")
    assert (made.code, made.err) == (0, "")
    record = json.loads(made.out)
    assert (record["op"], record["size_bytes"]) == ("alltoallv", SIZE)
    assert record["size_means"] == "the largest send or receive buffer of any rank"
    assert record["program_time_us"] is None
    assert record["time_us"] >= record["bound_us"] > 1.0
    file = record["output"]
    assert file.endswith(".json")
    assert (folder / file).exists()
    for more in ((), ("--matrix", "m.csv"), ("--matrix", "m.json", "--matrix-unit", "elements")):
        assert run(capsys, "verify", file, *more).code == 0
        simulated = json.loads(run(capsys, "simulate", file, *more, "--json").out)
        assert simulated["time_us"] == pytest.approx(record["time_us"])
        assert simulated["size_bytes"] == SIZE
    bound = json.loads(alltoallv(capsys, "bound", "--matrix", "m.csv", "--json").out)
    assert bound["bound_us"] == record["bound_us"]


def test_another_matrix_is_told_pair_by_pair(capsys, folder):
    alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.json")
    (folder / "other.csv").write_text((folder / "m.csv").read_text().replace("512", "508"))
    for verb in ("verify", "simulate"):
        result = run(capsys, verb, "x.json", "--matrix", "other.csv")
        assert result.code == 1
        assert "1->0" in result.out
        assert "moves 512 bytes, the matrix asks for 508" in result.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "alltoallv needs --matrix FILE"),
        (("--matrix", "m.csv", "--size", "4112"), "leave --size out"),
        (("--matrix", "none.csv"), "none.csv: cannot be read"),
        (("--matrix", "m.csv", "--datatype", "float32", "-o", "x.xml"), "8 bytes as their largest common divisor"),
        (("--matrix", "bad.csv"), "bad.csv:2, column 1: '-1' is negative"),
        (("--matrix", "odd.csv"), "odd.csv: row 1, column 2: 6 bytes are no multiple of 4"),
        (("--matrix", "small.csv"), "small.csv: the matrix is 1 x 1, but four has 4 ranks"),
    ],
)
def test_mistakes_are_told(capsys, folder, args, words):
    (folder / "bad.csv").write_text("0,1\n-1,0\n")
    (folder / "odd.csv").write_text("0,6,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0\n")
    (folder / "small.csv").write_text("4\n")
    result = alltoallv(capsys, "synth", *args)
    assert result.code == 3
    assert words in result.err


def test_a_matrix_is_for_alltoallv_alone(capsys, folder):
    result = run(capsys, "synth", "--topo", "four.json", "--op", "alltoall", "--matrix", "m.csv")
    assert (result.code, "--matrix is for alltoallv" in result.err) == (3, True)
    run(capsys, "synth", "--topo", "four.json", "--op", "alltoall", "--size", "4K", "-o", "a.json", "-o", "a.xml")
    for file, words in (("a.json", "this is a schedule for alltoall"), ("a.xml", "not for programs")):
        result = run(capsys, "verify", file, "--matrix", "m.csv")
        assert (result.code, words in result.err) == (3, True)


def test_the_size_of_a_schedule_of_alltoallv_is_its_own(capsys, folder):
    alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.json")
    assert run(capsys, "simulate", "x.json", "--size", str(SIZE)).code == 0
    result = run(capsys, "simulate", "x.json", "--size", "1M")
    assert (result.code, f"is {SIZE} bytes" in result.err) == (3, True)


def test_there_is_no_certificate_and_no_sweep(capsys, folder):
    result = alltoallv(capsys, "bound", "--matrix", "m.csv", "--certificate", "c.json")
    assert (result.code, "no certificate for alltoallv" in result.err) == (3, True)
    result = run(capsys, "tune", "--topo", "four.json", "--op", "alltoallv")
    assert (result.code, "no sizes but a matrix" in result.err) == (3, True)
