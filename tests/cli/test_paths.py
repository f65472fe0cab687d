"""``syccl paths``: what it tells of paths, the file it writes, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.run import run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
JOBS = EXAMPLES / "jobs.yaml"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def fabric(tmp_path: Path, capsys: Capsys) -> str:
    path = tmp_path / "clos.yaml"
    args = ("topo", "generate", "clos", "--servers", "4", "--block", "1", "--oversubscription", "4", "-o", str(path))
    assert run(capsys, *args).code == 0
    return str(path)


def test_planned_paths_are_as_even_as_the_bound_and_hashes_are_not(capsys: Capsys, fabric: str) -> None:
    told = json.loads(run(capsys, "paths", str(JOBS), "--topo", fabric, "--most-parts", "16", "--json").out)
    planned, bound = told["planned"]["busiest_link_s"], told["bound_if_split_at_will"]["busiest_link_s"]
    assert planned == pytest.approx(bound, rel=0.005)
    assert told["hashed"]["busiest_link_s"] > 1.1 * planned
    assert planned <= told["sprayed"]["busiest_link_s"] < told["hashed"]["busiest_link_s"]


def test_the_file_states_ports_addresses_and_paths(capsys: Capsys, fabric: str, tmp_path: Path) -> None:
    output, addresses = tmp_path / "paths.json", tmp_path / "nics.csv"
    lines = [f"server{s}.nic{n},192.168.{s}.{n}" for s in range(4) for n in range(8)]
    addresses.write_text("# NICs\n" + "\n".join(lines) + "\n", encoding="utf-8")
    args = ("paths", str(JOBS), "--topo", fabric, "--queue-pairs", "2", "--addresses", str(addresses))
    assert run(capsys, *args, "-o", str(output)).code == 0
    first = output.read_text(encoding="utf-8")
    written = json.loads(first)
    assert written["without_port"] == 0
    assert {entry["queue_pair"] for entry in written["paths"]} == {0, 1}
    for entry in written["paths"]:
        server, nic = entry["src_nic"].removeprefix("server").split(".nic")
        assert entry["src_ip"] == f"192.168.{server}.{nic}"
        assert entry["path"][1] == entry["src_nic"]
        assert 49152 <= entry["udp_source_port"] <= 65535
    assert "exists; --force replaces it" in run(capsys, *args, "-o", str(output)).err
    assert run(capsys, *args, "-o", str(output), "--force").code == 0
    assert output.read_text(encoding="utf-8") == first


def test_after_a_failure_no_path_goes_over_it(capsys: Capsys, fabric: str, tmp_path: Path) -> None:
    output = tmp_path / "paths.json"
    args = ("paths", str(JOBS), "--topo", fabric, "--without", "link:leaf0/spine1", "-o", str(output))
    told = json.loads(run(capsys, *args, "--json").out)["failure"]
    assert told["links"] == ["leaf0->spine1", "spine1->leaf0"]
    assert told["connections_hit"] > 0
    assert told["before"]["busiest_link_s"] < told["after"]["busiest_link_s"] <= told["during"]["busiest_link_s"]
    paths = [entry["path"] for entry in json.loads(output.read_text(encoding="utf-8"))["paths"]]
    hops = Counter(frozenset(pair) for path in paths for pair in pairwise(path))
    assert hops[frozenset(("leaf0", "spine1"))] == 0
    assert hops[frozenset(("leaf0", "spine0"))] > 0
    lines = run(capsys, *args, "--force").out.splitlines()
    assert [line.split()[0] for line in lines[6:]] == ["failure", "before", "during", "after", "bound", "wrote"]


def test_programs_and_schedules_have_connections(capsys: Capsys, tmp_path: Path) -> None:
    made = [tmp_path / "made.xml", tmp_path / "made.json"]
    for path in made:
        args = ("synth", "--topo", "a100x16", "--op", "allreduce", "--size", "1M", "-o", str(path), "--no-cache")
        assert run(capsys, *args).code == 0
    told = [
        json.loads(run(capsys, "paths", str(path), "--topo", "a100x16", "--size", "1M", "--json").out) for path in made
    ]
    assert told[0]["connections"] >= told[1]["connections"] > 0
    assert told[0]["planned"]["busiest_link_s"] == pytest.approx(told[0]["bound"]["busiest_link_s"])


def test_what_is_wrong_is_one_line(capsys: Capsys, fabric: str, tmp_path: Path) -> None:
    def told(*args: str) -> str:
        result = run(capsys, "paths", *args)
        assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
        return result.err

    job = "jobs: [{name: a, ranks: 0-3, compute: 1s, collectives: [{op: allreduce, size: 1G}]}]\n"
    (tmp_path / "jobs.yaml").write_text(job, encoding="utf-8")
    assert "no connection leaves a server" in told(str(tmp_path / "jobs.yaml"), "--topo", fabric)
    assert "is a jobs file, which states its sizes" in told(str(JOBS), "--topo", fabric, "--size", "1M")
    assert "is over 8 ranks" in told(str(made_for_8(capsys, tmp_path)), "--topo", fabric)
    assert "no route from rank" in told(str(JOBS), "--topo", fabric, "--without", "nic:server0.nic1")
    assert "there is no switch of that name" in told(str(JOBS), "--topo", fabric, "--without", "switch:spine9")
    assert "must end in .json" in told(str(JOBS), "--topo", fabric, "-o", str(tmp_path / "a.csv"))


def made_for_8(capsys: Capsys, folder: Path) -> Path:
    path = folder / "eight.json"
    args = ("--topo", "a100x8", "--op", "allgather", "--size", "1M", "-o", str(path), "--no-cache")
    assert run(capsys, "synth", *args).code == 0
    return path
