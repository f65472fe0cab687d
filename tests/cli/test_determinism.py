"""The same input writes the same bytes, whatever the hash seed and the number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from syccl.topology import Topology
from syccl.topology.yaml_file import write_yaml
from tests.strategies import one_switch, ring


def written(folder: Path, op: str, *, seed: str, jobs: str) -> tuple[bytes, bytes]:
    """Both files of one run in a process of its own."""
    place = folder / f"{seed}-{jobs}"
    place.mkdir()
    args = ["synth", "--topo", str(folder / "own.yaml"), "--op", op, "--size", "1M", "--jobs", jobs, "--quiet"]
    command = [sys.executable, "-m", "syccl", *args, "-o", str(place / "a.xml"), "-o", str(place / "a.json")]
    root = Path(__file__).parent.parent.parent
    subprocess.run(command, check=True, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed})
    return (place / "a.xml").read_bytes(), (place / "a.json").read_bytes()


@pytest.mark.parametrize(("op", "topology"), [("allgather", one_switch(3)), ("allreduce", ring(4))])
def test_files_do_not_depend_on_hash_seed_or_jobs(tmp_path: Path, op: str, topology: Topology) -> None:
    (tmp_path / "own.yaml").write_text(write_yaml(topology))
    first = written(tmp_path, op, seed="0", jobs="1")
    assert written(tmp_path, op, seed="1", jobs="2") == first
