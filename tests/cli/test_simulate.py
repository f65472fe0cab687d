"""``syccl simulate``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from syccl.program.msccl_xml import write_xml
from syccl.schedule.json_file import write_json
from syccl.topology import Topology
from syccl.topology.model import Kind, Link, Node
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.program.programs import two_level_allgather
from tests.report.made import allgather_program, allgather_schedule
from tests.schedule.tiny import ring_allreduce as ring_schedule
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring2.yaml").write_text(write_yaml(ring(2)))
    Path("ring3.yaml").write_text(write_yaml(ring(3)))
    Path("a.xml").write_text(write_xml(allgather_program()))
    Path("a.json").write_text(write_json(allgather_schedule(ring(2)), made_by={"seed": 0}))


def test_a_schedule_brings_its_topology(capsys: Capsys) -> None:
    values = json.loads(run(capsys, "simulate", "a.json", "--size", "1M", "--json").out)
    assert values["time_us"] == pytest.approx(2**19 / 25e3 + 0.7)
    assert (values["topology"], values["op"], values["bottleneck"]) == ("ring2", "allgather", "gpu0->gpu1")


def test_a_program_is_slower_than_its_schedule(capsys: Capsys) -> None:
    args = ("--size", "1M", "--json")
    program = json.loads(run(capsys, "simulate", "a.xml", "--topo", "ring2.yaml", *args).out)
    schedule = json.loads(run(capsys, "simulate", "a.json", "--topo", "ring2.yaml", *args).out)
    assert program["time_us"] >= schedule["time_us"]


def test_the_table_is_for_people(capsys: Capsys) -> None:
    result = run(capsys, "simulate", "a.json")
    assert result.code == 0
    assert result.out.startswith("file            a.json: schedule, allgather over 2 ranks of ring2, 2 chunks\n")


def test_the_costs_that_are_charged_are_told(capsys: Capsys) -> None:
    args = ("simulate", "a.xml", "--topo", "ring2.yaml")
    assert "costs           no cost profile: " in run(capsys, *args).out
    assert "# no cost profile: " in run(capsys, *args, "-b", "1M").out
    assert json.loads(run(capsys, *args, "--json").out)["profile"] is None
    assert "costs           profile a100: " in run(capsys, *args, "--profile", "a100").out
    assert json.loads(run(capsys, *args, "-b", "1M", "--profile", "a100", "--json").out)["profile"] == "a100"


def test_the_profile_of_a_topology_is_charged_and_another_may_be_asked_for(capsys: Capsys) -> None:
    Path("mi.yaml").write_text(write_yaml(replace(ring(2), profile="mi300x")))

    def time_us(topo: str, *more: str) -> float:
        return json.loads(run(capsys, "simulate", "a.xml", "--topo", topo, "--size", "1M", "--json", *more).out)[
            "time_us"
        ]

    own, asked = time_us("mi.yaml"), time_us("ring2.yaml", "--profile", "mi300x")
    assert own == asked > time_us("ring2.yaml")
    assert time_us("mi.yaml", "--profile", "h100") == time_us("ring2.yaml", "--profile", "h100") != own


def test_an_unknown_profile_and_one_for_a_schedule_are_refused(capsys: Capsys) -> None:
    unknown = run(capsys, "simulate", "a.xml", "--topo", "ring2.yaml", "--profile", "v100")
    assert (unknown.code, "unknown cost profile 'v100'" in unknown.err) == (3, True)
    schedule = run(capsys, "simulate", "a.json", "--profile", "a100")
    assert (schedule.code, "a schedule has none" in schedule.err) == (3, True)


@pytest.mark.parametrize(("old", "new"), [('cnt="1"', 'cnt="999999999"'), ('loop="2"', 'loop="999999999"')])
def test_a_broken_program_is_not_run(capsys: Capsys, old: str, new: str) -> None:
    Path("broken.xml").write_text(Path("a.xml").read_text().replace(old, new, 1))
    result = run(capsys, "simulate", "broken.xml", "--topo", "ring2.yaml")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("error[")
    assert "WRONG" in result.out.splitlines()[-1]
    values = json.loads(run(capsys, "simulate", "broken.xml", "--topo", "ring2.yaml", "--json").out)
    assert values["correct"] is False


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [('"order": [0, 1, 2, 3]', '"order": [5, 1, 2, 3]', "order"), ("[1, 2, 0, 1]", "[2, 2, 0, 1]", "")],
)
def test_a_wrong_schedule_is_not_timed(capsys: Capsys, old: str, new: str, rule: str) -> None:
    text = write_json(ring_schedule(3), made_by={})
    assert old in text
    Path("wrong.json").write_text(text.replace(old, new))
    found = run(capsys, "verify", "wrong.json")
    assert (found.code, f"error[{rule}" in found.out) == (1, True)
    for sizes in ((), ("-b", "3K", "-e", "6K")):
        result = run(capsys, "simulate", "wrong.json", *sizes)
        assert (result.code, result.out, result.err) == (1, found.out, "")


def test_a_size_that_runtimes_do_not_take_is_noted(capsys: Capsys) -> None:
    args = ("simulate", "a.xml", "--topo", "ring2.yaml", "--size")
    assert run(capsys, *args, "1M").err == ""
    result = run(capsys, *args, "1001")
    assert result.code == 0
    assert result.err.startswith("note: with float32 a runtime would not use this file: NOT selected for 1001 B")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("a.xml",), "give one with --topo"),
        (("a.xml", "--topo", "ring3.yaml"), "2 ranks"),
        (("a.json", "--topo", "ring3.yaml"), "leave --topo out"),
        (("a.json", "--size", "0"), "must be a positive"),
        (("none.xml",), "cannot be read"),
    ],
)
def test_wrong_inputs_are_3(capsys: Capsys, args: tuple[str, ...], message: str) -> None:
    result = run(capsys, "simulate", *args)
    assert result.code == 3
    assert message in result.err


def test_a_sweep_has_the_columns_of_nccl_tests(capsys: Capsys) -> None:
    args = ("simulate", "a.xml", "--topo", "ring2.yaml", "-b", "1K", "-e", "1M", "-f", "32")
    lines = run(capsys, *args).out.splitlines()
    assert lines[0] == "# a.xml: program, allgather over 2 ranks, 2 chunks, on ring2"
    assert lines[1].startswith("# no cost profile: ")
    assert [line.split()[:4] for line in lines[3:]] == [
        ["1024", "128", "float32", "none"],
        ["32768", "4096", "float32", "none"],
        ["1048576", "131072", "float32", "none"],
    ]
    sizes = json.loads(run(capsys, *args, "--json").out)["sizes"]
    alone = json.loads(run(capsys, "simulate", "a.xml", "--topo", "ring2.yaml", "--size", "32K", "--json").out)
    assert sizes[1]["time_us"] == alone["time_us"]
    assert all(row["selected"] and row["bottleneck"] == "gpu0->gpu1" for row in sizes)


@pytest.mark.parametrize(
    ("args", "said"),
    [(("-f", "2"), "give its sizes with -b and -e"), (("-b", "1K", "--size", "1K"), "leave --size out")],
)
def test_a_sweep_needs_sizes_of_its_own(capsys: Capsys, args: tuple[str, ...], said: str) -> None:
    result = run(capsys, "simulate", "a.json", *args)
    assert (result.code, result.out) == (3, "")
    assert said in result.err


def test_the_busiest_links_are_listed(capsys: Capsys) -> None:
    args = ("simulate", "a.json", "--size", "1M", "--links", "1")
    assert run(capsys, *args).out.splitlines()[-1].split()[0] == "gpu0->gpu1"
    (link,) = json.loads(run(capsys, *args, "--json").out)["links"]
    assert 0.9 < link["utilisation"] <= 1


def test_the_timeline_is_a_trace(capsys: Capsys) -> None:
    args = ("simulate", "a.xml", "--topo", "ring2.yaml", "--size", "1M", "--json", "--timeline", "t.json")
    seconds = json.loads(run(capsys, *args).out)["time_us"]
    events = [event for event in json.loads(Path("t.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert len(events) == sum(line.count("<step") for line in Path("a.xml").read_text().splitlines())
    assert max(event["ts"] + event["dur"] for event in events) == pytest.approx(seconds)
    assert {event["pid"] for event in events} == {0, 1}
    assert run(capsys, *args).code == 3
    assert "has none: lower it first" in run(capsys, "simulate", "a.json", "--timeline", "u.json").err


def test_twin_spines_are_one_or_apart(capsys: Capsys) -> None:
    nodes = [Node(f"gpu{i}", Kind.GPU, f"s{i // 2}") for i in range(4)]
    nodes += [Node(name, Kind.SWITCH) for name in ("leaf0", "leaf1", "spine0", "spine1")]
    cables = [(i, 4 + i // 2) for i in range(4)] + [(4 + i, 6 + j) for i in range(2) for j in range(2)]
    links = [Link(*ends, 10**10, 0) for u, v in cables for ends in ((u, v), (v, u))]
    Path("twins.yaml").write_text(write_yaml(Topology("twins", tuple(nodes), tuple(links))))
    Path("ring.xml").write_text(write_xml(two_level_allgather(2, 2, 1)))
    asked = ("simulate", "ring.xml", "--topo", "twins.yaml", "--size", "4M", "--links", "40", "--json")
    joined, apart = (json.loads(run(capsys, *asked, *more).out) for more in ((), ("--apart",)))
    assert apart["time_us"] >= joined["time_us"]
    spines = [{link["link"] for link in one["links"] if "spine1" in link["link"]} for one in (joined, apart)]
    assert not spines[0]
    assert spines[1]
