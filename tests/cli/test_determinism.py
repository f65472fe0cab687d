"""The same input writes the same bytes, whatever the hash seed and the number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from syccl.topology.yaml_file import write_yaml
from tests.strategies import two_servers


def written(folder: Path, op: str, *, seed: str, jobs: str) -> tuple[bytes, bytes]:
    """Both files of one run in a process of its own."""
    place = folder / f"{seed}-{jobs}"
    place.mkdir()
    args = ["synth", "--topo", str(folder / "two.yaml"), "--op", op, "--size", "1M", "--jobs", jobs, "--quiet"]
    command = [sys.executable, "-m", "syccl", *args, "-o", str(place / "a.xml"), "-o", str(place / "a.json")]
    root = Path(__file__).parent.parent.parent
    subprocess.run(command, check=True, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed})
    return (place / "a.xml").read_bytes(), (place / "a.json").read_bytes()


@pytest.mark.parametrize("op", ["allgather", "allreduce"])
def test_files_do_not_depend_on_hash_seed_or_jobs(tmp_path: Path, op: str) -> None:
    (tmp_path / "two.yaml").write_text(write_yaml(two_servers(2, 3)))
    first = written(tmp_path, op, seed="0", jobs="1")
    assert written(tmp_path, op, seed="1", jobs="2") == first
