"""``syccl plan --deploy``: what a cluster can use of a plan, and what is refused before it is written."""

from __future__ import annotations

import csv
import itertools
import json
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from syccl.topology.catalog import find_topology
from syccl.traffic.c4p import Connection, ways_of
from syccl.traffic.c4p.hashing import Hashing, hashed_links
from syccl.traffic.deploy import marks
from tests.cli.run import run

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "jobs.yaml"
Capsys = pytest.CaptureFixture[str]
ARGS = ("plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "1")


def variables(path: Path) -> dict[str, int]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: int(value) for name, value in (line.split("=") for line in lines)}


def test_files_agree_with_the_plan(capsys: Capsys, tmp_path: Path) -> None:
    args = (*ARGS, "--policy", "crux", "--levels", "4", "--reserved", "1", "--queue-pairs", "4", "--json")
    result = run(capsys, *args, "--deploy", str(tmp_path / "out"))
    assert (result.code, result.err) == (0, "")
    files = tmp_path / "out" / "deploy"
    with (files / "priorities.csv").open(encoding="utf-8") as file:
        table = {int(row["level"]): row for row in csv.DictReader(file)}
    assert [row["priority"] for row in table.values()] == ["6", "5", "4"]
    paths = json.loads((files / "paths.json").read_text(encoding="utf-8"))
    assert {each["queue_pair"] for each in paths["paths"]} == {0, 1, 2, 3}
    for job in json.loads(result.out)["jobs"]:
        row, found = table[job["level"]], variables(files / f"{job['name']}.env")
        assert found == {
            "NCCL_IB_TC": int(row["traffic_class"]),
            "NCCL_IB_SL": int(row["service_level"]),
            "NCCL_IB_QPS_PER_CONNECTION": 4,
        }
        assert found["NCCL_IB_TC"] == 4 * int(row["dscp"])
    index = json.loads((tmp_path / "out" / "index.json").read_text(encoding="utf-8"))
    assert {Path(entry["file"]).name for entry in index["files"]} == {path.name for path in files.iterdir()}
    assert all(entry["for"] for entry in index["files"])


def test_paths_are_those_of_the_fabric(capsys: Capsys, tmp_path: Path) -> None:
    assert run(capsys, *ARGS, "--policy", "crux", "--deploy", str(tmp_path)).code == 0
    topology = find_topology("a100x32")
    names = [node.name for node in topology.nodes]
    cables = {(names[link.src], names[link.dst]) for link in topology.links}
    paths = json.loads((tmp_path / "deploy" / "paths.json").read_text(encoding="utf-8"))
    assert {each["job"] for each in paths["paths"]} == {"gpt", "moe"}
    assert paths["without_port"] == 0
    for each in paths["paths"]:
        path = each["path"]
        assert (path[0], path[-1]) == tuple(names[topology.gpus[each[end]]] for end in ("src_rank", "dst_rank"))
        assert set(itertools.pairwise(path)) <= cables


def test_ports_lead_over_the_chosen_paths(capsys: Capsys, tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    made = ("topo", "generate", "clos", "--servers", "4", "--block", "1", "--oversubscription", "4", "-o", str(fabric))
    assert run(capsys, *made).code == 0
    args = ("plan", str(EXAMPLE), "--topo", str(fabric), "--seconds", "1", "--policy", "crux", "--hash", "crc16")
    assert run(capsys, *args, "--seed", "5", "--deploy", str(tmp_path / "out")).code == 0
    topology, hashing = find_topology(str(fabric)), Hashing("crc16", 5)
    entries = json.loads((tmp_path / "out" / "deploy" / "paths.json").read_text(encoding="utf-8"))["paths"]
    assert len({tuple(name for name in each["path"] if "spine" in name) for each in entries}) > 1
    for each in entries:
        connection = Connection(each["job"], each["src_rank"], each["dst_rank"], 0, 0, 1.0)
        ends = IPv4Address(each["src_ip"]), IPv4Address(each["dst_ip"]), each["udp_source_port"]
        links = hashed_links(topology, ways_of(topology, [connection])[0], hashing, ends)
        assert [topology.nodes[topology.links[link].dst].name for link in links] == each["path"][1:]


def test_hashed_paths_are_not_written(capsys: Capsys, tmp_path: Path) -> None:
    assert run(capsys, *ARGS, "--policy", "intensity", "--deploy", str(tmp_path)).code == 0
    assert sorted(path.name for path in (tmp_path / "deploy").iterdir()) == ["gpt.env", "moe.env", "priorities.csv"]


def test_only_what_was_written_before_is_replaced(capsys: Capsys, tmp_path: Path) -> None:
    deploy = (*ARGS, "--deploy", str(tmp_path))
    assert run(capsys, *deploy).code == 0
    assert "holds index.json already" in run(capsys, *deploy).err
    assert run(capsys, *deploy, "--force").code == 0
    (tmp_path / "deploy" / "mine").touch()
    assert "deploy/mine, which index.json does not list" in run(capsys, *deploy, "--force").err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--dscp", "64", "--levels", "1"), "--dscp: 64 is no DSCP; these are 0 to 63"),
        (("--dscp", "46,46", "--levels", "2"), "--dscp: 46 is given twice"),
        (("--dscp", "46,34"), "--dscp: 2 values for 8 levels"),
        (("--dscp", "ef", "--levels", "1"), "--dscp: 'ef' is no DSCP"),
        (("--dscp", "-1", "--levels", "1"), "--dscp: '-1' is no DSCP"),
        (("--policy", "all"), "--deploy takes one policy"),
        (("--policy", "crux", "--addresses", "none.csv"), "none.csv: cannot be read"),
    ],
)
def test_values_that_a_consumer_would_misread_are_refused(
    capsys: Capsys, tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    result = run(capsys, *ARGS, *args, "--deploy", str(tmp_path / "out"))
    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
    assert message in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("usable", range(1, 9))
def test_the_highest_level_has_the_highest_priority_below_the_reserved(usable: int) -> None:
    for reserved in range(9 - usable):
        found = marks(usable, reserved, None)
        assert [mark.priority for mark in found] == list(range(7 - reserved, 7 - reserved - usable, -1))
        assert all(0 <= mark.traffic_class <= 255 and mark.dscp // 8 == mark.priority for mark in found)
