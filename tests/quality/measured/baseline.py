"""Ring, tree and direct plans through the same lowering and simulator; as explicit plans where the package has none."""

from __future__ import annotations

import heapq
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syccl.baselines import lanes_seconds
from syccl.baselines.arcs import Arcs
from syccl.baselines.hops import Hops, make_schedule
from syccl.baselines.lanes import Laned, copies_of, lane_wiring
from syccl.baselines.plans import closed_form_plans
from syccl.baselines.ring import ring_lanes
from syccl.baselines.rings import Rings, find_rings
from syccl.baselines.tree import tree_lanes
from syccl.collective import Demand, Op, op_named
from syccl.lowering.lower import lower, wirings
from syccl.lowering.lowered import Lowered
from syccl.program.targets import EXECUTOR
from syccl.report.figures import US
from syccl.schedule import Schedule
from syccl.schedule.verify import verify_schedule
from syccl.simulate.cost import protocol_named
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry import Group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology
from tests.quality.measured.engine import load_libraries
from tests.quality.measured.named import topology_named

BASELINES = ("ring", "tree", "direct")
OPS_OF = {
    "ring": ("allgather", "reducescatter", "allreduce", "broadcast", "reduce"),
    "tree": ("allreduce",),
    "direct": ("allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "reduce", "gather", "scatter"),
}
"""What NCCL uses each for, and everyone to everyone at once."""
_PROTOCOL = protocol_named("Simple")
_LEAST_PIECE_BYTES = 8192
_MOST_ROWS = 8192
_MOST_SORTED = 10_000
"""Transfers that are put into an order one by one; more keep their rounds."""


def baseline(topology: str, op: str, size_bytes: int, name: str, *, program: bool) -> dict[str, Any] | None:
    """Return schedule and program time in microseconds and CPU seconds of one baseline; None where there is none."""
    load_libraries()
    graph, wanted = topology_named(topology), op_named(op)
    began = time.process_time()
    group = find_group(graph)
    if name == "direct":
        plan = direct(graph, wanted)
        times = None if plan is None else _direct_times(plan, size_bytes, program=program)
    else:
        laned = _laned(graph, wanted, name, (size_bytes, group))
        times = None if laned is None else _laned_times(laned, size_bytes, program=program)
    return None if times is None else {**times, "cpu_s": time.process_time() - began}


def closed_forms(topology: str, op: str, sizes: list[int]) -> dict[str, list[Any]]:
    """Return for every size, as text, the fastest schedule that one can write down: its name and microseconds."""
    graph, wanted = topology_named(topology), op_named(op)
    group, parts = find_group(graph), islands(graph)
    found = {}
    for size_bytes in sizes:
        plans = closed_form_plans(graph, wanted, parts, size_bytes=size_bytes, group=group)
        if not plans:
            laned = _laned(graph, wanted, "ring", (size_bytes, group)) if op in OPS_OF["ring"] else None
            plans = {} if laned is None else {"ring": laned.schedule}
            plan = direct(graph, wanted)
            plans |= {} if plan is None else {"direct": plan}
        times = [(schedule_time(made, size_bytes=size_bytes).seconds * US, name) for name, made in plans.items()]
        seconds, name = min(times)
        found[str(size_bytes)] = [name, seconds]
    return found


def direct(topology: Topology, op: Op) -> Schedule | None:
    """Return the plan of one hop for every chunk, in rounds in which senders and receivers differ; root 0."""
    made = closed_form_plans(topology, op_named("allgather"), islands(topology), size_bytes=topology.ranks * 4)
    if "direct" not in made or op.name in {"allgather", "reducescatter", "allreduce"}:
        plans = closed_form_plans(topology, op, islands(topology), size_bytes=topology.ranks * 4)
        return plans.get("direct")
    n, rows = topology.ranks, made["direct"].transfers
    keep = np.flatnonzero({"root": rows.src == 0, "all": rows.dst == 0}.get(op.source, rows.dst == 0))
    if op.source == "pair":
        keep = np.arange(len(rows))
    keep = keep[_turns(made["direct"], keep)]
    src, dst = rows.src[keep], rows.dst[keep]
    chunk = {"alltoall": src * n + dst, "gather": src, "scatter": dst}.get(op.name, np.zeros_like(src))
    demand = Demand(op, n, 1 if op.name in {"broadcast", "reduce"} else n)
    hops = Hops(chunk, src, dst, np.zeros_like(src), np.full(len(src), op.reduces))
    return _checked(make_schedule(Arcs(topology), demand, hops, None, maker="direct"))


def _turns(schedule: Schedule, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return an order of rows in which each starts as early as can be when links serve one at a time."""
    if len(rows) > _MOST_SORTED:
        return np.arange(len(rows))
    free = [0.0] * len(schedule.topology.links)
    paths = [schedule.routes[route] for route in schedule.transfers.route[rows].tolist()]
    takes = [[1.0 / schedule.topology.links[link].rate for link in path] for path in paths]
    queue = [(0.0, i) for i in range(len(rows))]
    order = []
    while queue:
        known, i = heapq.heappop(queue)
        start = max(free[link] for link in paths[i])
        if start > known:
            heapq.heappush(queue, (start, i))
            continue
        order.append(i)
        for link, seconds in zip(paths[i], takes[i], strict=True):
            free[link] = start + seconds
    return np.array(order, dtype=np.intp)


def _checked(schedule: Schedule) -> Schedule:
    wrong = [finding for finding in verify_schedule(schedule) if finding.severity == "error"]
    if wrong:
        msg = f"the {schedule.maker} of {schedule.demand.op.name} is wrong: {wrong[0]}"
        raise ValueError(msg)
    return schedule


def _laned(topology: Topology, op: Op, name: str, how: tuple[int, Group]) -> Laned | None:
    size_bytes, group = how
    parts = islands(topology)
    if name == "tree":
        return tree_lanes(topology, op, parts, size_bytes=size_bytes, group=group)
    if not op.rooted:
        return ring_lanes(topology, op, parts, group=group)
    rings = find_rings(topology, parts, group)
    return None if rings is None else _chains(topology, op, rings, size_bytes)


def _chains(topology: Topology, op: Op, rings: Rings, size_bytes: int) -> Laned:
    """Return pieces that follow each other round every ring, from rank 0 (broadcast) or to it (reduce)."""
    n, copies = topology.ranks, copies_of(topology, rings.rate, 1)
    lanes = np.tile(rings.successors, (copies, 1))
    limits = (n, _MOST_ROWS // (len(lanes) * (n - 1)), size_bytes // (len(lanes) * _LEAST_PIECE_BYTES))
    pieces = 1 << max(0, min(limits).bit_length() - 1)
    table = []
    for lane, successor in enumerate(lanes.tolist()):
        ring = [0]
        for _ in range(n):
            ring.append(successor[ring[-1]])
        path = ring[1:] if op.reduces else ring[:n]
        table += [
            (piece * len(lanes) + lane, path[hop], path[hop + 1], hop, hop + piece)
            for piece in range(pieces)
            for hop in range(n - 1)
        ]
    chunk, src, dst, stage, turn = np.array(sorted(table, key=lambda row: row[4]), dtype=np.int32).T
    demand = Demand(op, n, pieces * len(lanes))
    hops = Hops(chunk, src, dst, stage, np.full(len(turn), op.reduces))
    schedule = _checked(make_schedule(Arcs(topology), demand, hops, None, maker="ring"))
    return Laned(schedule, lane_wiring(demand.chunks, len(lanes)), rings.rate / copies)


def _laned_times(laned: Laned, size_bytes: int, *, program: bool) -> dict[str, Any]:
    times = {"schedule_us": schedule_time(laned.schedule, size_bytes=size_bytes).seconds * US, "program_us": None}
    seconds = lanes_seconds(laned, _PROTOCOL, size_bytes) if program else None
    return {**times, "program_us": None if seconds is None else seconds * US}


def _direct_times(plan: Schedule, size_bytes: int, *, program: bool) -> dict[str, Any]:
    about_s = schedule_time(plan, size_bytes=size_bytes).seconds
    tried = wirings(plan, _PROTOCOL, EXECUTOR, size_bytes=size_bytes, about_s=about_s) if program else ()
    lowered = [lower(plan, wiring, _PROTOCOL, EXECUTOR, size_bytes=size_bytes) for wiring in tried]
    seconds = min((one.seconds for one in lowered if isinstance(one, Lowered)), default=None)
    return {"schedule_us": about_s * US, "program_us": None if seconds is None else seconds * US}
