"""``syccl plan``: what it tells of jobs on one fabric, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.traffic.policies import POLICIES
from tests.cli.run import run

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "jobs.yaml"
Capsys = pytest.CaptureFixture[str]
JOB = {"name": "a", "ranks": "0-7", "compute": "1s", "collectives": "[{op: allreduce, size: 1G}]"}


def write(folder: Path, *jobs: dict[str, str]) -> Path:
    path = folder / "jobs.yaml"
    lines = ["  - {" + ", ".join(f"{field}: {value}" for field, value in job.items()) + "}" for job in jobs]
    path.write_text("jobs:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def ranks(text: str) -> dict[str, str]:
    return {"ranks": f'"{text}"'}


def test_the_job_of_lower_priority_waits(capsys: Capsys) -> None:
    result = run(capsys, "plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "600", "--json")
    assert (result.code, result.err) == (0, "")
    told = json.loads(result.out)
    gpt, moe = told["jobs"]
    assert (gpt["iterations"], moe["iterations"]) == (2000, 500)
    assert gpt["iteration_mean_s"] == pytest.approx(gpt["iteration_alone_s"])
    assert moe["iteration_mean_s"] > 1.05 * moe["iteration_alone_s"]
    assert moe["completion_s"] == pytest.approx(500 * moe["iteration_mean_s"])
    assert max(told["link_utilisation"].values()) <= 1


@pytest.mark.parametrize("policy", ["crux-pa", "crux-ps-pa", "crux"])
def test_crux_gives_levels_of_its_own(capsys: Capsys, policy: str) -> None:
    args = ("plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "60", "--json", "--policy", policy)
    told = json.loads(run(capsys, *args, "--levels", "2").out)
    assert sorted(job["level"] for job in told["jobs"]) == [0, 1]
    assert [job["level"] for job in json.loads(run(capsys, *args, "--levels", "1").out)["jobs"]] == [0, 0]


def test_all_policies_are_compared(capsys: Capsys) -> None:
    args = ("plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "60", "--policy")
    told = json.loads(run(capsys, *args, "all", "--json").out)["policies"]
    assert tuple(told) == POLICIES
    for name in ("ecmp", "cassini", "crux"):
        alone = json.loads(run(capsys, *args, name, "--json").out)
        assert told[name]["gpu_utilisation"] == alone["gpu_utilisation"]
    assert told["crux"]["crux_gain"] == 0
    lines = run(capsys, *args, "all").out.splitlines()
    assert [line.split()[0] for line in lines] == ["policy", *POLICIES]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_keeps_to_the_levels(capsys: Capsys, policy: str) -> None:
    args = ("plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "60", "--json", "--policy", policy)
    told = json.loads(run(capsys, *args, "--levels", "3", "--reserved", "1").out)["jobs"]
    assert {job["level"] for job in told} <= {0, 1}
    assert all(job["iteration_mean_s"] >= job["iteration_alone_s"] * (1 - 1e-9) for job in told)


def test_a_table_for_people(capsys: Capsys) -> None:
    lines = run(capsys, "plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "60").out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["job", "gpt", "moe", "all"]
    assert lines[5].startswith("busiest links")


def test_schedules_come_from_synthesis_and_from_files(capsys: Capsys, tmp_path: Path) -> None:
    made = tmp_path / "made.json"
    args = ("--topo", "a100x8", "--op", "allreduce", "--size", "1G", "-o", str(made), "--no-cache")
    assert run(capsys, "synth", *args).code == 0
    told = []
    for by in ("synth", "made.json"):
        path = write(tmp_path, JOB | {"collectives": f"[{{op: allreduce, size: 1G, by: {by}}}]"})
        told.append(json.loads(run(capsys, "plan", str(path), "--topo", "a100x32", "--json").out))
    least_s = 2 * 7 / 8 * 2**30 / 300e9
    for each in told:
        assert each["jobs"][0]["communication_alone_s"] == pytest.approx(least_s, rel=0.02)
    path = write(tmp_path, JOB | {"collectives": "[{op: allgather, size: 1G, by: made.json}]"})
    assert (
        "does allreduce over 8 ranks, not allgather over 8" in run(capsys, "plan", str(path), "--topo", "a100x32").err
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (ranks("0-40"), "job 'a': ranks: '0-40' is no rank or range of the 32 GPUs of a100x32"),
        (ranks("1,1"), "job 'a': ranks: GPU 1 is stated twice"),
        (ranks("3"), "job 'a': ranks: a job of one GPU has no communication"),
        ({"collectives": "[]"}, "job 'a': collectives: a job with no communication"),
        ({"compute": "0s"}, "job 'a': compute: an iteration must compute more than 0 s"),
        ({"compute": "-1s"}, "job 'a': compute: '-1s' is no time"),
        ({"compute": "1"}, "job 'a': compute: '1' is no time"),
        ({"flops": "-2"}, "job 'a': flops: '-2' is no positive number"),
        ({"overlap": "120%"}, "job 'a': overlap: share '120%'"),
        ({"iterations": "0"}, "job 'a': iterations: '0' is no whole number from 1"),
        ({"level": "8"}, "job 'a': level: 8 is not one of the 8 levels"),
        ({"gpus": "4"}, "job 'a': ranks: state either ranks"),
        ({"colour": "red"}, "job 'a': 'colour': unknown field"),
        ({"collectives": "[{op: allreduce, size: -4}]"}, "job 'a': collectives[0]: size: size '-4'"),
        ({"collectives": "[{op: allredoce, size: 4}]"}, "job 'a': collectives[0]: op: unknown collective"),
        ({"collectives": "[{op: allreduce}]"}, "job 'a': collectives[0]: size: is missing"),
        ({"collectives": "[{op: broadcast, size: 4}]"}, "job 'a': collectives[0]: a ring does"),
        ({"collectives": "[{op: allreduce, size: 4, by: no.xml}]"}, "job 'a': collectives[0]:"),
        ({"name": "'a b'"}, "jobs[0]: name: 'a b'"),
    ],
)
def test_a_bad_job_is_one_line_that_names_job_and_field(
    capsys: Capsys, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    result = run(capsys, "plan", str(write(tmp_path, JOB | change)), "--topo", "a100x32")
    assert (result.code, result.out, result.err.count("\n")) == (3, "", 1)
    assert message in result.err


def test_jobs_do_not_share_gpus_or_names_and_fit_the_fabric(capsys: Capsys, tmp_path: Path) -> None:
    def told(*jobs: dict[str, str]) -> str:
        return run(capsys, "plan", str(write(tmp_path, *jobs)), "--topo", "a100x32").err

    assert "job 'b': ranks: GPU 7 is in job 'a', too" in told(JOB, JOB | {"name": "b"} | ranks("7-9"))
    assert "job 'a': name: is used twice" in told(JOB, JOB | ranks("8-9"))
    many = {field: value for field, value in JOB.items() if field != "ranks"} | {"name": "b", "gpus": "25"}
    assert "job 'b': gpus: 25 GPUs are more than the 24 left of 32" in told(JOB, many)
    assert told(JOB, many | {"gpus": "24"}) == ""


def test_halving_sends_what_an_allreduce_must(capsys: Capsys, tmp_path: Path) -> None:
    fabric = tmp_path / "bigraph.yaml"
    assert run(capsys, "topo", "generate", "bigraph", "--dims", "2x2", "-o", str(fabric)).code == 0
    for by in ("halving", "hdrm"):
        job = JOB | {"ranks": "0-63", "collectives": f"[{{op: allreduce, size: 1G, by: {by}}}]"}
        told = json.loads(run(capsys, "plan", str(write(tmp_path, job)), "--topo", str(fabric), "--json").out)
        network_s = 2 * 7 / 8 * 2**30 / 8 / 25e9
        assert told["jobs"][0]["communication_alone_s"] == pytest.approx(network_s)
    for change, message in (
        ({"ranks": "0-31"}, "by: hdrm needs a BiGraph of powers of two"),
        ({"collectives": "[{op: allgather, size: 1G, by: halving}]"}, "does allreduce, not allgather"),
        ({"ranks": "0-47", "collectives": "[{op: allreduce, size: 1G, by: halving}]"}, "as many as a power of two"),
    ):
        path = write(tmp_path, job | change)
        assert message in run(capsys, "plan", str(path), "--topo", str(fabric)).err


def test_levels_are_those_of_a_switch(capsys: Capsys) -> None:
    args = ("plan", str(EXAMPLE), "--topo", "a100x32", "--seconds", "1")
    assert "at most 8 levels" in run(capsys, *args, "--levels", "9").err
    assert "at most 1 can be reserved" in run(capsys, *args, "--levels", "2", "--reserved", "2").err
    assert (
        "job 'moe': level: 1 is not one of the 1 levels" in run(capsys, *args, "--levels", "2", "--reserved", "1").err
    )


@pytest.mark.parametrize("policy", ["ecmp", "crux"])
def test_iterations_too_short_to_be_simulated_are_told_soon(capsys: Capsys, tmp_path: Path, policy: str) -> None:
    tiny = "[{op: allreduce, size: 1K}]"
    jobs = [
        JOB | {"name": name, "compute": compute, "collectives": tiny} | ranks(where)
        for name, compute, where in (("a", "1us", "0,8"), ("b", "10s", "1,9"))
    ]
    args = ("plan", str(write(tmp_path, *jobs)), "--topo", "a100x32", "--policy", policy)
    result = run(capsys, *args)
    assert (result.code, result.err.count("\n")) == (3, 1)
    assert "of job 'a': at most 5e+06 are simulated; give fewer --seconds" in result.err
    assert run(capsys, *args, "--seconds", "0.01").code == 0


def test_a_pair_that_no_route_joins_is_named(capsys: Capsys, tmp_path: Path) -> None:
    path = write(tmp_path, JOB | ranks("0,8"))
    cut = [f"--without=link:server0.nic{nic}/leaf0" for nic in range(4)]
    result = run(capsys, "plan", str(path), "--topo", "a100x32", *cut)
    assert result.code == 3
    assert "job 'a': ranks: no route from rank" in result.err


@pytest.mark.parametrize(
    "text", ["", "jobs: [", "a: 1", "jobs: 3", "jobs: [1]", "jobs: []\njobs: []", "[1]", "jobs: [" * 9]
)
def test_a_file_that_states_no_jobs_is_refused(capsys: Capsys, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    result = run(capsys, "plan", str(path), "--topo", "a100x32")
    assert (result.code, result.err.count("\n")) == (3, 1)
    assert "x.yaml" in result.err
