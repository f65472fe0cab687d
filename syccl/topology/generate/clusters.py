"""Fabrics of servers: rails, Clos, dual planes, NVLink racks, BiGraph."""

from __future__ import annotations

import math

from syccl.errors import InputError
from syccl.topology.generate.machines import Machine, pcie_lines, server_lines
from syccl.topology.generate.recipe import PORT_LATENCY, Recipe, Wanted, cables, gigabytes, head, listed, span, whole

MOST_SERVERS = 4096
_RADIX = 64
_UP = _RADIX // 2
"""A leaf of 64 ports has 32 down and 32 up, so that nothing is oversubscribed."""
_PODS_LEAVES = 4 * 8
"""Leaves of a pod: four scalable units of eight rails."""


def superpod(name: str, machine: Machine, wanted: Wanted, *, unit: int) -> Recipe:
    """Return a rail-optimised SuperPOD: scalable units of ``unit`` servers, rail r of a unit on its leaf r.

    Leaves and spines have 64 ports, half of them down: one spine tier up to four units, else pods of four units, whose
    spines are joined by cores (NVIDIA's reference architectures for DGX SuperPOD; 2,048 servers have 512 leaves, 512
    spines, 256 cores).
    """
    servers = whole(wanted.servers, unit, what="servers", most=MOST_SERVERS)
    block = whole(wanted.block, min(unit, servers), what="servers in a unit", most=MOST_SERVERS)
    units, rails = math.ceil(servers / block), machine.nics
    leaves = units * rails
    lines = head(name, f"{machine.source}.", f"Rails: {units} scalable units of {block} servers, {rails} leaves each.")
    lines += server_lines(machine, servers)
    lines += ["fabric:", "  leaves:", f"    names: {span('leaf', leaves)}", "    by: rail"]
    lines += [
        f"    servers_per_leaf: {block}",
        f"    bandwidth: {gigabytes(machine.nic)}",
        f"    latency: {PORT_LATENCY}",
    ]
    up = block * machine.nic / wanted.oversubscription
    order = servers * machine.gpus if servers % block == 0 else math.gcd(block, servers % block) * machine.gpus
    if leaves > 1 and units <= _PODS_LEAVES // 8:
        spines = max(1, min(_UP, leaves // 2))
        lines += _spines(spines, up / spines)
    elif leaves > 1:
        lines += _pods(leaves, up)
        order = order if leaves % _PODS_LEAVES == 0 else block * machine.gpus
    return Recipe("\n".join(lines) + "\n", order)


def _spines(count: int, each: float) -> list[str]:
    return [
        "  spines:",
        f"    names: {span('spine', count)}",
        f"    bandwidth: {gigabytes(each)}",
        f"    latency: {PORT_LATENCY}",
    ]


def _pods(leaves: int, up: float) -> list[str]:
    """Return spines and cores as single nodes: every leaf of a pod to its pod's spines, spine s to the cores of s."""
    pods = math.ceil(leaves / _PODS_LEAVES)
    cores = pods * _UP // 2
    groups = max(1, pods // 2)
    lines = ["", "nodes:", f"  - {{kind: switch, names: {span('pod', pods)}.{span('spine', _UP)}}}"]
    lines += [f"  - {{kind: switch, names: {span('core', cores)}}}", "", "links:"]
    for pod in range(pods):
        first, last = pod * _PODS_LEAVES, min(leaves, (pod + 1) * _PODS_LEAVES) - 1
        own = f"leaf{first}..{last}" if last > first else f"leaf{first}"
        lines += cables(own, f"pod{pod}.spine0..{_UP - 1}", gigabytes(up / _UP), PORT_LATENCY, pairs="all")
    each = cores // groups
    for group in range(groups):
        mine = listed([f"{span('pod', pods)}.spine{s}" for s in range(group, _UP, groups)])
        own = f"core{group * each}..{(group + 1) * each - 1}" if each > 1 else f"core{group}"
        lines += cables(mine, own, gigabytes(up / _UP * _PODS_LEAVES / each), PORT_LATENCY, pairs="all")
    return lines


def clos(name: str, machine: Machine, wanted: Wanted, *, unit: int) -> Recipe:
    """Return servers whose ports all go to one leaf of each block, leaves under spines; oversubscribed where asked."""
    servers = whole(wanted.servers, 2 * unit, what="servers", most=MOST_SERVERS)
    block = whole(wanted.block, min(unit, servers), what="servers on a leaf", most=MOST_SERVERS)
    leaves = math.ceil(servers / block)
    words = f"Clos: {block} servers a leaf, oversubscribed {wanted.oversubscription:g}:1."
    lines = head(name, f"{machine.source}.", words) + server_lines(machine, servers)
    lines += ["fabric:", "  leaves:", f"    names: {span('leaf', leaves)}", "    by: server"]
    lines += [
        f"    servers_per_leaf: {block}",
        f"    bandwidth: {gigabytes(machine.nic)}",
        f"    latency: {PORT_LATENCY}",
    ]
    if leaves > 1:
        spines = min(8, leaves)
        lines += _spines(spines, block * machine.nics * machine.nic / wanted.oversubscription / spines)
    alike = servers % block == 0
    return Recipe("\n".join(lines) + "\n", (servers if alike else math.gcd(block, servers % block)) * machine.gpus)


def hpn(name: str, machine: Machine, wanted: Wanted) -> Recipe:
    """Return Alibaba HPN 7: segments of 128 hosts, two planes, in each a leaf a rail and segment, 60 aggregations.

    Each NIC has two ports of 200 Gb/s, one a plane; planes meet only in NICs (Qian et al., SIGCOMM 2024).
    """
    servers = whole(wanted.servers, 128, what="servers", most=MOST_SERVERS)
    block = whole(wanted.block, min(128, servers), what="servers in a segment", most=MOST_SERVERS)
    if servers % block:
        msg = f"{servers} servers are no whole number of segments of {block}; choose a multiple"
        raise InputError(msg)
    segments, rails, port = servers // block, machine.nics, machine.nic / 2
    comment = f"HPN 7 (SIGCOMM 2024): {segments} segments of {block} hosts, dual plane; {machine.source}."
    lines = head(name, comment) + server_lines(machine, servers)
    lines += ["nodes:", f"  - {{kind: switch, names: plane0..1.{span('segment', segments)}.{span('leaf', rails)}}}"]
    aggs = max(1, min(60, block * rails // 16))
    if segments > 1:
        lines += [f"  - {{kind: switch, names: plane0..1.{span('agg', aggs)}}}"]
    lines += ["", "links:"]
    for plane in range(2):
        for rail in range(rails):
            own = f"plane{plane}.{span('segment', segments)}.leaf{rail}"
            lines += cables(f"{span('server', servers)}.nic{rail}", own, gigabytes(port), PORT_LATENCY)
        if segments > 1:
            own = f"plane{plane}.{span('segment', segments)}.{span('leaf', rails)}"
            up = gigabytes(50.0 if aggs == 60 else block * port / aggs)
            lines += cables(own, f"plane{plane}.{span('agg', aggs)}", up, PORT_LATENCY, pairs="all")
    return Recipe("\n".join(lines) + "\n", servers * machine.gpus)


def nvl72(name: str, wanted: Wanted) -> Recipe:
    """Return racks of GB200 NVL72: 72 GPUs on one NVLink fabric, 18 trays of four; four rails, a leaf a rack each.

    One node stands for the 18 NVSwitches of a rack, each with one link of 50 GB/s from every GPU; leaves have 18 ports
    down and 18 up (NVIDIA's reference architecture of the GB200 SuperPOD: eight racks, 32 leaves, 9 spines).
    """
    racks = whole(wanted.servers, 8, what="racks", most=MOST_SERVERS // 16)
    rack = span("rack", racks)
    lines = head(name, "GB200 NVL72: 18 NVLinks x 50 GB/s a GPU; a NIC of 400 Gb/s a GPU, four rails of 18 trays.")
    lines += ["servers:", f"  - names: {rack}", "    gpus: tray0..17.gpu0..3", "    nics: tray0..17.nic0..3"]
    lines += ["    switches: nvswitch", "    links:"]
    lines += cables("tray0..17.gpu0..3", "nvswitch", "900GB/s", "0.35us", indent=6)
    lines += cables("tray0..17.gpu0..3", "tray0..17.nic0..3", "50GB/s", "0.5us", indent=6)
    if racks > 1:
        lines += ["", "nodes:", f"  - {{kind: switch, names: {rack}.leaf0..3}}", "  - {kind: switch, names: spine0..8}"]
        lines += ["", "links:"]
        for rail in range(4):
            lines += cables(f"{rack}.tray0..17.nic{rail}", f"{rack}.leaf{rail}", "50GB/s", PORT_LATENCY)
        lines += cables(f"{rack}.leaf0..3", "spine0..8", "100GB/s", PORT_LATENCY, pairs="all")
    return Recipe("\n".join(lines) + "\n", racks * 72)


def bigraph(name: str, machine: Machine, wanted: Wanted) -> Recipe:
    """Return EFLOPS's BiGraph: two sets of switches, every switch of one joined to every switch of the other.

    ``dims`` are switches in a set and servers on a switch; a server's NICs go to one switch (Dong et al., HPCA 2020).
    """
    sides, each = _two(wanted.dims, (4, 4), "switches in a set, servers on a switch")
    servers = 2 * sides * each
    lines = head(name, f"BiGraph (HPCA 2020): 2 x {sides} switches, {each} servers each; {machine.source}.")
    lines += server_lines(machine, servers)
    lines += ["fabric:", "  leaves:", f"    names: [{span('upper', sides)}, {span('lower', sides)}]", "    by: server"]
    lines += [f"    bandwidth: {gigabytes(machine.nic)}", f"    latency: {PORT_LATENCY}", "", "links:"]
    across = gigabytes(each * machine.nics * machine.nic / sides)
    lines += cables(span("upper", sides), span("lower", sides), across, PORT_LATENCY, pairs="all")
    return Recipe("\n".join(lines) + "\n", servers * machine.gpus)


def _two(dims: tuple[int, ...] | None, default: tuple[int, int], what: str) -> tuple[int, int]:
    chosen = dims or default
    if len(chosen) != 2 or min(chosen) < 1 or math.prod(chosen) > MOST_SERVERS:
        msg = f"dims {'x'.join(map(str, chosen))} must be two numbers ({what}), such as {default[0]}x{default[1]}"
        raise InputError(msg)
    return chosen[0], chosen[1]


def pcie(name: str, wanted: Wanted) -> Recipe:
    """Return servers of eight GPUs on PCIe alone, joined by one switch where there are several."""
    servers = whole(wanted.servers, 1, what="servers", most=MOST_SERVERS)
    lines = head(
        name, "Eight GPUs on PCIe 4 (24 GB/s as NCCL counts x16), two sockets joined by 16 GB/s, 100 Gb/s NICs."
    )
    lines += pcie_lines(servers)
    if servers > 1:
        lines += ["fabric:", "  leaves:", "    names: leaf0", "    by: server", "    bandwidth: 12.5GB/s"]
        lines += [f"    latency: {PORT_LATENCY}"]
    return Recipe("\n".join(lines) + "\n", servers * 8)
