from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.topology.importers import Assumed, Imported, import_text

LEGEND = """
Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
TABLE = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV12\tNV12\tNV12\tPXB\tSYS\t0-31\t0
GPU1\tNV12\t X \tNV12\tNV12\tPXB\tSYS\t0-31\t0
GPU2\tNV12\tNV12\t X \tNV12\tSYS\tPXB\t32-63\t1
GPU3\tNV12\tNV12\tNV12\t X \tSYS\tPXB\t32-63\t1
NIC0\tPXB\tPXB\tSYS\tSYS\t X \tSYS\t\t
NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\t X \t\t
"""


def read(text: str, **assumed: object) -> Imported:
    return import_text(text, source="topo.txt", assumed=Assumed(**assumed))


def wires(topology: Topology) -> set[tuple[str, str, int]]:
    names = [node.name for node in topology.nodes]
    return {(names[link.src], names[link.dst], link.rate) for link in topology.links}


def test_many_nvlinks_to_all_peers_are_one_switch_with_a_port_each():
    found = read(TABLE + LEGEND, gpu="A100")
    assert [node.name for node in found.topology.nodes] == [
        "gpu0",
        "gpu1",
        "gpu2",
        "gpu3",
        "mlx5_0",
        "mlx5_1",
        "nvswitch0",
    ]
    assert ("gpu0", "nvswitch0", 300_000_000_000) in wires(found.topology)
    assert ("gpu3", "mlx5_1", 24_000_000_000) in wires(found.topology)
    assert ("gpu3", "mlx5_0", 24_000_000_000) not in wires(found.topology)
    assert found.notes == ()
    assert [port.rate for port in found.ports] == [25_000_000_000] * 2


@pytest.mark.parametrize(
    "mangled",
    [
        TABLE.replace("\t", "  "),
        TABLE.replace("\t", " "),
        TABLE.replace("GPU0\tGPU1\t", "GPU0GPU1", 1),
        "\x1b[4m" + TABLE.replace("\n", "\x1b[0m\n", 1),
        "$ nvidia-smi topo -m\n" + TABLE,
        TABLE.replace("NV12\tPXB", "NV12PXB"),
        "\n".join("| " + line.replace("\t", " | ") + " |" for line in TABLE.splitlines()),
        TABLE.replace("\n", "\r\n"),
        "    " + TABLE.replace("\n", "\n    "),
    ],
    ids=["blanks", "one blank", "glued", "colours", "prompt", "lost tab", "markdown", "CRLF", "indented"],
)
def test_mangled_pastes_read_the_same(mangled):
    assert wires(read(mangled, gpu="A100").topology) == wires(read(TABLE, gpu="A100").topology)


def test_few_nvlinks_are_direct_links():
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV2\tNV1\nGPU1\tNV2\tX\tNV1\nGPU2\tNV1\tNV1\tX\n"
    found = read(text, nvlink=25_000_000_000)
    assert wires(found.topology) == {
        ("gpu0", "gpu1", 50_000_000_000),
        ("gpu1", "gpu0", 50_000_000_000),
        *((a, b, 25_000_000_000) for a, b in (("gpu0", "gpu2"), ("gpu2", "gpu0"), ("gpu1", "gpu2"), ("gpu2", "gpu1"))),
    }


def test_pcie_alone_becomes_a_tree_whose_upper_links_are_shared():
    text = "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tPIX\tSYS\tSYS\nGPU1\tPIX\tX\tSYS\tSYS\n"
    text += "GPU2\tSYS\tSYS\tX\tPIX\nGPU3\tSYS\tSYS\tPIX\tX\n"
    found = read(text, gpu="A100")
    assert [node.name for node in found.topology.nodes[4:]] == ["bridge0", "bridge1"]
    assert ("bridge0", "bridge1", 16_000_000_000) in wires(found.topology)
    assert len(found.topology.links) == 10


def test_stated_lanes_are_taken_as_stated():
    text = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n" + "".join(
        f"GPU {gpu}: NVIDIA RTX A6000 (UUID: GPU-0)\n" + "\t Link 0: 14.062 GB/s\n" for gpu in (0, 1)
    )
    assert ("gpu0", "gpu1", 56_248_000_000) in wires(read(text).topology)


def test_what_is_assumed_is_said():
    notes = [note.text for note in read(TABLE).notes]
    assert any("no product is stated" in note and "NVLink 25GB/s" in note for note in notes)
    assert not any("NVLink" in note for note in [n.text for n in read(TABLE, nvlink=1, pcie=1, nic=1).notes])


def test_a_nic_far_from_all_gpus_is_left_unconnected_and_said():
    lines = TABLE.replace("NIC1\tCPU", "NIC1\tNIC2\tCPU").splitlines()
    table = [line.replace("\t0-31", "\tNODE\t0-31").replace("\t32-63", "\tNODE\t32-63") for line in lines[:5]]
    table += [f"{row.rstrip()}\tNODE" for row in lines[5:]] + ["NIC2\tNODE\tNODE\tNODE\tNODE\tNODE\tNODE\tX"]
    found = read("\n".join(table), gpu="A100")
    assert [note.text for note in found.notes] == ["not the nearest NIC of any GPU, so left unconnected: NIC2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n".join(TABLE.splitlines()[:3]), "rows GPU2, GPU3 are missing"),
        (TABLE.replace("GPU1\tNV12", "GPU1\tNV6", 1), "the matrix must be symmetric"),
        (TABLE.replace("NV12\tPXB\tSYS\t0-31\t0\nGPU1", "NV12\nGPU1"), "row GPU0 has 4 cells for 6 columns"),
        ("\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n", "topo -p2p"),
        ("\n".join(line.split("\tNIC")[0] for line in TABLE.splitlines()[1:3]), "there is no header"),
    ],
)
def test_what_cannot_be_known_is_refused_with_the_reason(text, words):
    with pytest.raises(InputError, match=words):
        read(text)


def test_xgmi_of_rocm_smi():
    text = "=== Link Type between two GPUs ===\n       GPU0  GPU1\nGPU0   0     XGMI\nGPU1   XGMI  0\n=== End ===\n"
    assert ("gpu0", "gpu1", 64_000_000_000) in wires(read(text).topology)
