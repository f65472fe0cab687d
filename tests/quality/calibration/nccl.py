"""NCCL's ring and tree on a cluster: what its choice of algorithm and protocol takes by the simulator."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from syccl.baselines.lanes import Laned
from syccl.baselines.ring import ring_lanes
from syccl.baselines.tree import tree_lanes
from syccl.collective import op_named
from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import Task, plan_tasks
from syccl.simulate.cost import PROTOCOLS, chunk_loop
from syccl.simulate.dry_run import dry_run
from syccl.simulate.engine import run_static
from syccl.simulate.machine import recorded
from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from syccl.topology.generate import Wanted, generate
from syccl.topology.yaml_file import read_yaml
from tests.quality.calibration.choice import RING, TREE, choice
from tests.quality.calibration.points import Cluster

TREE_PIECE = 4
"""NCCL's trees carry pieces of 32 KiB and more, four times the least of ours."""


@lru_cache(maxsize=4)
def cluster_topology(name: str, servers: int) -> tuple[Topology, Group, tuple[tuple[int, ...], ...]]:
    """Return a bundled topology, or a generated one of some servers, its symmetries and its servers' ranks."""
    text = generate(name, Wanted(servers=servers)).text if servers else ""
    topology = read_yaml(text, source=name) if servers else load_topology(name)
    group = find_group(topology)
    return topology, group, islands(topology)


def nccl_seconds(cluster: Cluster, op: str, size_bytes: int) -> float:
    """Return the time of the ring or tree, and under the protocol, that NCCL's model chooses; all channels are used.

    The two directions of a tree share the rate of one thread block, as NCCL splits its threads.
    """
    topology, _, _ = cluster_topology(*cluster.topology)
    algorithm, protocol_name = choice(cluster, op, ranks=topology.ranks, size_bytes=size_bytes)
    protocol, is_tree = PROTOCOLS[protocol_name], algorithm == TREE
    made, tasks = _lanes(cluster, algorithm, op, max(1, size_bytes // TREE_PIECE) if is_tree else 0)
    copies = max(1, cluster.channels // made.lanes)
    machine = machine_of(made.schedule, tasks, protocol, size_bytes=size_bytes, copies=copies)
    if is_tree:
        machine = replace(machine, thread_block_rate=machine.thread_block_rate / 2)
    loop = chunk_loop(size_bytes / (made.schedule.demand.chunks * copies), protocol)
    return run_static(recorded(machine, dry_run(machine)), iterations=loop.iterations).seconds


@lru_cache(maxsize=256)
def _lanes(cluster: Cluster, algorithm: str, op: str, size_bytes: int) -> tuple[Laned, tuple[Task, ...]]:
    """Return a ring or a tree on a cluster that has the profile, and its tasks; the size matters to trees only."""
    topology, group, servers = cluster_topology(*cluster.topology)
    if algorithm == RING:
        made = ring_lanes(topology, op_named(op), servers, group=group)
    else:
        made = tree_lanes(topology, op_named(op), servers, size_bytes=size_bytes, group=group)
    if made is None:
        msg = f"{cluster.name} has no {algorithm}"
        raise ValueError(msg)
    schedule = replace(made.schedule, topology=replace(topology, profile=cluster.profile))
    return replace(made, schedule=schedule), plan_tasks(schedule, made.wiring)
