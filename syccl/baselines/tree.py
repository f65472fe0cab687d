"""The double binary tree of NCCL: sums go up a tree over the servers, results come down, pieces in a pipeline.

Inside a server the ranks form a chain whose head talks to the network; chains differ from lane to lane as the rings do,
so that all NICs are used. Every chain serves two trees over the servers, mirror images of each other, with half of the
data each: who is a leaf in one has children in the other. Within one server a tree is a chain, as in NCCL.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from syccl.baselines.arcs import Arcs, Ranks
from syccl.baselines.hops import Hops
from syccl.baselines.lanes import (
    Laned,
    LaneSymmetry,
    copies_of,
    lane_symmetry,
    lane_wiring,
    laned_schedule,
    replicated,
)
from syccl.baselines.rings import Islands, Rings, find_rings
from syccl.collective import Demand, Op
from syccl.schedule import Schedule
from syccl.symmetry import Group, trivial_group
from syccl.topology import Topology

_MOST_LANES = 32
_MOST_PIECES = 32
_LEAST_PIECE_BYTES = 8192
_MOST_ROWS = 8192
"""Transfers (representatives of them) that the pieces may make: bounds the time of simulation."""


def tree_schedule(
    topology: Topology, op: Op, islands: Islands, *, size_bytes: int, group: Group | None = None, instances: int = 1
) -> Schedule | None:
    """Return the double binary tree for allreduce; None for other collectives and where there is no ring.

    Parameters
    ----------
    islands
        Ranks that are close to each other, such as the GPUs of a server; a partition.
    size_bytes
        Size of the buffer; decides into how many pieces the data is cut.
    group
        Symmetries; the schedule is compressed by those that the trees have.
    instances
        Copies of every tree, each on its own channel.
    """
    made = tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group)
    if made is not None and (copies := copies_of(topology, made.rate, instances)) > 1:
        made = tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group, copies=copies)
    return made.schedule if made else None


def tree_lanes(
    topology: Topology, op: Op, islands: Islands, *, size_bytes: int, group: Group | None = None, copies: int = 1
) -> Laned | None:
    """Return the double binary tree with ``copies`` lanes for each tree, and its wiring; see ``tree_schedule``."""
    rings = find_rings(topology, islands, group) if op.name == "allreduce" else None
    if rings is None:
        return None
    usable = group if group is not None and group.is_semiregular else trivial_group(topology)
    arcs = Arcs(topology)
    parents = _parents(arcs, islands, rings, usable)
    if parents is None:
        return None
    symmetry = replicated(lane_symmetry(parents, usable), copies)
    lanes = np.tile(parents, (copies, 1))
    rows = 2 * (topology.ranks - 1) * len(parents) // symmetry.group.order
    limits = (_MOST_PIECES, _MOST_ROWS // rows, size_bytes // (len(lanes) * _LEAST_PIECE_BYTES))
    pieces = 1 << max(0, min(limits).bit_length() - 1)
    demand = Demand(op, topology.ranks, pieces * len(lanes))
    hops = _hops(lanes, symmetry, pieces)
    schedule = laned_schedule(arcs, demand, hops, symmetry, by_rank=False, maker="tree")
    rate = arcs.share(arcs.load(parents) + arcs.load_back(parents)) / copies
    return Laned(schedule, lane_wiring(demand.chunks, len(lanes)), rate)


def binary_tree(count: int) -> list[int]:
    """Return the parent of each of ``count`` nodes in NCCL's binary tree, the root being its own.

    A node's lowest set bit is its height: odd nodes are leaves, node 0 is the root with one child.
    """
    parents = [0] * count
    for node in range(1, count):
        bit = node & -node
        up = (node ^ bit) | (bit << 1)
        parents[node] = up if up < count else node ^ bit
    return parents


def second_tree(count: int) -> list[int]:
    """Return the parents in the complementary tree: the first one mirrored, or moved by one if the count is odd."""
    first = binary_tree(count)
    if count % 2:
        return [(first[(node - 1) % count] + 1) % count for node in range(count)]
    return [count - 1 - first[count - 1 - node] for node in range(count)]


def _parents(arcs: Arcs, islands: Islands, rings: Rings, group: Group) -> Ranks | None:
    """Return the parent of every rank in every lane, the root being its own; None where a hop has no way back."""
    own = np.arange(arcs.topology.ranks)
    for parents in (_trees(arcs, islands, rings, group), _rotated_chains(rings, group)):
        if parents is not None:
            hops = parents != own
            if (arcs.joined[own, parents] & arcs.joined[parents, own])[hops].all():
                return parents
    return None


def _trees(arcs: Arcs, islands: Islands, rings: Rings, group: Group) -> Ranks | None:
    """Return two trees over the islands for every ring; None where there are no islands that rings pass once."""
    chains = [_chains(successor.tolist(), islands) for successor in rings.successors]
    if len(islands) == 1 or any(len(parts) != len(islands) for parts in chains):
        return None
    movers = _movers(arcs, chains[0], group)
    lanes = []
    for parts in chains:
        moved = [[int(move[v]) for v in parts[0]] for move in movers] if movers else parts
        lanes += [_tree_of_chains(moved, tree(len(moved))) for tree in (binary_tree, second_tree)]
    return np.array(lanes, dtype=np.int32)


def _chains(successor: list[int], islands: Islands) -> list[list[int]]:
    """Return the runs of a ring inside one island, the run that enters the first island first."""
    island_of = {rank: i for i, members in enumerate(islands) for rank in members}
    ring = [0]
    while (following := successor[ring[-1]]) != 0:
        ring.append(following)
    starts = [i for i, rank in enumerate(ring) if island_of[ring[i - 1]] != island_of[rank]]
    if not starts:
        return [ring]
    first = next((i for i in starts if island_of[ring[i]] == 0), starts[0])
    turned = ring[first:] + ring[:first]
    cuts = [(i - first) % len(ring) for i in starts]
    return [turned[a:b] for a, b in pairwise([*sorted(cuts), len(ring)])]


def _movers(arcs: Arcs, chains: list[list[int]], group: Group) -> list[NDArray[np.int32]]:
    """Return symmetries that carry the first chain's island to each, its head over the cheapest hops; or nothing."""
    head = chains[0][0]
    prices = arcs.prices(np.zeros(len(arcs.topology.links)))
    movers = []
    for chain in chains:
        island = set(chain)
        fitting = [move for move in group.ranks if {int(move[v]) for v in chains[0]} == island]
        if not fitting:
            return []
        cost = [0.0 if move[head] == head else prices[head, move[head]] + prices[move[head], head] for move in fitting]
        movers.append(fitting[int(np.argmin(np.round(cost, 9)))])
    return movers


