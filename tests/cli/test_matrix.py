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


@pytest.mark.parametrize("target", ["msccl", "executor", "rccl"])
def test_a_program_is_made_verified_and_simulated(capsys, folder, target):
    made = alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.xml", "--target", target, "--json")
    assert (made.code, made.err) == (0, "")
    record = json.loads(made.out)
    assert record["program_time_us"] >= record["bound_us"]
    assert record["selected_sizes"]["asked_size_selected"] is (target == "msccl")
    assert run(capsys, "verify", "x.xml", "--matrix", "m.json", "--matrix-unit", "elements").code == 0
    unchecked = json.loads(run(capsys, "verify", "x.xml", "--json").out)
    assert (unchecked["correct"], unchecked["result_checked"]) == (True, False)
    simulated = json.loads(run(capsys, "simulate", "x.xml", "--topo", "four.json", "--matrix", "m.csv", "--json").out)
    assert simulated["time_us"] == pytest.approx(record["program_time_us"])
    assert simulated["size_bytes"] == SIZE
    linted = run(capsys, "lint", "x.xml", "--target", target)
    assert (linted.code == 0) is (target == "msccl")


def test_a_schedule_is_lowered_and_its_program_not_lifted(capsys, folder):
    (folder / "even.csv").write_text("0,1024,0,4096\n512,0,0,512\n0,0,0,0\n0,2048,0,512\n")
    alltoallv(capsys, "synth", "--matrix", "even.csv", "-o", "x.json")
    lowered = run(capsys, "lower", "x.json", "--target", "msccl", "-o", "x.xml")
    assert lowered.code == 0
    assert "call ncclCustomCollective" in lowered.out
    assert run(capsys, "verify", "x.xml", "--matrix", "even.csv").code == 0
    lifted = run(capsys, "lift", "x.xml", "--topo", "four.json", "-o", "y.json")
    assert (lifted.code, "does not say what outputs must hold" in lifted.err) == (3, True)


def test_how_a_runtime_runs_a_program_is_told(capsys, folder):
    words = alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.xml", "--target", "msccl").out
    assert f"call ncclCustomCollective with count {SIZE // 4} of float32" in words
    assert "NOT run by any call" in alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "y.xml").out


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("1024,0,8", "1032,0,8", "wrong"),
        ("16,0,4096", "24,0,4088", "bounds"),
        ("16,0,4096", "12,0,4096", "matrix"),
        ("512,64", "520,64", "wrong"),
    ],
)
def test_a_program_for_another_matrix_is_noticed(capsys, folder, old, new, rule):
    alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.xml")
    (folder / "other.csv").write_text((folder / "m.csv").read_text().replace(old, new))
    for more in (("verify", "x.xml"), ("simulate", "x.xml", "--topo", "four.json")):
        result = run(capsys, *more, "--matrix", "other.csv")
        assert result.code == 1
        assert f"error[{rule}]" in result.out


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
        (
            ("--matrix", "large.csv", "-o", "x.xml"),
            "multiples of 4 bytes and of nothing more, which makes 262145 chunks",
        ),
        (("--matrix", "zero.json", "-o", "x.xml"), "all entries are 0"),
        (("--matrix", "large.csv", "-o", "x.xml"), "Pad entries to multiples of 36 bytes or more"),
        (("--matrix", "bad.csv"), "bad.csv:2, column 1: '-1' is negative"),
        (("--matrix", "odd.csv"), "odd.csv: row 1, column 2: 6 bytes are no multiple of 4"),
        (("--matrix", "small.csv"), "small.csv: the matrix is 1 x 1, but four has 4 ranks"),
    ],
)
def test_mistakes_are_told(capsys, folder, args, words):
    (folder / "bad.csv").write_text("0,1\n-1,0\n")
    (folder / "odd.csv").write_text("0,6,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0\n")
    (folder / "small.csv").write_text("4\n")
    (folder / "zero.json").write_text(json.dumps([[0] * 4] * 4))
    (folder / "large.csv").write_text("0,4,1048576,0\n" + "0,0,0,0\n" * 3)
    result = alltoallv(capsys, "synth", *args)
    assert result.code == 3
    assert words in result.err


def test_a_matrix_is_for_alltoallv_alone(capsys, folder):
    result = run(capsys, "synth", "--topo", "four.json", "--op", "alltoall", "--matrix", "m.csv")
    assert (result.code, "--matrix is for alltoallv" in result.err) == (3, True)
    run(capsys, "synth", "--topo", "four.json", "--op", "alltoall", "--size", "4K", "-o", "a.json", "-o", "a.xml")
    for file, words in (("a.json", "this is a schedule for alltoall"), ("a.xml", "this is a program for alltoall")):
        result = run(capsys, "verify", file, "--matrix", "m.csv")
        assert (result.code, words in result.err) == (3, True)


def test_the_size_of_a_schedule_of_alltoallv_is_its_own(capsys, folder):
    alltoallv(capsys, "synth", "--matrix", "m.csv", "-o", "x.json")
    assert run(capsys, "simulate", "x.json", "--size", str(SIZE)).code == 0
    result = run(capsys, "simulate", "x.json", "--size", "1M")
    assert (result.code, f"is {SIZE} bytes" in result.err) == (3, True)
    compared = json.loads(run(capsys, "compare", "x.json", "x.json", "--json").out)
    assert [(row["size_bytes"], row["ratio"]) for row in compared["sizes"]] == [(SIZE, 1.0)]
    result = run(capsys, "compare", "x.json", "x.json", "-e", "1M")
    assert (result.code, f"is {SIZE} bytes" in result.err) == (3, True)


def test_a_bound_is_proved(capsys, folder):
    stated = json.loads(alltoallv(capsys, "bound", "--matrix", "m.csv", "--certificate", "c.json", "--json").out)
    assert stated["bound_certified"] is True
    result = run(capsys, "verify", "c.json")
    assert (result.code, "proof for alltoallv" in result.out) == (0, True)
    assert run(capsys, "verify", "c.json", "--matrix", "m.csv").code == 0
    (folder / "other.csv").write_text((folder / "m.csv").read_text().replace("512", "508"))
    result = run(capsys, "verify", "c.json", "--matrix", "other.csv")
    assert (result.code, "1->0: the proof is for 512 bytes, the matrix asks for 508" in result.out) == (1, True)
    (folder / "c.json").write_text((folder / "c.json").read_text().replace("4096", "2048"))
    assert run(capsys, "verify", "c.json").code == 1


def test_there_is_no_sweep(capsys, folder):
    result = run(capsys, "tune", "--topo", "four.json", "--op", "alltoallv")
    assert (result.code, "no sizes but a matrix" in result.err) == (3, True)
