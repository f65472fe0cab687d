"""``syccl diagnose``: what it names is what ``--without`` takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from syccl.schedule.ir import expand
from syccl.schedule.json_file import read_json
from syccl.topology import Topology, routes_from
from syccl.topology.catalog import find_topology, load_topology
from syccl.topology.elements import element_of
from syccl.traffic.c4d.paths_file import read_paths
from syccl.traffic.c4d.routes import flat
from syccl.traffic.c4d.synthetic import fair_rates, measured
from syccl.traffic.pairs import direct_sends
from tests.cli.run import run

Capsys = pytest.CaptureFixture[str]


def written(path: Path, topology: Topology, part: str | None, links: dict[tuple[int, int], tuple[int, ...]]) -> Path:
    """Write what an alltoall takes with a slow part."""
    ends = [(src, dst, 0) for src, dst in sorted(links)]
    slow = {} if part is None else dict.fromkeys(element_of(topology, part).links, 2.0)
    rates = fair_rates(topology, flat([links[src, dst] for src, dst, _ in ends]), slow)
    made = measured(ends, rates, noise=0.1, windows=5, seed=2)
    columns = (made.src, made.dst, made.window, made.size_bytes, made.time_us)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = ["src,dst,window,bytes,time_us", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def defaults(topology: Topology) -> dict[tuple[int, int], tuple[int, ...]]:
    pairs = direct_sends("alltoall", 1, topology.ranks)
    return {(src, dst): routes_from(topology, src)[dst].links for src, dst, _ in pairs}


@pytest.mark.parametrize("part", ["nic:server0.nic1", "arc:server1.nic2/leaf0"])
def test_what_is_named_is_left_out_by_synth(capsys: Capsys, tmp_path: Path, part: str) -> None:
    topology = load_topology("a100x16")
    times = written(tmp_path / "times.csv", topology, part, defaults(topology))
    result = run(capsys, "diagnose", str(times), "--topo", "a100x16", "--json")
    assert result.code == 1
    told = json.loads(result.out)
    assert part in told["without"]
    made = tmp_path / "made.json"
    options = [option for each in told["without"] for option in ("--without", each)]
    args = ("--topo", "a100x16", "--op", "allgather", "--size", "1M", "-o", str(made), "--no-cache", *options)
    assert run(capsys, "synth", *args).code == 0
    schedule = expand(read_json(made.read_text(encoding="utf-8"), source="made.json"))
    used = {schedule.topology.link_name(link) for route in schedule.routes for link in route}
    dead = {topology.link_name(link) for each in told["without"] for link in element_of(topology, each).links}
    assert dead
    assert not used & dead
    assert run(capsys, "verify", str(made)).code == 0


def test_a_healthy_cluster_has_nothing_at_fault(capsys: Capsys, tmp_path: Path) -> None:
    topology = load_topology("a100x16")
    times = written(tmp_path / "times.csv", topology, None, defaults(topology))
    assert run(capsys, "diagnose", str(times), "--topo", "a100x16") == (0, "nothing is at fault\n", "")


def test_known_paths_tell_which_spine(capsys: Capsys, tmp_path: Path) -> None:
    fabric, paths, jobs = tmp_path / "clos.yaml", tmp_path / "paths.json", tmp_path / "jobs.yaml"
    args = ("clos", "--servers", "4", "--block", "1", "-o", str(fabric))
    assert run(capsys, "topo", "generate", *args).code == 0
    jobs.write_text(
        "jobs: [{name: a, gpus: 32, compute: 1s, collectives: [{op: alltoall, size: 1G, by: direct}]}]\n",
        encoding="utf-8",
    )
    assert run(capsys, "paths", str(jobs), "--topo", str(fabric), "-o", str(paths)).code == 0
    topology = find_topology(str(fabric))
    known = read_paths(paths.read_text(encoding="utf-8"), source="paths.json", topology=topology)
    part = "arc:leaf2/spine1"
    times = written(tmp_path / "t.csv", topology, part, {(src, dst): links for (src, dst, *_), links in known.items()})
    result = run(capsys, "diagnose", str(times), "--topo", str(fabric), "--paths", str(paths))
    assert result.code == 1
    assert result.out.splitlines()[-1] == f"to do without: --without {part}"
    assert [line.split()[0] for line in result.out.splitlines()[:2]] == ["fault", "communication"]
    unknown = run(capsys, "diagnose", str(times), "--topo", str(fabric))
    assert unknown.code == 1
    faults = json.loads(run(capsys, "diagnose", str(times), "--topo", str(fabric), "--json").out)["faults"]
    names = [suspect["name"] for fault in faults for suspect in fault["suspects"]]
    assert names == ["one of 4 like leaf2 -> spine0"]
    assert unknown.out.endswith("--paths (see syccl paths -o) says more\n")


def test_suspects_that_look_alike_are_listed_with_what_tells_them_apart(capsys: Capsys, tmp_path: Path) -> None:
    topology = load_topology("a100x32")
    ring = {
        (8 * at + 6, (8 * at + 8) % 32): routes_from(topology, 8 * at + 6)[(8 * at + 8) % 32].links for at in range(4)
    }
    ring |= {(rank, rank + 1): routes_from(topology, rank)[rank + 1].links for rank in range(32) if rank % 8 != 7}
    times = written(tmp_path / "times.csv", topology, "arc:server1.nic3/leaf0", ring)
    lines = run(capsys, "diagnose", str(times), "--topo", "a100x32").out.splitlines()
    assert "or rx side" in lines[3]
    assert lines[-2].startswith("to tell these apart: exchange server2 and server")
    # The only way between the leaves is a suspect too, but without it nothing works.
    assert lines[-1] == "to do without: --without nic:server1.nic3 --without nic:server2.nic0"


def test_what_is_wrong_is_one_line(capsys: Capsys, tmp_path: Path) -> None:
    def told(*args: str) -> str:
        result = run(capsys, "diagnose", *args, "--topo", "a100x16")
        assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
        return result.err

    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("src,dst,bytes,time_us\n0,1,8,3\n", encoding="utf-8")
    other.write_text("rank,sequence,start_us,end_us\n0,1,8,9\n", encoding="utf-8")
    assert "2 files of connections and 0 of operations" in told(str(one), str(one))
    assert "times of connections are needed" in told(str(one), "--healthy", str(other))
    assert "no.csv: cannot be read" in told(str(tmp_path / "no.csv"))
    for text, message in (
        ("[]", "no file of paths"),
        ('{"paths": [{}]}', "paths[0]: src_rank"),
        (path_entry("server0.gpu0", "mars"), "paths[0]: the path has no link 'server0.gpu0' -> 'mars'"),
        (path_entry("server0.gpu0", "server0.nic0", parts=2), "paths[0]: in 2 parts"),
    ):
        other.write_text(text, encoding="utf-8")
        assert message in told(str(one), "--paths", str(other))


def path_entry(*path: str, parts: int = 1) -> str:
    ends = {"src_rank": 0, "dst_rank": 1, "channel": 0, "queue_pair": 0, "parts": parts}
    return json.dumps({"paths": [ends | {"path": list(path)}]})


def test_times_are_normal_and_of_the_stated_rate() -> None:
    made = measured([(0, 1, 0), (1, 0, 0)], np.array([1e9, 2e9]), noise=0.1, windows=2000, seed=1)
    for src, rate in ((0, 1e9), (1, 2e9)):
        times = made.time_us[made.src == src]
        assert times.mean() == pytest.approx(2**20 / rate * 1e6, rel=0.02)
        assert times.std() / times.mean() == pytest.approx(0.1, rel=0.1)
