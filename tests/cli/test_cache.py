"""``--cache`` and ``--no-cache``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from syccl.topology import Topology
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import Result, run
from tests.strategies import ring

Capsys = pytest.CaptureFixture[str]

CASES = [("allgather", ring(5)), ("reducescatter", ring(6)), ("allreduce", ring(8))]
"""Islands that are no switches, so that the constraint solver is asked."""


def synth(capsys: Capsys, folder: Path, op: str, *args: str) -> Result:
    files = ("-o", str(folder / "a.xml"), "-o", str(folder / "a.json"), "--force")
    return run(capsys, "synth", "--topo", str(folder / "own.yaml"), "--op", op, "--size", "60K", *files, *args)


def made(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "a.xml").read_bytes(), (folder / "a.json").read_bytes()


def answers(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.json"))


@pytest.mark.parametrize(("op", "topology"), CASES)
def test_files_are_the_same_bytes_whatever_the_cache_holds(
    capsys: Capsys, tmp_path: Path, op: str, topology: Topology
) -> None:
    (tmp_path / "own.yaml").write_text(write_yaml(topology))
    cache = tmp_path / "cache"
    assert synth(capsys, tmp_path, op, "--no-cache").code == 0
    without = made(tmp_path)
    for _ in range(2):
        assert synth(capsys, tmp_path, op, "--cache", str(cache)).code == 0
        assert made(tmp_path) == without
    assert answers(cache)
    whole = {path: path.read_bytes() for path in answers(cache)}
    for path, content in whole.items():
        path.write_bytes(content[: len(content) // 2])
    assert synth(capsys, tmp_path, op, "--cache", str(cache)).err == ""
    assert made(tmp_path) == without
    assert {path: path.read_bytes() for path in answers(cache)} == whole


def test_the_account_tells_what_was_found_in_the_cache(capsys: Capsys, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(write_yaml(ring(5)))
    cache = ("--cache", str(tmp_path / "cache"), "--json")
    first, second = (json.loads(synth(capsys, tmp_path, "allgather", *cache).out)["explain"] for _ in range(2))
    asked = first["sub_demands_cp_sat"]
    assert asked > 0
    assert second["sub_demands_cp_sat"] == 0
    assert second["sub_demands_reused"] == first["sub_demands_reused"] + asked


def test_the_default_is_the_platforms_folder(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "own.yaml").write_text(write_yaml(ring(5)))
    assert synth(capsys, tmp_path, "allgather", "--no-cache").code == 0
    assert not (tmp_path / "xdg").exists()
    assert synth(capsys, tmp_path, "allgather").code == 0
    assert answers(tmp_path / "xdg" / "syccl")


def test_a_cache_that_cannot_be_written_is_warned_of_once(capsys: Capsys, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(write_yaml(ring(5)))
    (tmp_path / "file").write_text("mine")
    result = synth(capsys, tmp_path, "allgather", "--cache", str(tmp_path / "file"), "--quiet")
    assert result.code == 0
    assert result.err.startswith(f"warning: cache {str(tmp_path / 'file')!r} cannot be written: ")
    assert len(result.err.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_and_none_exclude_each_other(capsys: Capsys, tmp_path: Path) -> None:
    result = synth(capsys, tmp_path, "allgather", "--cache", str(tmp_path), "--no-cache")
    assert result.code == 2
    assert "--cache and --no-cache exclude each other" in result.err


def test_where_nobody_knows_a_home_there_is_no_cache(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr(Path, "home", homeless)
    (tmp_path / "own.yaml").write_text(write_yaml(ring(4)))
    assert synth(capsys, tmp_path, "allgather", "--quiet") == (0, "", "")
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.xml", "own.yaml"]
