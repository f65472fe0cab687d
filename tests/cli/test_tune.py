"""``syccl tune`` on a tiny cluster."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from syccl.program.msccl_xml import read_xml
from syccl.report.tuning import CSV_COLUMNS
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import Result, run
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]

SMALL = ("-b", "1K", "-e", "1M", "-f", "8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ring4.yaml").write_text(write_yaml(ring(4)))
    return tmp_path


def tune(capsys: Capsys, *args: str, op: str = "allgather") -> Result:
    return run(capsys, "tune", "--topo", "ring4.yaml", "--op", op, *args)


def made(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name != "ring4.yaml")


def test_the_folder_holds_an_index_and_files_named_by_what_they_serve(capsys: Capsys, folder: Path) -> None:
    result = tune(capsys, *SMALL)
    assert (result.code, result.err) == (0, "")
    index = json.loads(Path("allgather.ring4.tuned/index.json").read_text())
    files = [entry["file"] for entry in index["schedules"]]
    assert made(folder) == sorted(f"allgather.ring4.tuned/{name}" for name in ("index.json", *files))
    assert files[0].startswith("msccl-algorithms/allgather.ring4.1KiB")
    for entry in index["schedules"]:
        path = Path("allgather.ring4.tuned") / entry["file"]
        program = read_xml(path.read_text(), source=str(path))
        assert (program.min_bytes, program.max_bytes) == (entry["min_bytes"], entry["max_bytes"])
        assert program.chunks * 4 == entry["multiple_of_bytes"]
        assert all(entry["min_bytes"] <= size["size_bytes"] <= entry["max_bytes"] for size in entry["sizes"])
    served = [size["size_bytes"] for entry in index["schedules"] for size in entry["sizes"]]
    assert served == [1 << 10, 1 << 13, 1 << 16, 1 << 19]
    assert index["command"] == (
        "syccl tune --topo ring4.yaml --op allgather -b 1024 -e 1048576 -f 8 --datatype float32 --protocol Simple "
        "--target msccl-executor-nccl"
    )
    assert len(index["topology_sha256"]) == 64
    assert (index["op"], index["root"], index["unserved"], index["tolerance"]) == ("allgather", None, [], 1.02)


def test_the_table_has_the_columns_of_nccl_tests_and_bound_ratio_and_schedule(capsys: Capsys) -> None:
    lines = tune(capsys, *SMALL).out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.lstrip().startswith("size (B)"))
    assert lines[header].split("  ")[-1] == "schedule"
    row = lines[header + 1].split()
    assert row[:5] == ["1024", "64", "float32", "none", "-1"]
    time_us, algbw, busbw, bound_us, ratio = map(float, row[5:10])
    assert algbw == pytest.approx(1024 / time_us / 1e3, abs=0.01)
    assert busbw == pytest.approx(algbw * 3 / 4, abs=0.01)
    assert ratio == pytest.approx(time_us / bound_us, rel=0.01)
    assert any(line.startswith("  export MSCCL_ALGO_DIR=") for line in lines)


def test_json_and_csv_have_the_same_sizes_under_stable_names(capsys: Capsys) -> None:
    record = json.loads(tune(capsys, *SMALL, "--json", "--csv", "table.csv").out)
    rows = list(csv.DictReader(io.StringIO(Path("table.csv").read_text())))
    assert list(rows[0]) == list(CSV_COLUMNS) == list(record["sizes"][0])
    assert [float(row["time_us"]) for row in rows] == [size["time_us"] for size in record["sizes"]]
    assert set(record) == {
        *("syccl", "command", "topology", "topology_sha256", "ranks", "rank_order", "op", "root", "size_means"),
        *("datatype", "protocol", "tolerance", "candidates", "simulations", "schedules", "unserved", "sizes"),
        *("average_busbw_GBps", "output", "index", "tuning_s", "hit_time_limit"),
    }
    assert set(record["schedules"][0]) == {
        *("min_bytes", "max_bytes", "multiple_of_bytes", "chunks", "plan", "made_for_bytes", "file", "sizes"),
    }
    busbw = [size["busbw_GBps"] for size in record["sizes"]]
    assert record["average_busbw_GBps"] == pytest.approx(sum(busbw) / len(busbw))


def test_the_same_question_gives_the_same_bytes_with_any_number_of_processes(capsys: Capsys, folder: Path) -> None:
    assert tune(capsys, *SMALL, "-o", "one", "--quiet", "--csv", "one.csv").out == ""
    assert tune(capsys, *SMALL, "-o", "two", "--quiet", "--csv", "two.csv", "--jobs", "2").code == 0
    one, two = ({p.name: p.read_bytes() for p in (folder / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert one == two
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_results_are_replaced_only_by_force(capsys: Capsys) -> None:
    assert tune(capsys, *SMALL, "-o", "out", "--quiet", "--csv", "out.csv").code == 0
    before = Path("out/index.json").read_text()
    again = tune(capsys, "-b", "4K", "-e", "4K", "-o", "out")
    assert (again.code, again.err) == (
        3,
        "error: output 'out' holds index.json already; --force replaces it, or choose another folder\n",
    )
    other = tune(capsys, "-b", "4K", "-e", "4K", "-o", "new", "--csv", "out.csv")
    assert other.code == 3
    assert "output 'out.csv' exists; --force replaces it" in other.err
    assert not Path("new").exists()
    assert Path("out/index.json").read_text() == before
    assert tune(capsys, "-b", "4K", "-e", "4K", "-o", "out", "--csv", "out.csv", "--force").code == 0
    assert [p.name for p in Path("out/msccl-algorithms").iterdir()] == ["allgather.ring4.4KiB.xml"]


def test_rooted_collectives_name_their_root_and_warn(capsys: Capsys) -> None:
    result = tune(capsys, "-b", "4K", "-e", "8K", "--root", "2", op="broadcast")
    assert Path("broadcast-root2.ring4.tuned/msccl-algorithms/broadcast-root2.ring4.4KiB-8KiB.xml").exists()
    assert "right only for calls with root 2" in result.out
    assert json.loads(Path("broadcast-root2.ring4.tuned/index.json").read_text())["command"].endswith("--root 2")


def test_a_time_limit_is_told(capsys: Capsys) -> None:
    result = tune(capsys, "-b", "64K", "-e", "4M", "-f", "4", "--time-limit", "1e-9")
    assert result.code == 0
    assert "1MiB: left out at the time limit" in result.err
    assert "warning: stopped at the time limit" in result.err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("-b", "4G", "-e", "1K"), 3, "the sweep from -b 4GiB to -e 1KiB is empty"),
        (("-f", "1"), 2, "Invalid value for '-f'"),
        (("-f", "0.5"), 2, "Invalid value for '-f'"),
        (("-f", "inf"), 2, "inf is no number"),
        (("-f", "two"), 2, "Invalid value for '-f'"),
        (("-f", "2", "-i", "1M"), 3, "-f multiplies sizes and -i adds to them; give one of the two"),
        (("-b", "1X"), 3, "size '1X' has an unknown unit"),
        (("-e", "1Kb"), 3, "size '1Kb' is in bits"),
        (("-i", "0"), 3, "size '0' must be a positive whole number of bytes"),
        (("-i", "4"), 3, "the sweep has more than 500 sizes"),
        (("-b", "1", "-e", "15"), 3, "no size up to -e 15B is left: for allgather over 4 ranks sizes are multiples"),
        (("--root", "1"), 3, "allgather has no root"),
        (("--datatype", "float33"), 3, "unknown datatype"),
        (("--protocol", "TCP"), 3, "unknown protocol"),
        (("-o", "ring4.yaml"), 3, "output 'ring4.yaml' is a file; give the name of a folder"),
        (("-o", "missing/out"), 3, "cannot be written: No such file or directory"),
        (("--csv", "missing/out.csv"), 3, "cannot be written: No such file or directory"),
        (("--jobs", "0"), 2, "Invalid value for '--jobs'"),
        (("-x", "1"), 2, "No such option"),
    ],
)
def test_bad_input_is_told_before_any_work(
    capsys: Capsys, folder: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    result = tune(capsys, *args)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert made(folder) == []


@pytest.mark.parametrize("size", ["1M", "1MB", "1MiB", "1m", "1048576", "1024K"])
def test_letters_are_powers_of_1024(capsys: Capsys, size: str) -> None:
    record = json.loads(tune(capsys, "-b", size, "-e", size, "--json").out)
    assert [row["size_bytes"] for row in record["sizes"]] == [1 << 20]


def test_lines_for_nccls_tuner_are_written(capsys: Capsys) -> None:
    args = ("tune", "--topo", "ring4.yaml", "--op", "allgather", "-b", "1K", "-e", "64K", "-f", "8", "-o", "tuned")
    result = run(capsys, *args, "--nccl-tuner", "tuner.csv", "--quiet")
    assert (result.code, result.err) == (0, "")
    lines = Path("tuner.csv").read_text().splitlines()
    assert lines[0].startswith("# collective,min_bytes,max_bytes,")
    assert lines[1].startswith("allgather,0,")
    again = run(capsys, *args[:-1], "other", "--nccl-tuner", "tuner.csv", "--quiet")
    assert again.code == 3
    assert "exists; --force replaces it" in again.err


def test_a_collective_that_nccls_tuner_does_not_know_is_refused_before_the_work(capsys: Capsys) -> None:
    result = run(capsys, "tune", "--topo", "ring4.yaml", "--op", "alltoall", "-o", "tuned", "--nccl-tuner", "t.csv")
    assert (result.code, result.out) == (3, "")
    assert "does not know alltoall" in result.err
    assert not Path("tuned").exists()