def _tree_of_chains(chains: list[list[int]], tree: list[int]) -> list[int]:
    parents = [0] * sum(map(len, chains))
    for chain, up in zip(chains, tree, strict=True):
        parents[chain[0]] = chains[up][0]
        for before, rank in pairwise(chain):
            parents[rank] = before
    return parents


def _rotated_chains(rings: Rings, group: Group) -> Ranks:
    """Return every ring cut open, and its images under the symmetries, which are cut elsewhere, if not too many."""
    chains = rings.successors.copy()
    for i, chain in enumerate(chains):
        # Parents lie before: a chain hangs from its root in the direction of the ring.
        chain[rings.successors[i]] = np.arange(len(chain))
        chain[0] = 0
    images = {chain.tobytes(): chain for chain in chains}
    for ranks in lane_symmetry(rings.successors, group).group.ranks:
        for chain in chains:
            moved = np.empty_like(chain)
            moved[ranks] = ranks[chain]
            images.setdefault(moved.tobytes(), moved)
    return np.array(list(images.values())) if len(images) <= _MOST_LANES else chains


def _hops(lanes: Ranks, symmetry: LaneSymmetry, pieces: int) -> Hops:
    """Return the hops of all pieces on the lanes that stand for all; each piece follows one stage after another."""
    kept = sorted(set(symmetry.lanes.min(axis=0).tolist()))
    table = np.array([(lane, *hop) for lane in kept for hop in _lane_hops(lanes[lane].tolist())], dtype=np.int32)
    lane, src, dst, stage, reduce = np.repeat(table, pieces, axis=0).T
    piece = np.tile(np.arange(pieces, dtype=np.int32), len(table))
    chunk = piece * len(lanes) + lane
    first = np.lexsort((src, chunk, stage + piece))
    return Hops(chunk[first], src[first], dst[first], stage[first], reduce[first].astype(np.bool_))


def _lane_hops(parents: list[int]) -> list[tuple[int, int, int, bool]]:
    """Return (src, dst, stage, reduce) of all hops up and down one tree."""
    children: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent != rank:
            children[parent].append(rank)
    root = next(rank for rank, parent in enumerate(parents) if parent == rank)
    down, depth = [root], {root: 0}
    for rank in down:
        for child in children[rank]:
            depth[child] = depth[rank] + 1
            down.append(child)
    height: dict[int, int] = {}
    for rank in reversed(down):
        height[rank] = max((height[child] + 1 for child in children[rank]), default=0)
    up = [(rank, parents[rank], height[rank], True) for rank in reversed(down) if rank != root]
    return up + [(parents[rank], rank, height[root] + depth[rank] - 1, False) for rank in down if rank != root]
