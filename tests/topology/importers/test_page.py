from __future__ import annotations

import pytest

from syccl.topology.importers import import_text
from syccl.topology.yaml_file import read_yaml, write_yaml
from tests.topology.importers.page import DATA, PAGE, files, page

here = pytest.mark.skipif(not DATA.is_dir(), reason="the files of other tools are not at hand")


@here
def test_the_page_of_imported_files_is_up_to_date():
    assert page() == PAGE.read_text(encoding="utf-8")


@here
@pytest.mark.parametrize(
    "path",
    [p for p in (files() if DATA.is_dir() else []) if p.parent.name in {"nccl-xml", "smi"}],
    ids=lambda p: p.name,
)
def test_what_is_imported_survives_a_round_trip(path):
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if path.name in line)
    if line.count("|") < 5:
        pytest.skip("refused")
    found = import_text(path.read_text(encoding="utf-8"), source=path.name)
    again = read_yaml(write_yaml(found.topology), source="x.yaml")
    assert (again.nodes, again.links) == (found.topology.nodes, found.topology.links)


def expected() -> dict[str, list[str]]:
    """NCCL's own reading of the XML files: cpus, GPUs, NVLink per GPU, NICs, their speeds."""
    text = (DATA / "nccl-xml" / "EXPECTED.md").read_text(encoding="utf-8") if DATA.is_dir() else ""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row for row in rows if row[0].endswith(".xml")}


@here
@pytest.mark.parametrize("name", list(expected()))
def test_xml_files_are_read_as_nccl_reads_them(name):
    row = expected()[name]
    topology = import_text((DATA / "nccl-xml" / name).read_text(encoding="utf-8"), source=name).topology
    kinds = [node.kind.value for node in topology.nodes]
    if row[3] != "0":
        assert kinds.count("gpu") == int(row[3])
        assert kinds.count("nic") == int(row[6])
    assert sum(node.name.rpartition(".")[2].startswith("numa") for node in topology.nodes) == int(row[1])
    fast = {i for i, node in enumerate(topology.nodes) if node.kind.value == "gpu" or node.name == "nvswitch"}
    totals = {
        sum(link.rate for link in topology.links if link.src == gpu and link.dst in fast) / 1e9 for gpu in topology.gpus
    }
    if row[5] != "-":
        stated = {float(part) for part in row[5].split(",")}
        assert {round(total, 3) for total in totals} == stated
