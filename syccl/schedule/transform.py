"""Schedules made from schedules: run backwards, or moved to other names of the same cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALL, ALLTOALLV, OPS, Demand, Op, Part
from syccl.errors import InputError
from syccl.schedule.ir import Ints, Schedule, Symmetry
from syccl.symmetry.group import Group
from syccl.topology import Link, Topology

ABSENT = -1


def reverse(schedule: Schedule) -> Schedule:
    """Return the schedule run backwards, for the collective with sources and targets exchanged.

    Every transfer goes from its receiver to its sender over the reversed links; what came first comes last; copies
    become additions where the new collective sums, and additions become copies where it does not. So allgather gives
    reducescatter, broadcast gives reduce, gather gives scatter, alltoall gives alltoall, and back. A compressed
    schedule stays compressed. Applied twice it gives the schedule back.

    Raises
    ------
    InputError
        When the collective is allreduce, a link in use has no reversed link of equal bandwidth and latency, or a
        reduction also copies finished sums.
    """
    demand, rows = schedule.demand, schedule.transfers
    parts = tuple(part._replace(source=part.target, target=part.source) for part in demand.parts)
    backwards = replace(demand, op=_reversed_op(demand.op), parts=parts)
    if demand.op.reduces and not rows.reduce.all():
        row = int(np.flatnonzero(~rows.reduce)[0])
        msg = f"transfer {row} copies a finished sum; only a {demand.op.name} whose transfers all add can be reversed"
        raise InputError(msg)
    chunk_map = _match_chunks(demand.targets, demand.sources, backwards)
    transfers = replace(
        rows,
        chunk=chunk_map[rows.chunk],
        src=rows.dst,
        dst=rows.src,
        reduce=np.full(len(rows), backwards.op.reduces),
        stage=_mirrored(rows.stage),
        order=_mirrored(rows.order),
    )
    symmetry = schedule.symmetry
    if symmetry is not None:
        symmetry = replace(symmetry, chunks=_conjugated(symmetry.chunks, chunk_map))
    return replace(
        schedule, demand=backwards, routes=_reversed_routes(schedule), transfers=transfers, symmetry=symmetry
    )


def relabel(schedule: Schedule, topology: Topology, nodes: Sequence[int] | NDArray[np.int32]) -> Schedule:
    """Return the schedule on another numbering of its cluster.

    Parameters
    ----------
    schedule
        Explicit or compressed; the form is kept.
    topology
        The same cluster with nodes and links numbered otherwise.
    nodes
        Id in ``topology`` of every node of the schedule's topology.

    Raises
    ------
    InputError
        When ``nodes`` does not carry kinds, links, bandwidths and latencies over to ``topology``.
    """
    node_map = np.asarray(nodes, dtype=np.int32)
    links = _carried_links(schedule.topology, topology, node_map)
    to_rank = np.full(len(topology.nodes), ABSENT, dtype=np.int32)
    to_rank[list(topology.gpus)] = np.arange(topology.ranks)
    ranks = to_rank[node_map[list(schedule.topology.gpus)]]
    old, rows = schedule.demand, schedule.transfers
    demand = replace(old, root=int(ranks[old.root])) if old.op.rooted else old
    if old.is_unequal:
        demand = replace(
            old, parts=tuple(Part(int(ranks[p.source]), int(ranks[p.target]), p.size_bytes) for p in old.parts)
        )
    sources, targets = (np.where(ends == ALL, ALL, ranks[ends]) for ends in (old.sources, old.targets))
    chunk_map = _match_chunks(sources, targets, demand)
    symmetry = schedule.symmetry
    if symmetry is not None:
        symmetry = Symmetry(_carried_group(symmetry.group, topology, node_map), _conjugated(symmetry.chunks, chunk_map))
    return replace(
        schedule,
        topology=topology,
        demand=demand,
        routes=tuple(tuple(links[list(route)].tolist()) for route in schedule.routes),
        transfers=replace(rows, chunk=chunk_map[rows.chunk], src=ranks[rows.src], dst=ranks[rows.dst]),
        symmetry=symmetry,
    )


def _reversed_op(op: Op) -> Op:
    if op == ALLTOALLV:
        return op
    for other in OPS.values():
        if (other.source, other.target) == (op.target, op.source) and not (op.reduces and other.reduces):
            return other
    msg = f"{op.name} cannot be reversed; choose a collective that only sums or only copies"
    raise InputError(msg)


def _mirrored(values: Ints) -> Ints:
    return values if not len(values) else values.max() + values.min() - values


def _match_chunks(sources: Ints, targets: Ints, demand: Demand) -> Ints:
    """Return the chunk of ``demand`` with the given source and target for each pair; equals keep their sequence."""
    image = np.empty(demand.chunk_ids, dtype=np.int32)
    image[np.lexsort((targets, sources))] = np.lexsort((demand.targets, demand.sources))
    return image


def _conjugated(images: NDArray[np.int32], names: Ints) -> NDArray[np.int32]:
    """Return permutations (one a row) of things that have been given new names."""
    moved = np.empty_like(images)
    moved[:, names] = names[images]
    return moved


def _carried_group(group: Group, topology: Topology, nodes: NDArray[np.int32]) -> Group:
    generators = tuple(_conjugated(generator.reshape(1, -1), nodes)[0] for generator in group.generators)
    return Group(topology, generators, _conjugated(group.elements, nodes))


def _partners(links: Sequence[Link], wanted: Sequence[Link]) -> Ints:
    """Return the link equal to each wanted one, or ``ABSENT``; of parallel equal links the k-th is for the k-th."""
    bundles: dict[Link, list[int]] = defaultdict(list)
    for i in range(len(links) - 1, -1, -1):
        bundles[links[i]].append(i)
    return np.array([bundles[link].pop() if bundles.get(link) else ABSENT for link in wanted], dtype=np.int32)


def _reversed_routes(schedule: Schedule) -> tuple[tuple[int, ...], ...]:
    topology = schedule.topology
    backwards = [link._replace(src=link.dst, dst=link.src) for link in topology.links]
    partners = _partners(topology.links, backwards)
    lonely = sorted({link for route in schedule.routes for link in route if partners[link] == ABSENT})
    if lonely:
        msg = (
            f"topology {topology.name!r}: link {topology.link_name(lonely[0])} has no reversed link of equal bandwidth "
            "and latency, so the schedule cannot be reversed; synthesize the other collective instead"
        )
        raise InputError(msg)
    return tuple(tuple(partners[list(route[::-1])].tolist()) for route in schedule.routes)


def _carried_links(old: Topology, new: Topology, nodes: NDArray[np.int32]) -> Ints:
    """Return where each link goes when its ends go where ``nodes`` says."""
    permutes = np.array_equal(np.sort(nodes), np.arange(len(old.nodes))) and len(old.nodes) == len(new.nodes)
    if not permutes or len(old.links) != len(new.links):
        msg = f"topology {new.name!r} is no other numbering of {old.name!r}: nodes or links differ in number"
        raise InputError(msg)
    for node, image in zip(old.nodes, nodes.tolist(), strict=True):
        if node.look != new.nodes[image].look:
            other = new.nodes[image]
            msg = f"node {node.name!r} is a {node.kind.value}, but {other.name!r} is a {other.kind.value}"
            raise InputError(msg)
    wanted = [link._replace(src=int(nodes[link.src]), dst=int(nodes[link.dst])) for link in old.links]
    partners = _partners(new.links, wanted)
    if (partners == ABSENT).any():
        link = int(np.flatnonzero(partners == ABSENT)[0])
        msg = f"topology {new.name!r} has no link like {old.link_name(link)} of {old.name!r}"
        raise InputError(msg)
    return partners
