from __future__ import annotations

import json

import pytest

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.topology.catalog import read_topology
from syccl.topology.importers import KINDS, Assumed, import_text, kind_of


def wires(topology: Topology) -> set[tuple[str, str, float, float]]:
    names = [node.name for node in topology.nodes]
    return {(names[x.src], names[x.dst], x.rate / 1e9, x.latency_ps / 1e6) for x in topology.links}


def read(text: str, **options: object) -> Topology:
    return import_text(text, source="file", **options).topology


XML = """\
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="1"><nvlink target="0000:04:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" latency="0.5" guid="0x1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:04:00.0" class="0x030200" link_speed="Unknown" link_width="0">
      <gpu dev="1" sm="80" rank="0"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1"/>
</system>
"""


def test_an_xml_of_nccl_becomes_a_tree_of_shared_links():
    found = import_text(XML, source="file")
    assert wires(found.topology) >= {
        ("gpu0", "gpu1", 80, 0.7),
        ("gpu0", "pci-0000:01:00.0", 24, 0.25),
        ("pci-0000:01:00.0", "numa0", 24, 0.25),
        ("mlx5_0", "pci-0000:01:00.0", 24, 0.25),
        ("gpu1", "numa0", 12, 0.25),
        ("numa0", "numa1", 16, 0.25),
    }
    assert [node.name for node in found.topology.nodes[:2]] == ["gpu1", "gpu0"]
    assert [(port.rate, port.latency_ps) for port in found.ports] == [(25_000_000_000, 500_000)]
    assert [note.line for note in found.notes] == [11]


def test_gpus_on_a_switch_share_one_node():
    text = XML.replace(
        'target="0000:04:00.0" count="4" tclass="0x030200"', 'target="0000:09:00.0" count="6" tclass="0x068000"'
    )
    text = text.replace(
        'target="0000:02:00.0" count="4" tclass="0x030200"', 'target="0000:0a:00.0" count="6" tclass="0x068000"'
    )
    assert {("gpu0", "nvswitch", 120, 0.35), ("gpu1", "nvswitch", 120, 0.35)} <= wires(read(text))


def test_a_one_way_nvlink_is_said():
    text = XML.replace('<nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>', "")
    assert any("one-way" in note.text for note in import_text(text, source="file").notes)


def test_several_hosts_of_one_file_stay_apart():
    second = XML.replace("<cpu ", '<cpu host_hash="0x2" ')
    topology = read(XML + second)
    assert topology.ranks == 4
    assert {node.server for node in topology.nodes} == {"host0", "host1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (XML.replace("</system>", ""), "not XML"),
        ("<system><gpu/></system>", "has no <cpu>"),
        (XML.replace('rank="1"', 'rank="one"'), "rank='one' is not a whole number"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]>" + XML, "entities are not taken"),
        (XML.replace("<nic>", "<nic><cpu/>"), "another schema"),
        ("<system><cpu>" + "<pci>" * 80 + "</pci>" * 80 + "</cpu></system>", "nest deeper"),
    ],
)
def test_broken_xml_is_refused_with_the_line(text, words):
    with pytest.raises(InputError, match=words):
        import_text(text, source="file", kind="nccl-xml")


def test_a_product_fills_what_a_cloud_file_leaves_open():
    text = '<system version="1"><cpu numaid="0" arch="x86_64">' + "".join(
        f'<pci busid="0000:0{i}:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>' for i in (1, 2)
    )
    text += "</cpu></system>"
    assert ("gpu0", "nvswitch", 300, 0.35) in wires(read(text, assumed=Assumed(gpu="A100")))
    assert not any("nvswitch" in wire for wire in wires(read(text)))


def test_simai_and_plain_ns3():
    text = "4 2 1 1 4 H100\n2 3 \n0 2 2880Gbps 0.000025ms 0\n1 2 2880Gbps 0.000025ms 0\n"
    text += "0 3 200Gbps 0.0005ms 0\n1 3 200Gbps 0.0005ms 0\n"
    topology = read(text)
    assert kind_of(text) == "ns3"
    assert [node.name for node in topology.nodes] == ["gpu0", "gpu1", "nvswitch0", "switch3"]
    assert {("gpu0", "nvswitch0", 360, 0.025), ("switch3", "gpu1", 25, 0.5)} <= wires(topology)
    ring = "3 0 3\n\n0 1 25Gbps 0.005ms 0\n1 2 25Gbps 0.005ms 0\n2 0 25Gbps 0.005ms 0\n"
    assert len(read(ring).links) == 6
    with pytest.raises(InputError, match="file:1: 4 cables are announced but 3 follow"):
        read(text.rsplit("1 3", 1)[0])


