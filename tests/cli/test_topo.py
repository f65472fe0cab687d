"""``syccl topo``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.topology import Topology
from syccl.topology.yaml_file import write_yaml
from tests.cli.run import run
from tests.strategies import gpus, ring

Capsys = pytest.CaptureFixture[str]


def test_the_bundled_topologies_are_listed(capsys: Capsys) -> None:
    lines = run(capsys, "topo", "list").out.splitlines()
    assert lines[0].split() == ["topology", "GPUs", "servers", "links"]
    assert {"a100x32", "h800x512", "dgx1-v100"} <= {line.split()[0] for line in lines[1:]}


def test_the_list_has_numbers_for_scripts(capsys: Capsys) -> None:
    values = json.loads(run(capsys, "topo", "list", "--json").out)["topologies"]
    assert {"topology": "a100x32", "ranks": 32, "servers": 4, "links": 164} in values


def test_a_topology_is_shown_in_words(capsys: Capsys) -> None:
    result = run(capsys, "topo", "show", "a100x32.yaml")
    assert result.code == 0
    assert "32 GPUs, 16 NICs" in result.out
    assert "order 32" in result.out
    assert "25GB/s" in result.out


def test_a_topology_has_numbers_for_scripts(capsys: Capsys) -> None:
    values = json.loads(run(capsys, "topo", "show", "torus2d-4x4", "--json").out)
    assert (values["ranks"], values["symmetry_order"]) == (16, 16)


def test_a_topology_in_parts_is_shown_with_a_warning(capsys: Capsys, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(write_yaml(Topology("two", gpus(2), ())))
    result = run(capsys, "topo", "show", str(path))
    assert (result.code, result.err) == (0, "warning: not every GPU reaches every GPU\n")


def test_the_schema_is_json(capsys: Capsys) -> None:
    assert "properties" in json.loads(run(capsys, "topo", "schema").out)


def test_a_file_of_a_name_wins_over_a_bundled_one(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a100x32.yaml").write_text(write_yaml(ring(3)))
    assert json.loads(run(capsys, "topo", "show", "a100x32.yaml", "--json").out)["ranks"] == 3
