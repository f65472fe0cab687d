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


SMI = "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV4\tPIX\nGPU1\tNV4\tX\tPIX\nNIC0\tPIX\tPIX\tX\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smi.txt").write_text(SMI)
    (tmp_path / "ring.yaml").write_text(write_yaml(ring(4)))
    return tmp_path


def test_a_pasted_matrix_becomes_a_cluster(capsys: Capsys, folder: Path) -> None:
    result = run(capsys, "topo", "import", "smi.txt", "--servers", "3", "--fabric", "rail", "-o", "x.yaml")
    assert (result.code, result.out) == (0, "wrote x.yaml: 6 GPUs, 24 directed links\n")
    assert "note: smi.txt: no product is stated; assumed as in A6000 servers" in result.err
    assert "symmetry   order 6" in run(capsys, "topo", "show", "x.yaml").out


def test_a_foreign_file_as_topology_names_the_way(capsys: Capsys, folder: Path) -> None:
    result = run(capsys, "topo", "show", "smi.txt")
    assert result.code == 3
    assert "syccl topo import smi.txt -o x.yaml" in result.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("import", "smi.txt", "-o", "x.json"), "must end in .yaml or .yml"),
        (("import", "smi.txt", "-o", "x.yaml", "--kind", "foo"), "--kind 'foo' is not known"),
        (("import", "smi.txt", "-o", "x.yaml", "--gpu", "Foo"), "--gpu 'Foo' is not known"),
        (("import", "smi.txt", "-o", "x.yaml", "--servers", "2"), "--servers and --fabric go together"),
        (("import", "none.txt", "-o", "x.yaml"), "none.txt: cannot be read"),
        (("import", "smi.txt", "-o", "ring.yaml"), "exists; --force replaces it"),
        (("generate", "ring", "--dims", "a", "-o", "x.yaml"), "is not of the form 4x4x8"),
        (("subset", "ring.yaml", "0,9", "-o", "x.yaml"), "'9' is no rank or range of 0..3"),
        (("subset", "ring.yaml", "best:9", "-o", "x.yaml"), "choose best:1 to best:4"),
        (("degrade", "ring.yaml", "-o", "x.yaml"), "nothing to change"),
        (("degrade", "ring.yaml", "--without", "gpu:foo", "-o", "x.yaml"), "no gpu of that name"),
    ],
)
def test_bad_input_writes_nothing(capsys: Capsys, folder: Path, args: tuple[str, ...], words: str) -> None:
    result = run(capsys, "topo", *args)
    assert result.code == 3
    assert words in result.err
    assert not (folder / "x.yaml").exists()


def test_a_cluster_is_generated_and_checked(capsys: Capsys, folder: Path) -> None:
    assert run(capsys, "topo", "generate", "h100-superpod", "--servers", "2", "-o", "h.yaml").code == 0
    result = run(capsys, "topo", "check", "h.yaml")
    assert (result.code, result.out.split(": ")[-1]) == (0, "correct\n")
    assert run(capsys, "topo", "generate", "ring", "--dims", "3").out.startswith("# 50 GB/s a link")
    assert "gb200-nvl72" in run(capsys, "topo", "generate").out


def test_what_is_wrong_with_a_cluster_is_told(capsys: Capsys, folder: Path) -> None:
    assert run(capsys, "topo", "degrade", "ring.yaml", "--without", "arc:gpu0/gpu1", "-o", "x.yaml").code == 0
    assert "warning[one-way]: gpu1->gpu0" in run(capsys, "topo", "check", "x.yaml").out
    result = run(capsys, "topo", "diff", "ring.yaml", "x.yaml")
    assert (result.code, result.out) == (1, "- link gpu0->gpu1: 25GB/s 0.7us\n")
    assert run(capsys, "topo", "diff", "ring.yaml", "ring.yaml").code == 0
    assert json.loads(run(capsys, "topo", "diff", "ring.yaml", "x.yaml", "--json").out)["links_gone"]


