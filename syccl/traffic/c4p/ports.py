"""Source ports that make switches of a known hash take the planned paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address

from syccl.topology import Kind, Topology
from syccl.traffic.c4p.connections import Ways
from syccl.traffic.c4p.hashing import FIRST_PORT, LAST_PORT, Hashing, nics_of, onward
from syccl.traffic.c4p.plan import Paths


def source_ports(
    plan: Paths, ways: Sequence[Ways], hashing: Hashing, addresses: Mapping[str, IPv4Address]
) -> list[int | None]:
    """Return for each piece the first UDP source port by which it takes its path; None where none does.

    Pieces between the same addresses get different ports as far as there are. Only switches hash: which NIC, and which
    port of it, sends is up to who opens the connection.
    """
    used: dict[tuple[IPv4Address, IPv4Address], set[int]] = {}
    found: list[int | None] = []
    for piece in plan.pieces:
        one, other = nics_of(plan.topology, piece.links)
        ends = addresses[one], addresses[other]
        taken = used.setdefault(ends, set())
        port = _port(hashing, ends, _wanted(plan.topology, ways[piece.connection], piece.links), taken)
        if port is not None:
            taken.add(port)
        found.append(port)
    return found


def _port(
    hashing: Hashing, ends: tuple[IPv4Address, IPv4Address], wanted: list[tuple[str, int, int]], taken: set[int]
) -> int | None:
    """Return the first port that leads where it should and is not taken, else the first that does."""
    again = None
    for port in range(FIRST_PORT, LAST_PORT + 1):
        if all(hashing.of(node, ends, port) % of == at for node, of, at in wanted):
            if port not in taken:
                return port
            again = port if again is None else again
    return again


def _wanted(topology: Topology, ways: Ways, links: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """Return for each switch that can choose: its name, of how many links, and the position of the planned one."""
    found = []
    for at, link in enumerate(links):
        node = topology.links[link].src
        options = onward(topology, ways, at, node)
        if topology.nodes[node].kind is Kind.SWITCH and len(options) > 1:
            found.append((topology.nodes[node].name, len(options), options.index(link)))
    return found
