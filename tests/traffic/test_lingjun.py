"""A moment of Alibaba's trace: who ran where, and the cluster that this is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from syccl.errors import InputError
from syccl.topology.yaml_file import read_yaml, write_yaml
from syccl.traffic import read_jobs
from syccl.traffic.lingjun import busiest_moment, jobs_at, parameters_of, parse_moment, read_trace
from syccl.traffic.lingjun_files import Assumed, fabric, jobs_text
from tests.cli.run import run

Capsys = pytest.CaptureFixture[str]
RES = "\"{'cpu': '80', 'nvidia.com/gpu': '%d'}\""
WORKERS = (
    ("big", "a", "2023/7/15 02:00", "2023/7/16 02:00", RES % 8),
    ("big", "b", "2023/7/15 02:00", "2023/7/16 02:00", RES % 8),
    ("half", "c", "2023/7/15 03:00", "", RES % 4),
    ("half", "d", "2023/7/15 03:00", "", RES % 4),
    ("one", "d", "2023/7/15 03:00", "2023/7/15 09:00", RES % 1),
    ("late", "c", "2023/7/15 04:00", "2023/7/15 09:00", RES % 8),
    ("cpu", "a", "2023/7/15 04:00", "2023/7/15 09:00", ""),
    ("away", "z", "2023/7/15 04:00", "2023/7/15 09:00", RES % 8),
    ("next", "a", "2023/7/17 02:00", "2023/7/18 02:00", RES % 2),
)
TEXTS = {
    "topo.csv": "ip,DSW,PSW,ASW\na,G6,P10,S1\nb,G6,P10,S2\nc,G6,P8,S1\nd,G6,P8,S1\n",
    "worker.csv": "id,job_name,host_ip,gmt_created,gmt_pod_finished,RES\n"
    + "".join(f"{at},{','.join(row)}\n" for at, row in enumerate(WORKERS)),
    "job.csv": "\ufeffid,job_name,model,status\n1,big,gpt-13b,Succeeded\n2,half,resnet,Failed\n",
}


def test_jobs_of_a_moment_are_those_that_hold_gpus_then() -> None:
    trace = read_trace(TEXTS, source="data")
    moment = jobs_at(trace, parse_moment("2023/7/15 05:00"))
    assert moment.jobs == {"big": {"a": 8, "b": 8}, "half": {"c": 4, "d": 4}}
    assert (moment.single, moment.crowded) == (1, 1)
    assert jobs_at(trace, parse_moment("2023/7/16 02:00")).jobs == {"half": {"c": 4, "d": 4}}
    assert busiest_moment(trace) == parse_moment("2023/7/15 04:00")


def test_hosts_of_one_leaf_are_near_and_those_of_other_groups_far() -> None:
    trace = read_trace(TEXTS, source="data")
    moment = jobs_at(trace, parse_moment("2023/7/15 05:00"))
    topology, numbers = fabric(trace, moment)
    assert numbers == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert read_yaml(write_yaml(topology), source="fabric.yaml").links == topology.links
    up: dict[str, int] = {}
    for link in topology.links:
        ends = [topology.nodes[end].name.rstrip("0123456789") for end in (link.src, link.dst)]
        up[ends[0] + ends[1]] = up.get(ends[0] + ends[1], 0) + link.rate
    assert up["leafspine"] == up["spinecore"] == 4 * 4 * 25 * 10**9
    jobs = read_jobs(jobs_text(trace, moment, numbers, Assumed()), source="jobs.yaml", topology=topology)
    assert [job.ranks for job in jobs] == [tuple(range(16)), (16, 17, 18, 19, 24, 25, 26, 27)]
    assert jobs[0].compute_s == pytest.approx(6 * 13e9 * 4096 / 1.25e14)
    assert [job.collectives[0].size_bytes for job in jobs] == [26 * 10**9, 2 * 10**9]


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("gpt-13b", 13e9), ("llama_30b", 30e9), ("65b", 65e9), ("llama2-1.5B-x", 1.5e9), ("resnet", None), ("bert", None)],
)
def test_parameters_are_those_that_the_name_states(model: str, parameters: float | None) -> None:
    assert parameters_of(model) == parameters


def without(name: str, old: str, new: str) -> Mapping[str, str]:
    return TEXTS | {name: TEXTS[name].replace(old, new)}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (without("topo.csv", "ASW", "TOR"), "data/topo.csv:1: column ASW is missing"),
        (without("worker.csv", "2023/7/16 02:00", "tomorrow"), "data/worker.csv:2: gmt_pod_finished: 'tomorrow'"),
        (without("worker.csv", "{'cpu': '80', 'nvidia.com/gpu': '8'}", "8 GPUs"), "data/worker.csv:2: RES: '8 GPUs'"),
        (without("worker.csv", "'8'", "'-8'"), "data/worker.csv:2: RES: "),
        (without("job.csv", "2,half,resnet,Failed", "2,half"), "data/job.csv:3: model is missing"),
        (without("topo.csv", "\na,G6,P10,S1\nb,G6,P10,S2\nc,G6,P8,S1\nd", "\nq"), "no worker has GPUs on a host"),
        (TEXTS | {"job.csv": ""}, "data/job.csv:1: column job_name is missing"),
    ],
)
def test_a_fault_is_told_with_file_line_and_column(texts: Mapping[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_trace(texts, source="data")


def test_a_trace_becomes_a_plan(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(name).write_text(text, encoding="utf-8")
    result = run(capsys, "trace", ".", "--json", "--at", "2023/7/15 05:00")
    assert (result.code, result.err) == (0, "")
    told = json.loads(result.out)
    assert (told["jobs"], told["gpus"], told["servers"]) == (2, 24, 4)
    assert "exists; --force replaces it" in run(capsys, "trace", ".").err
    planned = run(capsys, "plan", "jobs.yaml", "--topo", "fabric.yaml", "--seconds", "60", "--json")
    assert [job["gpus"] for job in json.loads(planned.out)["jobs"]] == [16, 8]
    assert "2 jobs on 24 GPUs of 4 servers" in run(capsys, "trace", ".", "--force").out
    assert "no job of two GPUs or more ran" in run(capsys, "trace", ".", "--force", "--at", "2020/1/1 00:00").err
    assert "--at: 'noon' is no time" in run(capsys, "trace", ".", "--force", "--at", "noon").err
    assert "name the same file" in run(capsys, "trace", ".", "-o", "x.yaml", "--fabric", "x.yaml").err
    assert "missing/job.csv: cannot be read" in run(capsys, "trace", "missing", "--force").err
