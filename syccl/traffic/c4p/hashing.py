"""What switches do by themselves: each hashes the five-tuple of a packet and takes one of the equally short ways on."""

from __future__ import annotations

import binascii
import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from syccl.topology import Kind, Topology
from syccl.traffic.c4p.addresses import default_addresses
from syccl.traffic.c4p.connections import Connection, Ways
from syccl.traffic.c4p.plan import Piece

FIRST_PORT, LAST_PORT = 49152, 65535
"""UDP source ports that RoCEv2 uses."""
ROCE_PORT = 4791
_UDP = 17


def _xor(key: bytes, seed: int) -> int:
    words = (int.from_bytes(key[at : at + 2], "big") for at in range(0, len(key), 2))
    value = seed & 0xFFFF
    for word in words:
        value ^= word
    return value


HASHES: dict[str, Callable[[bytes, int], int]] = {
    "crc32": zlib.crc32,
    "crc16": lambda key, seed: binascii.crc_hqx(key, seed & 0xFFFF),
    "xor": _xor,
}
"""Hashes of five-tuples, begun with a seed: CRC-32 (IEEE), CRC-16 (CCITT), exclusive or of 16-bit words."""


@dataclass(frozen=True)
class Hashing:
    """How switches hash: the function, and the seed from which each switch's own follows with its name."""

    name: str = "crc32"
    seed: int = 0

    def of(self, node: str, ends: tuple[IPv4Address, IPv4Address], source_port: int) -> int:
        """Return the hash that a node makes of a packet's addresses and ports."""
        key = ends[0].packed + ends[1].packed + bytes([_UDP])
        key += source_port.to_bytes(2, "big") + ROCE_PORT.to_bytes(2, "big")
        return HASHES[self.name](key, zlib.crc32(f"{self.seed}/{node}".encode()))


def nics_of(topology: Topology, links: Sequence[int]) -> tuple[str, str]:
    """Return the names of the first and the last NIC of a path; of its GPUs where it has none."""
    nodes = [topology.links[links[0]].src, *(topology.links[link].dst for link in links)]
    nics = [node for node in nodes if topology.nodes[node].kind is Kind.NIC] or nodes
    return topology.nodes[nics[0]].name, topology.nodes[nics[-1]].name


def onward(topology: Topology, ways: Ways, at: int, node: int) -> tuple[int, ...]:
    """Return the links of hop ``at`` over which a node may send a connection on, ascending."""
    return tuple(sorted(link for link in ways.layers[at] if topology.links[link].src == node))


def hashed_links(
    topology: Topology, ways: Ways, hashing: Hashing, ends: tuple[IPv4Address, IPv4Address, int]
) -> tuple[int, ...]:
    """Return the path of a packet, given its addresses and source port, where every node that can choose hashes."""
    links: list[int] = []
    node = topology.links[next(iter(ways.layers[0]))].src
    for at in range(len(ways.layers)):
        options = onward(topology, ways, at, node)
        chosen = options[hashing.of(topology.nodes[node].name, ends[:2], ends[2]) % len(options)]
        links.append(chosen)
        node = topology.links[chosen].dst
    return tuple(links)


def hashed_pieces(
    topology: Topology,
    connections: Sequence[Connection],
    ways: Sequence[Ways],
    hashing: Hashing,
    *,
    paths: int = 1,
) -> list[Piece]:
    """Return connections on hashed paths, each over so many source ports that share its bytes evenly (packet spray)."""
    addresses = default_addresses(topology)
    found = []
    for item, (each, way) in enumerate(zip(connections, ways, strict=True)):
        one, other = nics_of(topology, way.routes[0].links)
        label = f"{hashing.seed}/{each.job}/{each.src}/{each.dst}/{each.channel}/{each.queue_pair}"
        for path in range(paths):
            drawn = int.from_bytes(hashlib.sha256(f"{label}/{path}".encode()).digest()[:8], "big")
            port = FIRST_PORT + drawn % (LAST_PORT - FIRST_PORT + 1)
            links = hashed_links(topology, way, hashing, (addresses[one], addresses[other], port))
            found.append(Piece(item, path, paths, each.size_bytes / paths, links))
    return found
