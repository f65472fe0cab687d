"""Small topologies and schedules, written out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from syccl.collective import OPS, Demand
from syccl.schedule import Schedule, Symmetry, Transfers
from syccl.symmetry import Group
from syccl.topology import Kind, Link, Node, Topology, default_route

RATE = 10**9
LATENCY_PS = 10**6

Row = tuple[int, int, int, bool, int, int]
"""chunk, src, dst, reduce, stage, order"""


def topology_of(name: str, kinds: str, cables: Iterable[tuple[int, int]]) -> Topology:
    """Nodes from letters (g, n, s); every cable is a link in both directions."""
    kind = {"g": Kind.GPU, "n": Kind.NIC, "s": Kind.SWITCH}
    nodes = tuple(Node(f"{letter}{i}", kind[letter]) for i, letter in enumerate(kinds))
    links = [Link(a, b, RATE, LATENCY_PS) for u, v in cables for a, b in ((u, v), (v, u))]
    return Topology(name, nodes, tuple(links))


def switch_topology(ranks: int) -> Topology:
    return topology_of(f"switch-{ranks}", "g" * ranks + "s", [(i, ranks) for i in range(ranks)])


def ring_topology(ranks: int) -> Topology:
    return topology_of(f"ring-{ranks}", "g" * ranks, [(i, (i + 1) % ranks) for i in range(ranks)])


def line_topology(ranks: int) -> Topology:
    return topology_of(f"line-{ranks}", "g" * ranks, [(i, i + 1) for i in range(ranks - 1)])


def shared_nic_topology(servers: int = 2) -> Topology:
    """Servers of two GPUs that share one NIC and have a switch between them."""
    cables, kinds, spine = [], "", 4 * servers
    for s in range(0, 4 * servers, 4):
        kinds += "ggns"
        cables += [(s, s + 2), (s + 1, s + 2), (s, s + 3), (s + 1, s + 3), (s + 2, spine)]
    return topology_of(f"shared-nic-{servers}", kinds + "s", cables)


def schedule_of(topology: Topology, demand: Demand, rows: list[Row], symmetry: Symmetry | None = None) -> Schedule:
    """A schedule that sends every row over the default route."""
    routes: dict[tuple[int, ...], int] = {}
    index = []
    for _, src, dst, *_ in rows:
        route = default_route(topology, src, dst)
        assert route is not None
        index.append(routes.setdefault(route.links, len(routes)))
    columns = [np.array([row[i] for row in rows], dtype=np.int32) for i in range(6)]
    chunk, src, dst, reduce, stage, order = columns
    route_column = np.array(index, dtype=np.int32)
    transfers = Transfers(chunk, src, dst, route_column, reduce.astype(bool), stage, order)
    return Schedule(topology, demand, tuple(routes), transfers, symmetry, "by hand")


def rotation(topology: Topology, ranks: int, chunk_image: Callable[[int], int], chunk_ids: int) -> Symmetry:
    """The cyclic group that moves every rank on by one; all other nodes stay."""
    step = np.arange(len(topology.nodes), dtype=np.int32)
    step[:ranks] = (step[:ranks] + 1) % ranks
    group = Group.generated(topology, (step,))
    chunk = np.array([chunk_image(c) for c in range(chunk_ids)], dtype=np.int32)
    chunks = [np.arange(chunk_ids, dtype=np.int32)]
    while len(chunks) < group.order:
        chunks.append(chunk[chunks[-1]])
    return Symmetry(group, np.array(chunks, dtype=np.int32))


def block_rotation(topology: Topology, ranks: int, chunks: int) -> Symmetry:
    """Rotation of the ranks together with the blocks that they own."""
    per_block = chunks // ranks
    return rotation(topology, ranks, lambda c: (c + per_block) % chunks, chunks)


def star_allgather(ranks: int) -> Schedule:
    """On one switch every rank sends to all others in turn, by rotation."""
    topology = switch_topology(ranks)
    rows: list[Row] = [(0, 0, k, False, 0, k) for k in range(1, ranks)]
    return schedule_of(topology, Demand(OPS["allgather"], ranks, ranks), rows, block_rotation(topology, ranks, ranks))


def star_reducescatter(ranks: int) -> Schedule:
    topology = switch_topology(ranks)
    demand = Demand(OPS["reducescatter"], ranks, ranks)
    rows: list[Row] = [(0, k, 0, True, 0, k) for k in range(1, ranks)]
    return schedule_of(topology, demand, rows, block_rotation(topology, ranks, ranks))


def ring_allgather(ranks: int) -> Schedule:
    """One direction of a ring; the chunk of rank 0 goes all the way round."""
    topology = ring_topology(ranks)
    rows: list[Row] = [(0, k, k + 1, False, k, k) for k in range(ranks - 1)]
    return schedule_of(topology, Demand(OPS["allgather"], ranks, ranks), rows, block_rotation(topology, ranks, ranks))


def two_way_ring_allgather(ranks: int) -> Schedule:
    """Both directions of a ring, half of each block on either."""
    topology, chunks = ring_topology(ranks), 2 * ranks
    rows: list[Row] = []
    for k in range(ranks - 1):
        rows.append((0, k, k + 1, False, k, 2 * k))
        rows.append((1, -k % ranks, -k - 1 + ranks, False, k, 2 * k + 1))
    return schedule_of(topology, Demand(OPS["allgather"], ranks, chunks), rows, block_rotation(topology, ranks, chunks))


def ring_allreduce(ranks: int) -> Schedule:
    """Reduce round a ring, then copy round it; chunk 0 is complete at rank 0."""
    topology = ring_topology(ranks)
    rows: list[Row] = [(0, k, (k + 1) % ranks, True, k - 1, k - 1) for k in range(1, ranks)]
    rows += [(0, k, k + 1, False, ranks - 1 + k, ranks - 1 + k) for k in range(ranks - 1)]
    return schedule_of(topology, Demand(OPS["allreduce"], ranks, ranks), rows, block_rotation(topology, ranks, ranks))


def doubling_allreduce(ranks: int) -> Schedule:
    """Recursive doubling of one chunk on a switch: partners add each other's partial sum."""
    rows: list[Row] = []
    for stage in range(ranks.bit_length() - 1):
        rows += [(0, r, r ^ (1 << stage), True, stage, stage * ranks + r) for r in range(ranks)]
    return schedule_of(switch_topology(ranks), Demand(OPS["allreduce"], ranks, 1), rows)


