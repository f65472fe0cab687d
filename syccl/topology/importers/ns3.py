"""Topology files of ns-3 as SimAI and ASTRA-sim write them: counts, switch ids, one cable a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from syccl.errors import InputError
from syccl.topology.importers.draft import Draft, Imported
from syccl.topology.model import Kind
from syccl.units import clipped, parse_latency, parse_rate

_MOST_NODES = 1_000_000
_HEAD = re.compile(r"\s*\d+(?:[ \t]+\d+){2}(?:(?:[ \t]+\d+){2}[ \t]+\S+)?[ \t]*\r?\n")
_CABLE = re.compile(r"\s*\d+\s+\d+\s+[0-9.]+[A-Za-z]*bps\s+[0-9.]+[a-z]+\s+[0-9.]+\s*\Z")


def looks_like_ns3(text: str) -> bool:
    """Return whether a text begins as such a file: counts, ids or an empty line, then cables."""
    lines = [line for line in text.splitlines()[:6] if line.strip()]
    return bool(_HEAD.match(text)) and any(_CABLE.match(line) for line in lines[1:])


@dataclass(frozen=True)
class _Head:
    nodes: int
    per_server: int
    nv_switches: int
    switches: int
    cables: int

    @property
    def gpus(self) -> int:
        return self.nodes - self.nv_switches - self.switches


def import_ns3(text: str, *, source: str, name: str) -> Imported:
    """Return the cluster of an ns-3 file; SimAI's has six counts in its first line, ASTRA-sim's three.

    GPUs come first; a GPU's cable to a leaf stands for its NIC.

    Raises
    ------
    InputError
        When counts and lines disagree, with the line.
    """
    lines = text.splitlines()
    head = _head(lines[0], source)
    switches = _switches(lines, head, source)
    draft = Draft()
    for node in range(head.nodes):
        is_switch = node in switches
        server = "" if is_switch or not head.per_server else f"server{node // head.per_server}"
        draft.add(_name(node, switches, head), Kind.SWITCH if is_switch else Kind.GPU, server)
    cables = [(number, line) for number, line in enumerate(lines[2:], start=3) if line.strip()]
    if len(cables) != head.cables:
        msg = f"{source}:1: {head.cables} cables are announced but {len(cables)} follow"
        raise InputError(msg)
    for number, line in cables:
        _cable(draft, line, f"{source}:{number}")
    if any(float(line.split()[4]) > 0 for _, line in cables):
        draft.note(0, "error rates are left out")
    return draft.done(name)


def _head(line: str, source: str) -> _Head:
    fields = line.split()
    counts = [int(field) for field in fields[:5] if field.isdigit()]
    if len(fields) == 3 and len(counts) == 3:
        head = _Head(counts[0], 0, 0, counts[1], counts[2])
    elif len(fields) == 6 and len(counts) == 5:
        head = _Head(*counts)
    else:
        msg = f"{source}:1: {clipped(line)} is neither `nodes switches links` nor SimAI's six fields"
        raise InputError(msg)
    if head.gpus < 1 or head.nodes > _MOST_NODES:
        msg = f"{source}:1: {head.nodes} nodes, of which {head.gpus} are GPUs; from 1 GPU to {_MOST_NODES} nodes"
        raise InputError(msg)
    return head


def _switches(lines: list[str], head: _Head, source: str) -> dict[int, int]:
    """Return the position of every switch in the second line."""
    fields = lines[1].split() if len(lines) > 1 else []
    if not all(field.isdigit() and int(field) < head.nodes for field in fields):
        msg = f"{source}:2: {clipped(lines[1])} must list switch ids 0..{head.nodes - 1}"
        raise InputError(msg)
    ids = {int(field): position for position, field in enumerate(fields)}
    if len(ids) != head.nv_switches + head.switches or len(ids) != len(fields):
        msg = f"{source}:2: {len(fields)} switch ids where {head.nv_switches + head.switches} are announced"
        raise InputError(msg)
    return ids


def _name(node: int, switches: dict[int, int], head: _Head) -> str:
    if node not in switches:
        return f"gpu{node}"
    return f"nvswitch{switches[node]}" if switches[node] < head.nv_switches else f"switch{node}"


def _cable(draft: Draft, line: str, where: str) -> None:
    fields = line.split()
    if len(fields) != 5 or not (fields[0].isdigit() and fields[1].isdigit()) or not _CABLE.match(line):
        msg = f"{where}: {clipped(line)} is not `src dst bandwidth latency error_rate`, such as 0 8 400Gbps 0.0005ms 0"
        raise InputError(msg)
    one, other = int(fields[0]), int(fields[1])
    if max(one, other) >= len(draft.nodes) or one == other:
        msg = f"{where}: {one} and {other} must be two different nodes of 0..{len(draft.nodes) - 1}"
        raise InputError(msg)
    try:
        draft.cable(one, other, parse_rate(fields[2]), parse_latency(fields[3]))
    except InputError as error:
        msg = f"{where}: {error}"
        raise InputError(msg) from None
