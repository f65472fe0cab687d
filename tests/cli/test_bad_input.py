"""What a user can get wrong: one line that says what, its exit code, and no file left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

Capsys = pytest.CaptureFixture[str]

NODES = "nodes:\n- {names: gpu0..1, kind: gpu}\n"

BAD_TOPOLOGIES = {
    "tab": ("nodes:\n\t- gpu0\n", "bad.yaml:2"),
    "open bracket": ("nodes: [\n", "bad.yaml:2"),
    "undeclared node": (
        NODES + "links:\n- {between: [gpu0, gpu7], bandwidth: 25GB/s, latency: 1us}\n",
        "bad.yaml:4: links[0].between: node 'gpu7' is not declared",
    ),
    "negative bandwidth": (
        NODES + "links:\n- {between: [gpu0, gpu1], bandwidth: -25GB/s, latency: 1us}\n",
        "bad.yaml:4",
    ),
    "no unit": (NODES + "links:\n- {between: [gpu0, gpu1], bandwidth: 25, latency: 1us}\n", "bad.yaml:4"),
    "negative latency": (NODES + "links:\n- {between: [gpu0, gpu1], bandwidth: 25GB/s, latency: -1us}\n", "bad.yaml:4"),
    "unknown field": (NODES + "lynks: []\n", "lynks"),
    "disconnected": (NODES + "links: []\n", "falls into 2 parts that cannot all reach one another: gpu0 | gpu1"),
    "no text": ("\x00", "bad.yaml"),
    "empty": ("", "bad.yaml"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", ["synth", "bound"])
@pytest.mark.parametrize(("text", "message"), BAD_TOPOLOGIES.values(), ids=list(BAD_TOPOLOGIES))
def test_a_bad_topology_is_one_line_and_3(capsys: Capsys, folder: Path, verb: str, text: str, message: str) -> None:
    Path("bad.yaml").write_text(text)
    result = run(capsys, verb, "--topo", "bad.yaml", "--op", "allgather")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err
    assert [path.name for path in folder.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--topo", "a100x31", "--op", "allreduce"), "'a100x32'"),
        (("--topo", "a100x8", "--op", "allredoce"), "unknown collective 'allredoce'"),
        (("--topo", "a100x8", "--op", "allreduce", "--size", "0"), "size '0'"),
        (("--topo", "a100x8", "--op", "allreduce", "--size", "-4"), "size '-4'"),
        (("--topo", "a100x8", "--op", "allreduce", "--size", "6"), "no multiple of the 4 bytes"),
        (("--topo", "a100x8", "--op", "allreduce", "--root", "3"), "has no root"),
        (("--topo", "a100x8", "--op", "reduce", "--root", "8"), "root 8 is out of range"),
        (("--topo", "a100x8", "--op", "reduce", "--root", "-1"), "root -1 is out of range"),
        (("--topo", "a100x8", "--op", "allreduce", "-o", "no/such/folder.xml"), "cannot be written"),
        (("--topo", ".", "--op", "allreduce"), "topology '.'"),
    ],
)
def test_a_bad_value_is_one_line_and_3(capsys: Capsys, folder: Path, args: tuple[str, ...], message: str) -> None:
    result = run(capsys, "synth", *args)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert message in result.err
    assert list(folder.iterdir()) == []