def test_some_gpus_are_kept(capsys: Capsys, folder: Path) -> None:
    result = run(capsys, "topo", "subset", "ring.yaml", "best:2", "-o", "x.yaml")
    assert result.out.startswith("ranks 0,1 (all were compared)\n")
    assert json.loads(run(capsys, "topo", "show", "x.yaml", "--json").out)["gpus"] == ["gpu0", "gpu1"]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_picture_has_the_same_bytes_every_time(capsys: Capsys, folder: Path, form: str) -> None:
    pytest.importorskip("matplotlib")
    made = []
    for _ in range(2):
        assert run(capsys, "topo", "plot", "a100x32", "-o", f"x.{form}", "--force").code == 0
        made.append((folder / f"x.{form}").read_bytes())
    assert made[0] == made[1]
    assert (b"<svg" if form == "svg" else b"PNG") in made[0]


def test_a_picture_shows_the_load_of_a_schedule(capsys: Capsys, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run(capsys, "synth", "--topo", "ring.yaml", "--op", "allgather", "-o", "s.json", "--quiet").code == 0
    assert run(capsys, "topo", "plot", "ring.yaml", "--schedule", "s.json", "-o", "x.svg").code == 0
    assert "busy" in (folder / "x.svg").read_text()
    (folder / "wrong.json").write_text((folder / "s.json").read_text().replace('"reduce": [0', '"reduce": [1'))
    wrong = run(capsys, "topo", "plot", "ring.yaml", "--schedule", "wrong.json", "-o", "y.svg")
    assert (wrong.code, "wrong.json is wrong, see syccl verify: error[" in wrong.err) == (3, True)
    other = run(capsys, "topo", "plot", "dgx1-v100", "--schedule", "s.json", "-o", "y.svg")
    assert (other.code, "not the same topology" in other.err) == (3, True)


def test_a_dead_part_is_left_out_of_plans_and_bounds(capsys: Capsys, folder: Path) -> None:
    whole = json.loads(run(capsys, "bound", "--topo", "ring.yaml", "--op", "allgather", "--json").out)
    args = ("--topo", "ring.yaml", "--op", "allgather", "--without", "link:gpu0/gpu1")
    less = json.loads(run(capsys, "bound", *args, "--json").out)
    assert less["bandwidth_bound_us"] == pytest.approx(2 * whole["bandwidth_bound_us"])
    result = run(capsys, "synth", *args, "--size", "1MiB", "-o", "x.json", "--json")
    made = json.loads(result.out)
    assert (result.code, made["topology"]) == (0, "ring4-degraded")
    assert made["bound_us"] >= less["bandwidth_bound_us"] / 64
    halved = run(capsys, "bound", "--topo", "ring.yaml", "--op", "allgather", "--halve", "gpu:gpu2", "--json")
    assert json.loads(halved.out)["bandwidth_bound_us"] == pytest.approx(2 * whole["bandwidth_bound_us"])


def test_what_plans_leave_aside_is_told(capsys: Capsys, folder: Path) -> None:
    (folder / "x.yaml").write_text(
        "nodes:\n  - {kind: gpu, names: g0..1}\n  - {kind: switch, names: s, can: reduce}\n"
        "links:\n  - {between: [g0..1, s], bandwidth: 25GB/s, latency: 1us}\n"
    )
    result = run(capsys, "bound", "--topo", "x.yaml", "--op", "allreduce")
    assert (result.code, result.err.startswith("note: 1 switch can reduce in the network")) == (0, True)


def test_rings_are_shown_and_written_for_nccl(capsys: Capsys, tmp_path: Path) -> None:
    path = tmp_path / "rings.xml"
    result = run(capsys, "topo", "rings", "dgx1-v100", "-o", str(path))
    assert (result.code, result.err) == (0, "")
    assert f"export NCCL_GRAPH_FILE={path} NCCL_ALGO=RING" in result.out
    assert path.read_text().startswith('<graphs version="1">\n  <graph id="0" pattern="4"')
    record = json.loads(run(capsys, "topo", "rings", "dgx1-v100", "--json").out)
    assert all(sorted(ring) == list(range(8)) for ring in record["rings"])
    assert "unknown --link 'USB'" in run(capsys, "topo", "rings", "a100x8", "--link", "USB").err
    assert "has 4 servers" in run(capsys, "topo", "rings", "a100x32", "-o", str(tmp_path / "b.xml")).err
