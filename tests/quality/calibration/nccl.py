"""NCCL's ring and tree on a cluster: what its fastest choice of algorithm and protocol takes by the simulator."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from syccl.baselines.lanes import Laned
from syccl.baselines.ring import ring_lanes
from syccl.baselines.tree import tree_lanes
from syccl.collective import op_named
from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import Task, plan_tasks
from syccl.simulate.cost import PROTOCOLS, Protocol, chunk_loop
from syccl.simulate.dry_run import dry_run
from syccl.simulate.engine import run_static
from syccl.simulate.machine import Machine, recorded
from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from syccl.topology.generate import Wanted, generate
from syccl.topology.yaml_file import read_yaml
from tests.quality.calibration.points import Cluster

MOST_WORK = 20_000
"""Simulated transfers, loop iterations counted, above which a protocol is no choice: LL at large sizes."""
LEAST_SIMPLE_BYTES = 16 << 10
"""Below it the protocols with flags are always faster."""
LARGEST_TREE_BYTES = 4 << 20
"""NCCL's own choice is the ring above it on the clusters here."""
THREADS = 512
THREAD_BYTES = {"LL": 8, "LL128": 8, "Simple": 64}
"""NCCL takes a further channel for so many bytes a thread; times the ranks for a ring under LL (``tuning.cc``)."""


@lru_cache(maxsize=4)
def cluster_topology(name: str, servers: int) -> tuple[Topology, Group, tuple[tuple[int, ...], ...]]:
    """Return a bundled topology, or a generated one of some servers, its symmetries and its servers' ranks."""
    text = generate(name, Wanted(servers=servers)).text if servers else ""
    topology = read_yaml(text, source=name) if servers else load_topology(name)
    group = find_group(topology)
    return topology, group, islands(topology)


def nccl_seconds(cluster: Cluster, op: str, size_bytes: int) -> float:
    """Return the time of the fastest of ring and tree under LL, LL128 and Simple, with NCCL's number of channels."""
    algorithms = ("ring", "tree") if op == "allreduce" and size_bytes <= LARGEST_TREE_BYTES else ("ring",)
    protocols = [one for one in PROTOCOLS.values() if one.name != "Simple" or size_bytes >= LEAST_SIMPLE_BYTES]
    found = [_seconds(cluster, (name, op), protocol, size_bytes) for name in algorithms for protocol in protocols]
    return min(seconds for seconds in found if seconds is not None)


@lru_cache(maxsize=256)
def _lanes(cluster: Cluster, algorithm: str, op: str, size_bytes: int) -> tuple[Laned, list[Task]] | None:
    """Return a ring or a tree on a cluster that has the profile, and its tasks; the size matters to trees only."""
    topology, group, servers = cluster_topology(*cluster.topology)
    if algorithm == "ring":
        made = ring_lanes(topology, op_named(op), servers, group=group)
    else:
        made = tree_lanes(topology, op_named(op), servers, size_bytes=size_bytes, group=group)
    if made is None:
        return None
    schedule = replace(made.schedule, topology=replace(topology, profile=cluster.profile))
    return replace(made, schedule=schedule), plan_tasks(schedule, made.wiring)


def _seconds(cluster: Cluster, what: tuple[str, str], protocol: Protocol, size_bytes: int) -> float | None:
    """Return the time with the lanes copied to fill the channels; None where it is no choice.

    The two directions of a tree share the rate of one thread block, as NCCL splits its threads.
    """
    algorithm, op = what
    found = _lanes(cluster, algorithm, op, size_bytes if algorithm == "tree" else 0)
    if found is None:
        return None
    made, tasks = found
    copies = max(1, _channels(cluster, algorithm, protocol, size_bytes) // made.lanes)
    loop = chunk_loop(size_bytes / (made.schedule.demand.chunks * copies), protocol)
    if loop.iterations * len(made.schedule.transfers) > MOST_WORK:
        return None
    machine = machine_of(made.schedule, tasks, protocol, size_bytes=size_bytes, copies=copies)
    if algorithm == "tree":
        machine = replace(machine, thread_block_rate=machine.thread_block_rate / 2)
    return _run(machine, loop.iterations)


def _channels(cluster: Cluster, algorithm: str, protocol: Protocol, size_bytes: int) -> int:
    """Return how many channels NCCL takes at a size."""
    topology, _, _ = cluster_topology(*cluster.topology)
    each = THREADS * THREAD_BYTES[protocol.name]
    if algorithm == "ring" and protocol.name == "LL":
        each *= topology.ranks
    return max(1, min(cluster.channels, size_bytes // each))


def _run(machine: Machine, iterations: int) -> float | None:
    run = dry_run(machine)
    if run.stuck:
        return None
    done = run_static(recorded(machine, run), iterations=iterations)
    return None if done.stuck else done.seconds
