from __future__ import annotations

import time

import pytest

from syccl.errors import InputError
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.check import disconnected_parts
from syccl.topology.generate import GENERATORS, Wanted, generate
from syccl.topology.yaml_file import read_yaml

SMALL = {
    "bigraph": Wanted(dims=(2, 2)),
    "hypercube": Wanted(dims=(3,)),
    "dragonfly": Wanted(dims=(2, 2, 1)),
    "ring": Wanted(dims=(5,)),
    "mesh": Wanted(dims=(3, 4)),
    "torus": Wanted(dims=(3, 4, 2)),
    "gb200-nvl72": Wanted(servers=2),
}


def made(name: str, wanted: Wanted) -> Topology:
    return read_yaml(generate(name, wanted).text, source="x.yaml")


@pytest.mark.parametrize("name", GENERATORS)
def test_every_cluster_has_the_symmetry_that_it_declares(name):
    wanted = SMALL.get(name, Wanted(servers=4, block=2 if "block" in GENERATORS[name].takes else None))
    recipe = generate(name, wanted)
    topology = read_yaml(recipe.text, source="x.yaml")
    assert not disconnected_parts(topology)
    assert find_group(topology).order == recipe.order


@pytest.mark.parametrize("servers", [5, 3])
def test_units_of_unlike_size_declare_what_is_left_of_the_symmetry(servers):
    recipe = generate("h100-superpod", Wanted(servers=servers, block=2))
    assert find_group(read_yaml(recipe.text, source="x.yaml")).order == recipe.order


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("h100-superpod", Wanted(servers=1280)),
        ("hpn", Wanted(servers=1280)),
        ("clos", Wanted(servers=1280, block=4)),
        ("torus", Wanted(dims=(16, 16, 40))),
        ("gb200-nvl72", Wanted(servers=143)),
        ("dragonfly", Wanted(dims=(16, 8, 8))),
    ],
)
def test_ten_thousand_gpus_are_made_in_seconds(name, wanted):
    began = time.process_time()
    topology = made(name, wanted)
    assert topology.ranks >= 10_240
    assert time.process_time() - began < 15


def test_a_superpod_has_rails_of_full_bandwidth_under_its_spines():
    topology = made("h100-superpod", Wanted(servers=64))
    names = [node.name for node in topology.nodes]
    assert (topology.ranks, names.count("leaf15"), names.count("spine7")) == (512, 1, 1)
    up = [link.rate for link in topology.links if names[link.src] == "leaf0" and names[link.dst].startswith("spine")]
    assert sum(up) == 32 * 50_000_000_000
    assert len(islands(topology)) == 64


def test_spines_and_cores_of_a_large_superpod_carry_what_its_leaves_do():
    topology = made("h100-superpod", Wanted(servers=256))
    names = [node.name for node in topology.nodes]
    tiers = {"leaf": 0, "spine": 0, "core": 0}
    for link in topology.links:
        src, dst = names[link.src], names[link.dst]
        if src.startswith("leaf") and "spine" in dst:
            tiers["leaf"] += link.rate
        elif "spine" in src and dst.startswith("core"):
            tiers["spine"] += link.rate
    assert tiers["leaf"] == tiers["spine"] == 256 * 8 * 50_000_000_000


def test_oversubscription_narrows_the_uplinks():
    full = made("clos", Wanted(servers=4, block=2))
    narrow = made("clos", Wanted(servers=4, block=2, oversubscription=4))
    rates = [
        sum(link.rate for link in one.links if one.nodes[link.dst].name.startswith("spine")) for one in (full, narrow)
    ]
    assert rates[0] == 4 * rates[1]


@pytest.mark.parametrize(
    ("name", "wanted", "words"),
    [
        ("h100-superpot", Wanted(), "did you mean 'h100-superpod'"),
        ("ring", Wanted(servers=4), "ring has no servers; it takes dims"),
        ("hpn", Wanted(servers=10, block=4), "no whole number of segments"),
        ("torus", Wanted(dims=(0, 4)), "dims 0x4 must be"),
        ("hypercube", Wanted(dims=(20,)), "choose a dimension of 1..14"),
        ("clos", Wanted(servers=0), "servers 0 is out of range"),
        ("clos", Wanted(oversubscription=0.5), "oversubscription 0.5 is out of range"),
    ],
)
def test_what_a_cluster_does_not_have_is_refused(name, wanted, words):
    with pytest.raises(InputError, match=words):
        generate(name, wanted)
