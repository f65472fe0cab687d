"""Finding topologies, and what the bundled ones are."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from syccl.errors import InputError
from syccl.topology import catalog
from syccl.topology.catalog import bundled_topologies, load_topology, read_topology
from syccl.topology.check import disconnected_parts
from syccl.topology.edge_list import read_edge_list
from syccl.topology.importers import Assumed, import_text
from syccl.topology.model import Kind, Topology
from syccl.topology.routes import default_route
from syccl.topology.yaml_file import write_yaml
from tests.strategies import ring

GB = 10**9
BUNDLED = (
    "a100x16",
    "a100x32",
    "a100x8",
    "a800x32",
    "dgx1-v100",
    "h100x8",
    "h800x512",
    "h800x64",
    "torus2d-4x4",
)


def route(topology: Topology, src: int, dst: int) -> tuple[float, float]:
    """Bandwidth in GB/s and latency in microseconds of the default route."""
    found = default_route(topology, src, dst)
    assert found is not None
    return found.rate / GB, found.latency_ps / 1e6


def test_the_bundled_names_are_sorted() -> None:
    assert bundled_topologies() == BUNDLED


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_topologies_are_connected_and_numbered_server_by_server(name: str) -> None:
    topology = load_topology(name)
    assert topology.name == name
    assert disconnected_parts(topology) == ()
    names = [topology.nodes[i].name for i in topology.gpus]
    if names[0] == "server0.gpu0":
        assert names == [f"server{i // 8}.gpu{i % 8}" for i in range(topology.ranks)]
    else:
        assert names == [f"gpu{i}" for i in range(topology.ranks)]


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_files_give_sources_and_no_number_without_a_comment_near(name: str) -> None:
    text = (catalog._bundled_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if "bandwidth:" in line:
            assert any("#" in near for near in lines[max(0, i - 6) : i]), line


@pytest.mark.parametrize(("name", "nvlink"), [("a100x32", 300), ("a800x32", 180)])
def test_clos_clusters_have_the_stated_shape(name: str, nvlink: int) -> None:
    topology = load_topology(name)
    kinds = [node.kind for node in topology.nodes]
    assert [kinds.count(kind) for kind in (Kind.GPU, Kind.NIC, Kind.SWITCH)] == [32, 16, 4 + 2 + 1]
    assert len(topology.links) == 2 * (32 + 32 + 16 + 2)
    assert route(topology, 0, 7) == (nvlink, 0.7)
    assert route(topology, 0, 8) == (25, 1.7)
    assert route(topology, 0, 16) == (25, 2.4)
    assert [
        link.rate // GB for link in topology.links if "spine" in topology.link_name(topology.links.index(link))
    ] == [200] * 4


def test_two_gpus_share_a_nic_in_order() -> None:
    topology = load_topology("a100x32")
    first = default_route(topology, 0, 8)
    second = default_route(topology, 1, 9)
    third = default_route(topology, 2, 10)
    assert first is not None
    assert second is not None
    assert third is not None
    assert set(first.links) & set(second.links)
    assert not set(first.links) & set(third.links)


def test_smaller_a100_clusters_are_one_leaf_or_one_server() -> None:
    two, one = load_topology("a100x16"), load_topology("a100x8")
    assert (two.ranks, len(two.nodes), len(two.links)) == (16, 16 + 8 + 2 + 1, 2 * (16 + 16 + 8))
    assert route(two, 0, 15) == (25, 1.7)
    assert (one.ranks, len(one.nodes), len(one.links)) == (8, 9, 16)
    assert route(one, 0, 7) == (300, 0.7)
    assert route(load_topology("h100x8"), 0, 7) == (450, 0.7)


@pytest.mark.parametrize(("name", "servers"), [("h800x64", 8), ("h800x512", 64)])
def test_rail_clusters_have_the_stated_shape(name: str, servers: int) -> None:
    topology = load_topology(name)
    assert topology.ranks == 8 * servers
    assert len(topology.links) == 2 * (3 * 8 * servers + 8)
    assert route(topology, 0, 7) == (200, 0.7)
    assert route(topology, 3, 8 + 3) == (50, 1.7)
    assert route(topology, 3, 8 + 4) == (50, 2.4)
    uplinks = [link.rate for i, link in enumerate(topology.links) if topology.link_name(i).startswith("rail0->spine")]
    assert uplinks == [servers * 50 * GB]


def links_by_name(topology: Topology) -> list[tuple[int, int, int, int]]:
    return sorted((topology.rank_of[a], topology.rank_of[b], rate, lat) for a, b, rate, lat in topology.links)


# The box's GPU for each of the published list, which has the same graph in another order.
CUBE_MESH_ORDER = (0, 3, 1, 2, 4, 7, 5, 6)


@pytest.mark.parametrize(
    ("name", "file", "order"),
    [("dgx1-v100", "T5_dgx1v100", CUBE_MESH_ORDER), ("torus2d-4x4", "T4_torus4x4", tuple(range(16)))],
)
def test_direct_networks_equal_the_published_edge_lists(
    name: str, file: str, order: tuple[int, ...], shared_data: Path
) -> None:
    path = shared_data / "topologies" / "bench" / f"{file}.json"
    expected = links_by_name(read_edge_list(path.read_text(encoding="utf-8"), source=str(path)))
    assert links_by_name(load_topology(name)) == sorted((order[a], order[b], *rest) for a, b, *rest in expected)


def test_a_dgx1_is_numbered_as_its_own_tool_numbers_it(shared_data: Path) -> None:
    path = shared_data / "topologies" / "smi" / "01-dgx1-v100-8gpu-4nic.txt"
    box = import_text(path.read_text(encoding="utf-8"), source=str(path), assumed=Assumed()).topology
    nvlinks = {
        (box.rank_of[link.src], box.rank_of[link.dst], link.rate)
        for link in box.links
        if link.src in box.rank_of and link.dst in box.rank_of
    }
    assert nvlinks == {(src, dst, rate) for src, dst, rate, _ in links_by_name(load_topology("dgx1-v100"))}


def test_every_v100_of_the_cube_mesh_has_six_lanes() -> None:
    topology = load_topology("dgx1-v100")
    for gpu in topology.gpus:
        assert sum(topology.links[i].rate for i in topology.out_links[gpu]) == 6 * 25 * GB
        assert len(topology.out_links[gpu]) == len(topology.in_links[gpu]) == 4
    assert all(link.latency_ps == 700_000 for link in topology.links)


def test_names_resolve_with_and_without_suffix_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a100x8").mkdir()
    assert load_topology("a100x8").ranks == load_topology("a100x8.yaml").ranks == 8


def test_a_file_goes_before_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a100x8").write_text(write_yaml(ring(3)), encoding="utf-8")
    assert load_topology("a100x8").name == "ring3"


@pytest.mark.parametrize("name", ["list.txt", "list.yaml", "list"])
def test_the_form_of_a_file_shows_from_its_content(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text('\ufeff\n{ "gpus": ["a", "b"], "links": [["a", "b", 1, 1]]}', encoding="utf-8")
    assert load_topology(str(path)).ranks == 2
    path.write_text(write_yaml(ring(3)), encoding="utf-8")
    assert load_topology(str(path)).ranks == 3


def test_yaml_written_as_json_or_in_braces_is_yaml() -> None:
    data = {"nodes": [{"kind": "gpu", "names": "g0..1"}], "links": []}
    assert read_topology(json.dumps(data), source="x").ranks == 2
    assert read_topology("{nodes: [{kind: gpu, names: g0..1}]}", source="x").ranks == 2


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(InputError, match=r"'a100x23' is neither a file .*did you mean 'a100x32'.* `syccl topo list`"):
        load_topology("a100x23")
    with pytest.raises(InputError, match=r"'zzz' is neither a file nor a bundled topology; run `syccl topo list`"):
        load_topology("zzz")
    with pytest.raises(InputError, match="neither a file"):
        load_topology("x" * 5000)
    with pytest.raises(InputError, match="neither a file"):
        load_topology("../a100x8")


def test_unreadable_files_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a file"):
        load_topology(str(tmp_path))
    path = tmp_path / "binary"
    path.write_bytes(b"a\xff")
    with pytest.raises(InputError, match="byte 1 is not UTF-8"):
        load_topology(str(path))


def test_an_installed_package_finds_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only.yaml").write_text(write_yaml(ring(3)), encoding="utf-8")
    monkeypatch.setattr(catalog, "_FOLDERS", (tmp_path, tmp_path / "other"))
    assert bundled_topologies() == ("only",)
    assert load_topology("only").ranks == 3


@pytest.mark.parametrize(("name", "seconds"), [("a100x32", 0.05), ("h800x512", 0.5)])
def test_loading_is_fast(name: str, seconds: float) -> None:
    def once() -> float:
        start = time.process_time()
        load_topology(name)
        return time.process_time() - start

    assert min(once() for _ in range(3)) < seconds