def test_dimensions_of_astra_sim():
    text = "topology: [ Switch, Ring ]\nnpus_count: [ 2, 3 ]\nbandwidth: [ 400.0, 50 ]\nlatency: [ 936.25, 500 ]\n"
    found = wires(read(text))
    assert ("gpu0", "switch0.0", 400, 0.93625) in found
    assert {("gpu0", "gpu2", 50, 0.5), ("gpu4", "gpu0", 50, 0.5)} <= found
    assert len(found) == 12 + 12
    with pytest.raises(InputError, match="bandwidth: 'tbd' is not a positive number"):
        read(text.replace("50 ]", "tbd ]"))


def test_edges_with_units_in_the_header_or_in_the_values():
    one = read("src,dst,GBps,us\nGPU0,sw,25,0.5\nsw,GPU1,25,0.5\n")
    other = read("from,to,bandwidth,latency\nGPU0,sw,200Gb/s,500ns\nsw,GPU1,25GB/s,0.5us\n")
    assert wires(one) == wires(other)
    assert len(one.links) == 4
    assert [node.kind.value for node in one.nodes] == ["gpu", "gpu", "switch"]


def test_edges_of_tacos():
    topology = read("2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n")
    assert wires(topology) == {("0", "1", 50, 0.5), ("1", "0", 50, 0.5)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("src,dst\na,b\n", "must name src, dst and a bandwidth"),
        ("src,dst,bw\na,b,25\n", "file:2: bandwidth '25' has no unit"),
        ("src,dst,GBps\na,a,25\n", "file:2: .* is not one edge"),
        ("src,dst,GBps\na,b,0\n", "must be positive"),
    ],
)
def test_broken_edges_are_refused_with_the_line(text, words):
    with pytest.raises(InputError, match=words):
        import_text(text, source="file", kind="edges")


def test_a_matrix_of_bandwidths():
    topology = read("X 50 0\n50 X 25\n0 25 X\n")
    assert {(a, b, rate) for a, b, rate, _ in wires(topology)} == {
        ("gpu0", "gpu1", 50), ("gpu1", "gpu0", 50), ("gpu1", "gpu2", 25), ("gpu2", "gpu1", 25),
    }  # fmt: skip


def test_machines_of_te_ccl_and_msccl_tools():
    ndv2 = read(json.dumps({"TopologyParams": {"name": "NDv2", "chassis": 2, "chunk_size": 0.1}}))
    assert ndv2.ranks == 16
    assert {("gpu0", "gpu9", 12.5, 1.3), ("gpu0", "gpu1", 50, 0.7), ("gpu8", "gpu10", 25, 0.7)} <= wires(ndv2)
    table = read(json.dumps({"links": [[0, 1], [2, 0]], "switches": []}))
    assert {(a, b, rate) for a, b, rate, _ in wires(table)} == {("gpu1", "gpu0", 25), ("gpu0", "gpu1", 50)}
    with pytest.raises(InputError, match="'Torus' of 1 chassis is not known"):
        read(json.dumps({"TopologyParams": {"name": "Torus"}}))


def test_an_unknown_file_names_the_kinds():
    with pytest.raises(InputError, match=r"nccl-xml .*astra.*edges"):
        import_text("hello\n", source="file")
    assert "smi" in KINDS


@pytest.mark.parametrize(
    "text",
    [
        "servers:\n  - count: 1\n    gpus: g0..1\n    switches: s\n"
        "    links: [{between: [g0..1, s], bandwidth: 10GB/s, latency: 1us}]\n",
        json.dumps({"gpus": ["a", "b"], "links": [["a", "b", 25, 0.7], ["b", "a", 25, 0.7]]}),
    ],
)
def test_a_topology_of_ours_needs_no_import(text):
    assert read_topology(text, source="file").ranks > 1
    with pytest.raises(InputError, match="file: a topology of syccl already"):
        import_text(text, source="file")
