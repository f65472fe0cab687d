from __future__ import annotations

import pytest

from syccl.errors import InputError
from syccl.symmetry.automorphisms import find_group
from syccl.topology import Kind, Node, Topology
from syccl.topology.cluster import FABRICS, Fabric, joined
from syccl.topology.importers import Port
from tests.strategies import duplex

SERVER = Topology(
    "box",
    (Node("g0", Kind.GPU), Node("g1", Kind.GPU), Node("n0", Kind.NIC), Node("n1", Kind.NIC)),
    (*duplex(0, 1), *duplex(0, 2), *duplex(1, 3)),
)
PORTS = (Port(2, 25_000_000_000, 0), Port(3, 25_000_000_000, 0))


@pytest.mark.parametrize("kind", FABRICS)
def test_like_servers_on_any_fabric_are_all_alike(kind):
    cluster = joined(SERVER, PORTS, 4, Fabric(kind, 2))
    assert cluster.ranks == 8
    assert find_group(cluster).order == 8


def test_rails_join_port_by_port():
    cluster = joined(SERVER, PORTS, 3, Fabric("rail"))
    names = [node.name for node in cluster.nodes]
    rails = {(names[x.src], names[x.dst]) for x in cluster.links if names[x.dst].startswith("leaf")}
    assert {("server2.n0", "leaf0"), ("server2.n1", "leaf1")} <= rails
    assert ("server2.n0", "leaf1") not in rails


def test_an_oversubscribed_leaf_has_a_narrow_way_up():
    cluster = joined(SERVER, PORTS, 2, Fabric("leaf", 1, 4.0))
    names = [node.name for node in cluster.nodes]
    up = {x.rate for x in cluster.links if names[x.src] == "leaf0" and names[x.dst] == "spine0"}
    assert up == {12_500_000_000}


def test_a_server_without_ports_cannot_be_joined():
    with pytest.raises(InputError, match="has no NIC whose port"):
        joined(SERVER, (), 2, Fabric("rail"))
