"""Addresses of NICs: a CSV that states them, or made-up ones in their order."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

from syccl.errors import InputError
from syccl.topology import Kind, Topology
from syccl.topology.naming import did_you_mean
from syccl.units import clipped

Addresses = dict[str, IPv4Address]


def default_addresses(topology: Topology) -> Addresses:
    """Return an address for every NIC (every GPU, where there is no NIC): 10.0.0.1 and on, in their order."""
    return {name: IPv4Address("10.0.0.0") + at + 1 for at, name in enumerate(_ends(topology))}


def read_addresses(text: str, *, source: str, topology: Topology) -> Addresses:
    """Return the addresses that a CSV states: a line ``NIC,ADDRESS`` for every NIC.

    Raises
    ------
    InputError
        When a line is not that, names no NIC, repeats a NIC or an address, or a NIC is missing.
    """
    names = _ends(topology)
    found: Addresses = {}
    for line, row in _rows(text.splitlines(), source):
        name, address = (row[0].strip(), row[1].strip()) if len(row) == 2 else ("", "")
        try:
            parsed = IPv4Address(address)
        except AddressValueError:
            msg = f"{source}:{line}: {clipped(','.join(row))} is no NIC and IPv4 address, such as server0.nic0,10.0.0.1"
            raise InputError(msg) from None
        if name not in names:
            msg = f"{source}:{line}: {clipped(name)} is no NIC of {topology.name}{did_you_mean(name, list(names))}"
            raise InputError(msg)
        if name in found or parsed in found.values():
            msg = f"{source}:{line}: {clipped(name if name in found else address)} is stated twice"
            raise InputError(msg)
        found[name] = parsed
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        msg = f"{source}: no address for {missing}; state one for each of the {len(names)} NICs of {topology.name}"
        raise InputError(msg)
    return found


def _rows(lines: Iterable[str], source: str) -> list[tuple[int, list[str]]]:
    rows = csv.reader(lines)
    try:
        return [(rows.line_num, row) for row in rows if row and not row[0].lstrip().startswith("#")]
    except csv.Error as error:
        msg = f"{source}:{rows.line_num}: not CSV: {error}"
        raise InputError(msg) from None


def _ends(topology: Topology) -> dict[str, None]:
    has_nics = any(node.kind is Kind.NIC for node in topology.nodes)
    kind = Kind.NIC if has_nics else Kind.GPU
    return dict.fromkeys(node.name for node in topology.nodes if node.kind is kind)