def star_alltoall(ranks: int) -> Schedule:
    """Every rank sends the k-th next rank its chunk in round k; chunk ``s * ranks + d`` goes from s to d."""
    topology = switch_topology(ranks)
    demand = Demand(OPS["alltoall"], ranks, ranks)
    symmetry = rotation(
        topology, ranks, lambda c: (c // ranks + 1) % ranks * ranks + (c % ranks + 1) % ranks, ranks * ranks
    )
    return schedule_of(topology, demand, [(k, 0, k, False, 0, k) for k in range(1, ranks)], symmetry)


def chain_broadcast(ranks: int, chunks: int) -> Schedule:
    """Down a line, chunk after chunk."""
    rows: list[Row] = []
    for c in range(chunks):
        rows += [(c, k, k + 1, False, k, c * ranks + k) for k in range(ranks - 1)]
    return schedule_of(line_topology(ranks), Demand(OPS["broadcast"], ranks, chunks), rows)


def star_broadcast(ranks: int) -> Schedule:
    """One chunk to all ranks at once; the symmetry fixes the root and the chunk."""
    topology = switch_topology(ranks)
    step = np.arange(ranks + 1, dtype=np.int32)
    step[1:ranks] = np.roll(step[1:ranks], -1)
    group = Group.generated(topology, (step,))
    symmetry = Symmetry(group, np.zeros((group.order, 1), dtype=np.int32))
    return schedule_of(topology, Demand(OPS["broadcast"], ranks, 1), [(0, 0, 1, False, 0, 0)], symmetry)


def tree_scatter(servers: int = 2) -> Schedule:
    """From the root to one GPU of each server over the shared NIC, from there to its neighbour."""
    topology = shared_nic_topology(servers)
    ranks = topology.ranks
    rows: list[Row] = [(1, 0, 1, False, 0, 0)]
    for r in range(2, ranks, 2):
        rows += [(r + 1, 0, r, False, 0, r), (r, 0, r, False, 0, r + 1), (r + 1, r, r + 1, False, 1, r + 2)]
    return schedule_of(topology, Demand(OPS["scatter"], ranks, ranks), rows)


def rail_topology(servers: int, gpus: int) -> Topology:
    """Servers with a switch inside and a NIC for each GPU; the k-th NICs of all servers share a leaf."""
    cables, kinds, width = [], "", 2 * gpus + 1
    for s in range(0, servers * width, width):
        kinds += "gn" * gpus + "s"
        for k in range(gpus):
            cables += [(s + 2 * k, s + 2 * k + 1), (s + 2 * k, s + 2 * gpus), (s + 2 * k + 1, servers * width + k)]
    return topology_of(f"rail-{servers}x{gpus}", kinds + "s" * gpus, cables)


def rail_rotations(topology: Topology, servers: int, gpus: int) -> Symmetry:
    """All rotations of servers and of rails, generated by one step of each; one chunk for each rank."""
    width = 2 * gpus + 1

    def node(server: int, slot: int) -> int:
        return (server % servers) * width + slot

    def image(by_servers: int, by_rails: int) -> list[int]:
        slots = [(slot + 2 * by_rails) % (2 * gpus) for slot in range(2 * gpus)] + [2 * gpus]
        inside = [node(s + by_servers, slot) for s in range(servers) for slot in slots]
        return inside + [servers * width + (k + by_rails) % gpus for k in range(gpus)]

    steps = tuple(np.array(image(*by), dtype=np.int32) for by in ((1, 0), (0, 1)))
    group = Group.generated(topology, steps)
    return Symmetry(group, group.ranks)


def rail_allreduce(servers: int, gpus: int) -> Schedule:
    """Inside the server to one rail and over the rail to rank 0; the same way back."""
    topology = rail_topology(servers, gpus)
    n = servers * gpus
    inner = [(s, s + k) for s in range(0, n, gpus) for k in range(1, gpus)]
    rail = [(0, s) for s in range(gpus, n, gpus)]
    rows: list[Row] = [(0, child, parent, True, 0, i) for i, (parent, child) in enumerate(inner)]
    rows += [(0, child, parent, True, 1, n + i) for i, (parent, child) in enumerate(rail)]
    rows += [(0, parent, child, False, 2, 2 * n + i) for i, (parent, child) in enumerate(rail)]
    rows += [(0, parent, child, False, 3, 3 * n + i) for i, (parent, child) in enumerate(inner)]
    symmetry = rail_rotations(topology, servers, gpus)
    return schedule_of(topology, Demand(OPS["allreduce"], n, n), rows, symmetry)


COMPRESSED: dict[str, Callable[[], Schedule]] = {
    "star_allgather": lambda: star_allgather(5),
    "star_reducescatter": lambda: star_reducescatter(4),
    "ring_allgather": lambda: ring_allgather(4),
    "two_way_ring_allgather": lambda: two_way_ring_allgather(5),
    "ring_allreduce": lambda: ring_allreduce(4),
    "star_alltoall": lambda: star_alltoall(4),
    "rail_allreduce": lambda: rail_allreduce(3, 2),
    "star_broadcast": lambda: star_broadcast(5),
}

EXPLICIT: dict[str, Callable[[], Schedule]] = {
    "doubling_allreduce": lambda: doubling_allreduce(4),
    "chain_broadcast": lambda: chain_broadcast(4, 3),
    "tree_scatter": tree_scatter,
}


def without(schedule: Schedule, row: int) -> Schedule:
    """The schedule less one row."""
    keep = np.arange(len(schedule.transfers)) != row
    return replace(schedule, transfers=select(schedule.transfers, np.flatnonzero(keep)))


def select(transfers: Transfers, index: np.ndarray) -> Transfers:
    return Transfers(**{name: getattr(transfers, name)[index] for name in Transfers.__dataclass_fields__})


def altered(schedule: Schedule, row: int, **values: int) -> Schedule:
    """The schedule with some columns of one row changed."""
    columns = {name: getattr(schedule.transfers, name).copy() for name in Transfers.__dataclass_fields__}
    for name, value in values.items():
        columns[name][row] = value
    return replace(schedule, transfers=Transfers(**columns))
