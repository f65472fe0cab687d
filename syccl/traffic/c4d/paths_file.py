"""Paths of connections, as ``syccl paths -o`` writes them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from syccl.documents import parse_json
from syccl.errors import InputError
from syccl.topology import Topology
from syccl.units import clipped

Key = tuple[int, int, int, int]
"""Sender, receiver, channel and queue pair of a connection."""


def read_paths(text: str, *, source: str, topology: Topology) -> dict[Key, tuple[int, ...]]:
    """Return the links of each connection that a file of paths states.

    Raises
    ------
    InputError
        When it is no such file, a connection is split, or a path is none of this topology.
    """
    whole: Any = parse_json(text, source)
    entries = whole.get("paths") if isinstance(whole, dict) else None
    if not isinstance(entries, list):
        msg = f"{source}: no file of paths; syccl paths -o writes one"
        raise InputError(msg)
    node_at = {node.name: at for at, node in enumerate(topology.nodes)}
    link_at = {link[:2]: at for at, link in reversed(list(enumerate(topology.links)))}
    found: dict[Key, tuple[int, ...]] = {}
    for at, entry in enumerate(entries):
        try:
            key = tuple(int(entry[name]) for name in ("src_rank", "dst_rank", "channel", "queue_pair"))
            names, parts = [str(name) for name in entry["path"]], int(entry["parts"])
        except (KeyError, TypeError, ValueError):
            msg = f"{source}: paths[{at}]: src_rank, dst_rank, channel, queue_pair, parts or path is missing or wrong"
            raise InputError(msg) from None
        if parts != 1:
            msg = f"{source}: paths[{at}]: in {parts} parts, which times of connections do not tell apart"
            raise InputError(msg)
        ends = [node_at.get(name, -1) for name in names]
        hops = list(pairwise(ends))
        wrong = next((hop for hop, pair in enumerate(hops) if pair not in link_at), None)
        if wrong is not None or not hops:
            what = (
                "is empty" if wrong is None else f"has no link {clipped(names[wrong])} -> {clipped(names[wrong + 1])}"
            )
            msg = f"{source}: paths[{at}]: the path {what} in {topology.name}"
            raise InputError(msg)
        found[key[0], key[1], key[2], key[3]] = tuple(link_at[pair] for pair in hops)
    return found
