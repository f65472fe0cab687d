"""Islands: the ranks that the fastest links join, such as the GPUs of one server on NVLink."""

from __future__ import annotations

from collections.abc import Iterable

from syccl.topology import Link, Topology

_CLEARLY_FASTER = 2


def islands(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Return the ranks grouped by the fastest level at which the cluster falls into parts.

    At a threshold rate, two ranks belong together when default routes of at least that rate join them, over other
    ranks if need be. A level counts when it has several parts, one of them of several ranks, and its threshold is at
    least twice the rate of every route between parts. Of such levels the highest is taken at which the fewest ranks are
    alone: servers may have links of unlike rates, and one rank's links may be damaged.

    Returns
    -------
    tuple of tuple of int
        Ranks of each island, ascending, ordered by least rank; one island of all ranks where no level counts.
    """
    found = levels(topology)
    slower = [*(rate for rate, _ in found[1:]), 0]
    counting = [
        parts
        for (rate, parts), between in zip(found, slower, strict=False)
        if 1 < len(parts) < topology.ranks and rate >= _CLEARLY_FASTER * between
    ]
    everyone = (tuple(range(topology.ranks)),)
    return min(counting, key=lambda parts: sum(len(part) == 1 for part in parts), default=everyone)


def levels(topology: Topology) -> list[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Return the parts at every threshold where they grow together, with the threshold, the highest first.

    A default route is the widest path, so a route of some rate exists exactly where links of at least that rate form
    a path. So parts change from one threshold to a lower one only through routes of exactly the lower rate, and the
    widest route between the parts of a level has the rate of the next level.
    """
    found: list[tuple[int, tuple[tuple[int, ...], ...]]] = []
    parts: tuple[tuple[int, ...], ...] = tuple((rank,) for rank in range(topology.ranks))
    for rate in sorted({link.rate for link in topology.links}, reverse=True):
        wider = _parts(topology, [link for link in topology.links if link.rate >= rate])
        if wider != parts:
            parts = wider
            found.append((rate, parts))
        if len(parts) == 1:
            break
    return found


def _parts(topology: Topology, links: list[Link]) -> tuple[tuple[int, ...], ...]:
    """Return the ranks that some links join, not counting switches that lead from or to no GPU."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for link in links:
        forward.setdefault(link.src, []).append(link.dst)
        backward.setdefault(link.dst, []).append(link.src)
    useful = _reached(topology.gpus, forward) & _reached(topology.gpus, backward)
    parent = list(range(len(topology.nodes)))
    for link in links:
        if link.src in useful and link.dst in useful:
            parent[_root(parent, link.src)] = _root(parent, link.dst)
    members: dict[int, list[int]] = {}
    for rank, node in enumerate(topology.gpus):
        members.setdefault(_root(parent, node), []).append(rank)
    return tuple(map(tuple, members.values()))


def _reached(starts: Iterable[int], arcs: dict[int, list[int]]) -> set[int]:
    seen = set(starts)
    todo = list(seen)
    while todo:
        fresh = [node for node in arcs.get(todo.pop(), ()) if node not in seen]
        seen.update(fresh)
        todo += fresh
    return seen


def _root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        parent[node] = node = parent[parent[node]]
    return node
