"""Whether every GPU reaches every GPU."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.errors import InputError
from syccl.topology.model import Topology
from syccl.topology.naming import shown

_PARTS_SHOWN = 8


def disconnected_parts(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Return the parts of ranks that cannot all reach one another; empty where all can.

    Parts are the strongly connected components over links, seen at the GPUs (which forward): within a part every
    rank reaches every rank. Ranks ascend in each part, parts by their first rank.
    """
    component = _components(len(topology.nodes), [(link.src, link.dst) for link in topology.links])
    parts: dict[int, list[int]] = {}
    for rank, node in enumerate(topology.gpus):
        parts.setdefault(component[node], []).append(rank)
    return tuple(tuple(part) for part in parts.values()) if len(parts) > 1 else ()


def require_connected(topology: Topology) -> None:
    """Do nothing where every GPU reaches every GPU.

    Raises
    ------
    InputError
        Where some cannot; the message names the parts.
    """
    parts = disconnected_parts(topology)
    if not parts:
        return
    names = " | ".join(_in_words(topology, part) for part in parts[:_PARTS_SHOWN])
    more = f" | and {len(parts) - _PARTS_SHOWN} more" if len(parts) > _PARTS_SHOWN else ""
    msg = f"topology {topology.name!r} falls into {len(parts)} parts that cannot all reach one another: {names}{more}"
    raise InputError(f"{msg}; add links that join them, or choose GPUs of one part")


def _in_words(topology: Topology, part: Sequence[int]) -> str:
    """Return the names of a part's GPUs, runs of ranks as ``first..last``."""
    runs: list[list[int]] = []
    for rank in part:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    names = [[shown(topology.nodes[topology.gpus[rank]].name) for rank in run] for run in runs]
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in names)


def _components(nodes: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the strongly connected component of every node, named by a member (Kosaraju's two passes)."""
    forward: list[list[int]] = [[] for _ in range(nodes)]
    backward: list[list[int]] = [[] for _ in range(nodes)]
    for src, dst in arcs:
        forward[src].append(dst)
        backward[dst].append(src)
    component = [-1] * nodes
    for root in reversed(_finishing_order(forward)):
        stack = [root] if component[root] < 0 else []
        while stack:
            node = stack.pop()
            if component[node] < 0:
                component[node] = root
                stack += [other for other in backward[node] if component[other] < 0]
    return component


def _finishing_order(out: Sequence[Sequence[int]]) -> list[int]:
    """Return all nodes in the order in which a depth-first search leaves them."""
    order: list[int] = []
    seen = [False] * len(out)
    for root in range(len(out)):
        stack = [] if seen[root] else [(root, iter(out[root]))]
        seen[root] = True
        while stack:
            node, others = stack[-1]
            fresh = next((other for other in others if not seen[other]), None)
            if fresh is None:
                order.append(node)
                stack.pop()
            else:
                seen[fresh] = True
                stack.append((fresh, iter(out[fresh])))
    return order
